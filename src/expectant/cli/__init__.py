"""The command line: commands are in modules by what they do, and listed in their order."""

from expectant.cli import reproducing, running, showing
from expectant.cli.common import app

__all__ = ["app", "main", "reproducing", "running", "showing"]


def main() -> None:
    """Entry point of the ``expectant`` command."""
    app()
