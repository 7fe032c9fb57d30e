"""Formatting of numbers, small tables and short representations of arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

DIGITS = 4  # significant digits of the largest number in a table, at least
MOST_DECIMALS = 8
NONE = "-"  # in the place of a missing number
FEW = 4  # longest array that is written out


def decimals_for(values: Iterable[float]) -> int:
    """Return the number of decimals for all numbers of a table, by the largest of them.

    >>> decimals_for([9.714, -13.2]), decimals_for([0.0123]), decimals_for([-15_000.0])
    (2, 5, 0)
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0.0]
    if not sizes:
        return 2
    whole_digits = math.floor(math.log10(max(sizes))) + 1
    return min(max(DIGITS - whole_digits, 0), MOST_DECIMALS)


def number_text(value: float, decimals: int, *, signed: bool = False) -> str:
    """Format a number; a hyphen if it is not finite."""
    if not math.isfinite(value):
        return NONE
    return f"{value:{'+' if signed else ''},.{decimals}f}"


def interval_text(low: float, high: float, decimals: int, *, signed: bool = False) -> str:
    """Format ``low to high``; a hyphen if an end is not finite."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return NONE
    return " to ".join(number_text(end, decimals, signed=signed) for end in (low, high))


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Align columns; those in ``left`` to the left, all others to the right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]
    return "\n".join(lines)


def short_repr(record: Any) -> str:
    """Represent a named tuple in one line: small arrays by their numbers, others by their shape."""
    fields = [f"{name} {_array_text(getattr(record, name))}" for name in record._fields]
    return f"{type(record).__name__}({', '.join(fields)})"


def _array_text(value: Any) -> str:
    array = np.asarray(value, float)
    if array.ndim == 0:
        return f"{array:.4g}"
    if array.ndim == 1 and array.size <= FEW:
        return f"[{', '.join(f'{number:.4g}' for number in array)}]"
    finite = array[np.isfinite(array)]
    extent = f" from {finite.min():.4g} to {finite.max():.4g}" if finite.size else ""
    return f"{array.shape}{extent}"
