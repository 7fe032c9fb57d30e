"""The command line: one module per group of commands, listed in this order."""

from expectant.cli import reproduce, try_and_watch, experiments, list_and_show  # noqa: I001  order in --help
from expectant.cli.common import app

__all__ = ["app", "experiments", "list_and_show", "main", "reproduce", "try_and_watch"]


def main() -> None:
    """Run the ``expectant`` command."""
    app()
