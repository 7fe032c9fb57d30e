"""The command line: commands are in modules by what they do, and listed in their order."""

from expectant.cli import reading, reproducing, running, showing
from expectant.cli.common import app

__all__ = ["app", "main", "reading", "reproducing", "running", "showing"]


def main() -> None:
    """Entry point of the ``expectant`` command."""
    app()
