"""Print the oldest versions that the project says it works with, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def oldest() -> list[str]:
    """``name==version`` for the lower bound of every dependency, those for the tests included."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    found = (re.match(r"([\w-]+)>=([\w.]+)", line) for line in wanted)
    return [f"{bound[1]}=={bound[2]}" for bound in found if bound]


if __name__ == "__main__":
    print("\n".join(oldest()))
