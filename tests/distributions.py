"""Look into built distributions: what must be in them is, and nothing reaches out of place."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def expected() -> set[str]:
    """What a wheel has to hold: the whole package, its studies, the examples and benchmarks."""
    package = {
        f"expectant/{path.relative_to(ROOT / 'src/expectant')}"
        for path in (ROOT / "src/expectant").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    beside = {
        f"expectant/{folder}/{path.name}"
        for folder in ("examples", "benchmarks")
        for path in (ROOT / folder).iterdir()
        if path.is_file()
    }
    return package | beside


def faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel, in words."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(about).decode()
    lacking = [f"{name} is not in {wheel.name}" for name in sorted(expected() - names)]
    links = re.findall(r"\]\((?![a-z]+:|#)([^)\s]+)\)", metadata)
    dead = [f"the README in {wheel.name} links to {link}, which is not there" for link in links]
    licence = "License-Expression: MIT" in metadata
    return [*lacking, *dead, *([] if licence else [f"{wheel.name} has no licence expression"])]


if __name__ == "__main__":
    found = [fault for wheel in Path(sys.argv[1]).glob("*.whl") for fault in faults(wheel)]
    print("\n".join(found) or "the wheel is whole")
    sys.exit(bool(found))
