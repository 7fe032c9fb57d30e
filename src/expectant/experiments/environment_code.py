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
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from expectant.core.interfaces import Domain
from expectant.domains.gym import Gym
from expectant.jit.code_hash import hash_own_code, is_installed, name_of

OWN = "own code "  # before the hash of a file, or of a class, of the user's
_SILENT = {"gymnasium", "expectant", "numpy", "__future__"}  # a version says it all, elsewhere


def environment_code(domain: Domain) -> dict[str, str]:
    """Versions of packages, and hashes of the files of modules, by name; none of other domains."""
    if not isinstance(domain, Gym):
        return {}
    found = {"gymnasium": metadata.version("gymnasium")}
    if isinstance(domain.environment, FunctionType):
        found[name_of(domain.environment)] = OWN + hash_own_code([domain.environment])[:16]
    environment = domain.make()
    environment.close()
    waiting = list(_modules_of(environment))
    while waiting:
        name = waiting.pop()
        root, module = name.partition(".")[0], sys.modules.get(name)
        if name in found or module is None or root in _SILENT or root in sys.stdlib_module_names:
            continue
        content, installed = _content(module), is_installed(name)
        if name == "__main__" or not content:  # a script or a notebook: only what is used of it
            classes = [kind for kind in _classes_of(environment) if kind.__module__ == name]
            found[name] = OWN + hash_own_code(classes)[:16]
            continue
        found[name] = ("" if installed else OWN) + hashlib.sha256(content).hexdigest()[:16]
        found |= {package: metadata.version(package) for package in _packages().get(root, ())}
        if not installed:
            waiting.extend(_imports(module, content))
    return dict(sorted(found.items()))


def environment_versions(domain: Domain) -> dict[str, str]:
    """The versions of the packages that a domain outside this one is in."""
    found = environment_code(domain).items()
    return {name: text for name, text in found if not text.startswith(OWN)}


def _modules_of(environment: Any) -> Iterator[str]:
    """The modules of an environment's class, its bases and wrappers, and of what makes it."""
    entry = getattr(getattr(environment, "spec", None), "entry_point", None)
    yield (
        entry.partition(":")[0] if isinstance(entry, str) else str(getattr(entry, "__module__", ""))
    )
    yield from (kind.__module__ for kind in _classes_of(environment))


def _classes_of(environment: Any) -> Iterator[type]:
    layer = environment
    while layer is not None:
        yield from type(layer).__mro__
        layer = getattr(layer, "env", None)


def _content(module: ModuleType) -> bytes:
    try:
        return Path(module.__file__ or "").read_bytes()
    except OSError:
        return b""


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
