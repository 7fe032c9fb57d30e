"""A generator of random numbers that says what it is told, for tests in plain Python.

Drawing with every number of an even grid gives each outcome exactly as often as it is likely, so
that a biased draw shows without any chance.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Scripted:
    """Stands in for ``numpy.random.Generator`` where only ``random`` is called."""

    def __init__(self, numbers: Iterable[float]) -> None:
        self.numbers: Iterator[float] = iter(numbers)

    def random(self) -> float:
        return next(self.numbers)


def even(points: int) -> list[float]:
    """The middles of so many equal parts of the numbers from 0 to 1."""
    return [(n + 0.5) / points for n in range(points)]


def outcomes(draw: Callable[[Any], Any], points: int, numbers: int = 1) -> dict[Any, float]:
    """How likely each outcome is of a draw that takes at most so many random ``numbers``.

    Exact if every border between two outcomes is a multiple of 1 / ``points``.
    """
    found = Counter(
        draw(Scripted(some)) for some in itertools.product(even(points), repeat=numbers)
    )
    return {outcome: count / points**numbers for outcome, count in sorted(found.items())}
