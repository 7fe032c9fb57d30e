"""How things that hold arrays are printed: what they are, without pages of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

FEW = 4  # numbers of an array that are shown


def in_brief(thing: Any) -> str:
    """A named tuple in one line: small numbers as they are, large arrays by their shape."""
    facts = [f"{name} {_shown(getattr(thing, name))}" for name in thing._fields]
    return f"{type(thing).__name__}({', '.join(facts)})"


def _shown(value: Any) -> str:
    array = np.asarray(value, float)
    if array.ndim == 0:
        return f"{array:.4g}"
    if array.ndim == 1 and array.size <= FEW:
        return f"[{', '.join(f'{number:.4g}' for number in array)}]"
    known = array[np.isfinite(array)]
    extent = f" from {known.min():.4g} to {known.max():.4g}" if known.size else ""
    return f"{array.shape}{extent}"
