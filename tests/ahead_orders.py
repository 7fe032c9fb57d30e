"""What the tests have other processes do instead of compiling, which takes too long."""

from __future__ import annotations

import os
from pathlib import Path


def note(setup):
    """Leave a file with the name of the agent, where the environment says."""
    folder = Path(os.environ["NOTES"])
    (folder / f"{type(setup.agent).__name__}-{os.getpid()}").touch()


def die(setup):
    """End another process, as one does that runs out of memory."""
    if os.environ["HERE"] != str(os.getpid()):
        os._exit(1)


def yes(setup):
    """It is compiled already."""
    return True


def no(setup):
    """It is still to be compiled."""
    return False
