"""``python -m expectant`` is the command ``expectant``."""

import sys

from expectant.extras import MissingExtra, need


def main() -> None:
    """The command line, or the sentence that says what to install for it."""
    try:
        need("the command line", "cli")
    except MissingExtra as error:
        print(f"expectant: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    from expectant.cli import main as command

    command()


if __name__ == "__main__":
    main()
