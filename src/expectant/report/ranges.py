"""How far down an axis of values reaches, for figures and pages alike.

The typical agent is the one in the middle when all are ordered by their lowest values. Everything
is shown, unless the axis would then reach more than ``FARTHEST`` times as far down from its top as
the typical agent does, and flatten it. In that case there is a floor, ``REACH`` times as far down;
what lies below it is left out, and said in the legend.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from expectant.report.wording import shown_number

FARTHEST, REACH = 5.0, 3.0
RARE, RARE_REACH = 0.05, 4.0  # what an agent does rarely counts up to so many times its other reach
MARGIN = 0.05  # of the axis, below and above


class ValueRange(NamedTuple):
    """The ends of an axis, and the floor below which nothing is shown (-inf if all is)."""

    low: float
    high: float
    floor: float


def value_range(values: Mapping[str, np.ndarray], levels: Iterable[float] = ()) -> ValueRange:
    """The axis for the values of some agents, by agent; ``levels`` are always shown."""
    known = [_finite(each) for each in values.values()]
    heights = _finite(np.array(list(levels), float))
    everything = np.concatenate([*known, heights])
    floor = floor_of(known, everything)
    shown = np.concatenate([heights, everything[everything >= floor]])
    if shown.size == 0:
        return ValueRange(0.0, 1.0, floor)
    low, high = float(shown.min()), float(shown.max())
    margin = MARGIN * ((high - low) or max(1.0, abs(high)))
    return ValueRange(low - margin, high + margin, floor)


def floor_of(known: Sequence[np.ndarray], everything: np.ndarray) -> float:
    """Below which nothing of all the values is shown, by the finite values of every agent."""
    known = [each for each in known if each.size]
    if not known:
        return -math.inf
    lows, highs = sorted(map(_low, known)), sorted(float(each.max()) for each in known)
    # Of two, the better one is typical; but two that never meet are both shown.
    typical = min(lows[len(lows) // 2], highs[(len(highs) - 1) // 2])
    lowest, top = float(everything.min()), float(everything.max())
    far = top > typical and top - lowest > FARTHEST * (top - typical)
    return top - REACH * (top - typical) if far else -math.inf


def colour_floor(values: np.ndarray) -> float:
    """The value from which on colours differ; half of the values have a fifth of the colours."""
    known = np.sort(_finite(values))
    if known.size == 0 or known[-1] == (typical := known[(known.size - 1) // 2]):
        return -math.inf
    return float(known[-1] - FARTHEST * (known[-1] - typical))


def _low(values: np.ndarray) -> float:
    """The lowest value that counts: a moment far below all the rest counts in part."""
    top, usual = float(values.max()), float(np.quantile(values, RARE, method="nearest"))
    return max(float(values.min()), top - RARE_REACH * (top - usual))


def below_axis(values: np.ndarray) -> str:
    """Say how far down values that lie below the floor go."""
    return f"below the axis, down to {shown_number(values.min())}"


def _finite(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, float).ravel()
    return values[np.isfinite(values)]
