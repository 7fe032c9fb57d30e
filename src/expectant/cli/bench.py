"""Find and run the benchmarks, which live beside the package in a source checkout."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from expectant.core.config import near_miss


def benchmark_file() -> Path:
    """benchmarks/speed.py, inside an installed package or at the root of a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "benchmarks", package.parents[1] / "benchmarks"):
        if (folder / "speed.py").exists():
            return folder / "speed.py"
    raise FileNotFoundError("the benchmarks are not installed; run them from a source checkout")


def run_benchmarks(as_json: bool, rows: Sequence[str] = ()) -> int:
    """Exit status of the benchmarks, or of some rows: 0 if all promised ratios were kept."""
    path = benchmark_file()
    spec = importlib.util.spec_from_file_location("expectant_benchmarks", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in rows:
        if name not in module.ROWS:
            raise ValueError(f"bench: unknown row {name!r}{near_miss(name, [*module.ROWS])}")
    return module.main(as_json, rows)
