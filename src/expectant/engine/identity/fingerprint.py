"""A hash of all the code that a kernel is compiled from, so that no stale kernel is ever used.

Numba's own cache looks only at the file of the outermost function. The fingerprint is made from
the accounts of every function, constant and part type that a kernel can reach, the user's own
parts included, and of what makes machine code of them.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from typing import Any, NamedTuple

from expectant import version
from expectant.engine.identity.accounts import Account, accounts, digest


def part_types(part: Any) -> tuple[type, ...]:
    """The NamedTuple classes in a part, itself first."""
    if not (isinstance(part, tuple) and hasattr(part, "_fields")):
        return ()
    return (type(part), *(kind for item in part for kind in part_types(item)))


class Fingerprint(NamedTuple):
    """``name`` is the hash; ``accounts`` are of everything it was made from."""

    name: str
    accounts: list[Account]


def fingerprint(function: Any, parts: Iterable[Any], options: Iterable[Any] = ()) -> Fingerprint:
    """The hash of a kernel's function and of the part types it will be called with.

    ``parts`` may hold other classes and functions that matter; ``options`` anything with a repr.
    """
    from expectant.engine.compile.inside_numba import take_note_of_overloads

    kinds = list(dict.fromkeys(parts))
    roots = (function, *kinds, *_generator())
    take_note_of_overloads()
    found = accounts(roots)
    text = "\n".join([*_versions(), *map(repr, options), str(len(kinds)), digest(found)])
    return Fingerprint(hashlib.sha256(text.encode()).hexdigest()[:24], found)


def _generator() -> list[Any]:
    """The modules that turn parts and verbs into machine code."""
    from expectant.engine.compile import (
        borrow,
        compiled_lanes,
        compiled_streams,
        inlined,
        overloads,
    )

    return [borrow, compiled_lanes, compiled_streams, inlined, overloads]


def _versions() -> list[str]:
    import llvmlite
    import numba
    import numpy

    packages = [f"{each.__name__} {each.__version__}" for each in (numba, llvmlite, numpy)]
    return [platform.python_version(), f"expectant {version.VERSION}", *packages]
