"""``python -m expectant`` is the command ``expectant``."""

from expectant.cli import main

main()
