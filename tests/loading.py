"""Modules that stand outside of the package: benchmarks, examples, files that a test has written."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def module_at(path: Path, name: str = "") -> Any:
    """The module in a file, by its own name unless another is given."""
    name = name or path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
