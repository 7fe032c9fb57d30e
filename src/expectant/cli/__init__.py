"""The command line: one module per group of commands, listed in this order."""

from expectant.cli import reproduce, environment, experiments, inspection  # noqa: I001  order of --help
from expectant.cli.common import app

__all__ = ["app", "environment", "experiments", "inspection", "main", "reproduce"]


def main() -> None:
    """Run the ``expectant`` command."""
    app()
