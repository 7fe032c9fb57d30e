"""Count the modules and functions of the package that one ``ex.run`` visits before its first step.

    python benchmarks/path_of_a_run.py [--list]

The run is the one of the front page, with its kernel on disk. Code that runs at import, lambdas and
comprehensions do not count.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

import expectant as ex

PACKAGE = Path(ex.__file__).parent
LAST = "advance"  # calls the loop


def run_once() -> None:
    """Do the run that is counted."""
    ex.run(
        ex.Corridor(), ex.RandomBinary(16, 4), ex.Lookahead(), episodes=5, runs=1, threads=1
    )  # fmt: skip


def visited_functions() -> list[CodeType]:
    """Return the code of the package that the run calls before its first step, in order."""
    visited: dict[CodeType, None] = {}

    def record(frame: FrameType, event: str, _: object) -> None:
        code, caller = frame.f_code, frame.f_back
        is_ours = code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<")
        if event != "call" or not is_ours or any(each.co_name == LAST for each in visited):
            return
        while caller is not None and caller.f_code.co_name != "<module>":
            caller = caller.f_back
        if caller is None or not caller.f_code.co_filename.startswith(str(PACKAGE)):
            visited.setdefault(code)

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        run_once()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(visited)


def main() -> None:
    subprocess.run([sys.executable, "-c", "import path_of_a_run as path; path.run_once()"],
                   cwd=Path(__file__).parent, check=True)  # fmt: skip
    visited = visited_functions()
    modules = [Path(code.co_filename).relative_to(PACKAGE) for code in visited]
    if "--list" in sys.argv:
        for module, code in zip(modules, visited, strict=True):
            print(f"{module}: {code.co_qualname}")
    for folder, count in Counter(module.parts[0] for module in modules).most_common():
        print(f"{folder}: {count} functions")
    print(f"in all: {len(set(modules))} modules, {len(visited)} functions")


if __name__ == "__main__":
    main()
