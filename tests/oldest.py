"""Print the oldest versions that the project says it works with, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def oldest() -> list[str]:
    """``name==version`` for the lower bound of every dependency, those for the tests included."""
    data = tomllib.loads(PROJECT.read_text("utf-8"))
    lists = [
        *data["project"]["optional-dependencies"].values(),
        *data["dependency-groups"].values(),
    ]
    wanted = [*data["project"]["dependencies"], *(line for lines in lists for line in lines)]
    found = (re.match(r"([\w-]+)>=([\w.]+)", line) for line in wanted if isinstance(line, str))
    return [f"{bound[1]}=={bound[2]}" for bound in found if bound]


if __name__ == "__main__":
    print("\n".join(oldest()))
