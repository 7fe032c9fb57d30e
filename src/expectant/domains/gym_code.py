"""What a Gymnasium environment is made of, as far as it can be read.

An environment is anybody's Python code. What it does is decided by the modules that define its
class and its wrappers, by the modules of the user's that those import, and by the versions of the
packages they belong to. Data files and libraries in C cannot be told from here.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

# a version says it all, elsewhere; of a script the classes are hashed, not the file
_SILENT = {"gymnasium", "expectant", "numpy", "__future__", "__main__"}


def environment_code(environment: Any) -> dict[str, str]:
    """Versions of packages, and hashes of the files of modules, by name."""
    found = {"gymnasium": metadata.version("gymnasium")}
    waiting = list(_modules_of(environment))
    while waiting:
        name = waiting.pop()
        root, module = name.partition(".")[0], sys.modules.get(name)
        if name in found or module is None or root in _SILENT or root in sys.stdlib_module_names:
            continue
        content = _content(module)
        found[name] = hashlib.sha256(content).hexdigest()[:16] if content else "no file"
        found |= {package: metadata.version(package) for package in _packages().get(root, ())}
        if content and not _is_installed(module):
            waiting.extend(_imports(module, content))
    return dict(sorted(found.items()))


def _modules_of(environment: Any) -> Iterator[str]:
    """The modules of an environment's class, its bases and wrappers, and of what makes it."""
    entry = getattr(getattr(environment, "spec", None), "entry_point", None)
    yield (
        entry.partition(":")[0] if isinstance(entry, str) else str(getattr(entry, "__module__", ""))
    )
    layer = environment
    while layer is not None:
        yield from (kind.__module__ for kind in type(layer).__mro__)
        layer = getattr(layer, "env", None)


def _content(module: ModuleType) -> bytes:
    try:
        return Path(module.__file__ or "").read_bytes()
    except OSError:
        return b""


def _is_installed(module: ModuleType) -> bool:
    file = Path(module.__file__ or "").resolve()
    return any(file.is_relative_to(Path(place).resolve()) for place in _site_folders())


@cache
def _site_folders() -> list[str]:
    return [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")]


@cache
def _packages() -> Any:
    return metadata.packages_distributions()


def _imports(module: ModuleType, content: bytes) -> Iterator[str]:
    """The modules that a module's text imports, anywhere in it."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError):  # compiled code has none
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            if node.level:
                base = importlib.util.resolve_name(base, module.__package__ or "")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
