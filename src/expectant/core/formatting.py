"""Format numbers, small tables (text and HTML) and short representations of arrays."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

DIGITS = 4  # that the largest number of a table has, at least
MOST_DECIMALS = 8
NONE = "-"  # where there is no number


def decimals_for(values: Iterable[float]) -> int:
    """How many decimals all numbers of a table get, by the largest of them.

    >>> decimals_for([9.714, -13.2]), decimals_for([0.0123]), decimals_for([-15_000.0])
    (2, 5, 0)
    """
    known = [abs(value) for value in values if math.isfinite(value) and value != 0.0]
    if not known:
        return 2
    whole_digits = math.floor(math.log10(max(known))) + 1
    return min(max(DIGITS - whole_digits, 0), MOST_DECIMALS)


def number_text(value: float, decimals: int, *, signed: bool = False) -> str:
    """A number in text, a hyphen where there is none."""
    if not math.isfinite(value):
        return NONE
    return f"{value:{'+' if signed else ''},.{decimals}f}"


def interval_text(low: float, high: float, decimals: int, *, signed: bool = False) -> str:
    """``low to high``, a hyphen where there is no interval."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return NONE
    return " to ".join(number_text(end, decimals, signed=signed) for end in (low, high))


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Columns as wide as they must be; those in ``left`` begin, all others end at their edge."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]
    return "\n".join(lines)


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same for a notebook; everything is escaped."""
    written = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{_cells('th', heads)}</tr></thead><tbody>{written}</tbody></table>"


def html_paragraph(text: str) -> str:
    """A line under a table in a notebook."""
    return f"<p>{html.escape(text)}</p>"


def _cells(tag: str, row: Sequence[str]) -> str:
    return "".join(
        f'<{tag} style="text-align: {"right" if place else "left"}">{html.escape(cell)}</{tag}>'
        for place, cell in enumerate(row)
    )


FEW = 4  # numbers of an array that are shown


def short_repr(thing: Any) -> str:
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
