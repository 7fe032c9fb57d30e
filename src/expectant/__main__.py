"""``python -m expectant`` is the command ``expectant``."""

import sys

from expectant.core.errors import MissingExtra, require_extra


def main() -> None:
    """Run the command line, or print how to install it."""
    try:
        require_extra("the command line", "cli")
    except MissingExtra as error:
        print(f"expectant: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    try:
        from expectant.cli import main as command
    except KeyboardInterrupt:  # Typer and Rich take their time
        print("expectant: interrupted before anything started", file=sys.stderr)
        raise SystemExit(1) from None
    command()


if __name__ == "__main__":
    main()
