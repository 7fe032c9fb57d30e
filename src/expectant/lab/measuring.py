"""What a measure is: a number of curves, known by name; anybody can add one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from expectant.analysis.panel import Panel
from expectant.lab.registry import Registry

Of = Callable[[Panel, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Measure:
    """A number of curves: ``of`` maps a panel and curves (n, bins) to (n,).

    ``name`` is what data call it, ``title`` what sentences do. It is taken of the mean curve over
    runs, or with ``per_run`` of every run, and then averaged. ``at`` gives the same measure at one
    switch only, counted from 1, where that means something. ``needs_optimum`` says that it compares
    with the exact return of acting ε-greedily on q*, ``of_diverged`` that it is told of bins that
    are not finite. ``less_is_better`` says which way is better; None: as of the curve itself.
    ``unit`` is what it is counted in, by default as the curves are.

    A measure that picks a bin by its height has ``crossed``, one number for every run (n,) of
    (n, bins), with the bin picked by other runs. ``base`` is what a margin can be a share of,
    where that is not the measure itself.
    """

    name: str
    title: str
    meaning: str
    of: Of
    per_run: bool = False
    at: Callable[[int], Measure] | None = None
    needs_optimum: bool = False
    of_diverged: bool = False
    unit: str = ""
    crossed: Of | None = None
    base: Of | None = None
    less_is_better: bool | None = None

    def prefers_less(self, of_errors: bool) -> bool:
        """Whether the least is the best, of curves of which less is better or not."""
        return of_errors if self.less_is_better is None else self.less_is_better


MEASURES: Registry[Measure] = Registry("measure")
add = MEASURES.add


def measure(
    name: str, meaning: str, *, per_run: bool = True, less_is_better: bool | None = None
) -> Callable[[Of], Of]:
    """Make a function of a panel and curves (n, bins), to (n,), a measure of that name."""

    def register(of: Of) -> Of:
        add(Measure(name, name, meaning, of, per_run=per_run, less_is_better=less_is_better))
        return of

    return register


def measure_named(name: str, where: str = "measure") -> Measure:
    """A measure by its name; ``where`` it was asked for is said if there is none."""
    return MEASURES.named(name, where)
