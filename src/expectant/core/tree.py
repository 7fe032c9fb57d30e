"""Traversal of parts: nested (named) tuples whose leaves are arrays, numbers and generators.

A path names a node or leaf by the fields that lead to it, such as ``agent.planner.model``; the
items of a plain tuple are named by their positions. ``copy.deepcopy`` copies a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np


def items(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of a tree and of everything in it, tuples before their items."""
    yield path, tree
    if isinstance(tree, tuple):
        names = getattr(tree, "_fields", range(len(tree)))
        for name, item in zip(names, tree, strict=True):
            yield from items(item, f"{path}.{name}" if path else str(name))


def arrays(tree: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the path and value of every array; one that occurs twice is yielded twice."""
    return ((path, item) for path, item in items(tree) if isinstance(item, np.ndarray))


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Rebuild a tree with ``function`` applied to everything that is not a tuple."""
    if not isinstance(tree, tuple):
        return function(tree)
    mapped = [map_leaves(function, item) for item in tree]
    return type(tree)(*mapped) if hasattr(tree, "_fields") else tuple(mapped)


def replace(tree: Any, replacements: Mapping[int, Any]) -> Any:
    """Rebuild a tree with the leaves of some ``id`` replaced."""
    return map_leaves(lambda leaf: replacements.get(id(leaf), leaf), tree)


def structure(tree: Any) -> Any:
    """Return the types in a tree down to array layouts; equal structures share compiled code."""
    if isinstance(tree, tuple):
        return (type(tree), *map(structure, tree))
    if isinstance(tree, np.ndarray):
        flags = tree.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return tree.dtype.str, tree.ndim, layout, flags.writeable, flags.aligned
    return type(tree)


def total_bytes(tree: Any) -> int:
    """Return the memory of all arrays in a tree; a shared buffer counts once."""
    owners: dict[int, int] = {}
    for _, array in arrays(tree):
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        owners[id(owner)] = owner.nbytes
    return sum(owners.values())
