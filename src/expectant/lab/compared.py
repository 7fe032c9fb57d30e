"""What came out of running agents side by side, as tables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from expectant import small_tables as tables
from expectant.engine.result import Result, estimate_of, extent_of, measure_of
from expectant.extras import need
from expectant.show.plot import plot
from expectant.show.references import Optimum

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyarrow import Table

AGENT_HEADS = ("agent", "95 % interval", "diverged")
DIFFERENCE_HEADS = ("difference", "mean", "95 % interval", "verdict")


class Difference(NamedTuple):
    """What ``name`` has more than ``reference``: a mean over pairs of runs with its interval.

    ``chance`` is the p-value after Holm's correction, ``verdict`` is better, worse or unclear. In
    so many runs it was ``above`` and ``below``. With a diverged run there is no mean (NaN), and the
    verdict is that of a sign test in which a diverged run is worse than any other.
    """

    name: str
    reference: str
    mean: float
    low: float
    high: float
    chance: float
    above: int
    below: int
    verdict: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out of ``ex.compare``: ``results`` by name, and ``differences`` between them.

    Printing it shows the table.
    """

    results: dict[str, Result]
    differences: tuple[Difference, ...]
    optimum: Optimum

    def table(self) -> Table:
        """A row for every agent: name, mean, low, high, diverged, seconds.

        The mean is of the return of an episode, or of the reward of a step; NaN if a run diverged.
        """
        need("a table", "lab")
        import pyarrow

        rows = [
            {
                "name": name,
                **dict(zip(("mean", "low", "high"), self._estimates[name], strict=True)),
                "diverged": int(result.diverged.sum()),
                "seconds": result.seconds,
            }
            for name, result in self.results.items()
        ]
        return pyarrow.Table.from_pylist(rows)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw all learning curves; ``path`` writes them as .png, .svg or .pdf, see ``ex.plot``."""
        return plot(self.results, path)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.results)}: {extent_of(self._first)})"

    def __str__(self) -> str:
        agents = [tables.text_table(self._heads, self._agent_rows(), left=(0, 2))]
        if self.optimum.known:
            best = f"epsilon-greedy on exact optimal values, epsilon {self.optimum.epsilon:g}"
            agents.append(f"{best}: {self._best}")
        parts = [[f"{self._first.domain.called}, {extent_of(self._first)} each"], agents]
        if self.differences:
            rows = self._difference_rows()
            shown = tables.text_table(DIFFERENCE_HEADS, rows, left=(0, 2, 3))
            parts.append([shown, *self._notes()])
        return "\n\n".join("\n".join(part) for part in parts)

    def _repr_html_(self) -> str:
        """Two small tables for notebooks."""
        heads = [*self._heads, "time"]
        times = [f"{result.seconds:.2f} s" for result in self.results.values()]
        agents = [[*row, time] for row, time in zip(self._agent_rows(), times, strict=True)]
        found = tables.html_table(heads, agents)
        if self.optimum.known:
            found += tables.paragraph(
                f"exact, ε-greedy on q*, ε = {self.optimum.epsilon:g}: {self._best}"
            )
        if self.differences:
            found += tables.html_table(DIFFERENCE_HEADS, self._difference_rows())
        return found + "".join(map(tables.paragraph, self._notes()))

    @property
    def _first(self) -> Result:
        return next(iter(self.results.values()))

    @property
    def _heads(self) -> list[str]:
        name, *others = AGENT_HEADS
        return [name, f"mean {measure_of(self._first)}", *others]

    @cached_property
    def _estimates(self) -> dict[str, tuple[float, float, float]]:
        return {name: estimate_of(result) for name, result in self.results.items()}

    @property
    def _decimals(self) -> int:
        ends = [end for estimate in self._estimates.values() for end in estimate]
        return tables.decimals_for([*ends, self.optimum.value])

    @property
    def _best(self) -> str:
        return tables.number(self.optimum.value, self._decimals)

    def _agent_rows(self) -> list[list[str]]:
        rows = []
        for name, result in self.results.items():
            mean, low, high = self._estimates[name]
            diverged = str(int(result.diverged.sum()))
            shown = tables.interval(low, high, self._decimals)
            rows.append([name, tables.number(mean, self._decimals), shown, diverged])
        return rows

    def _difference_rows(self) -> list[list[str]]:
        return [_difference_row(found, self._decimals) for found in self.differences]

    def _notes(self) -> list[str]:
        """What a reader of the verdicts has to know."""
        notes, count = [], len(self.differences)
        if count > 1:
            notes.append(f"p-values are corrected for {count} comparisons (Holm)")
        if any(result.diverged.any() for result in self.results.values()):
            notes.append("a diverged run counts as worse than any that has not diverged")
        return notes


def _difference_row(found: Difference, decimals: int) -> list[str]:
    chance = "p < 0.001" if found.chance < 0.001 else f"p = {found.chance:.3f}"
    shown = tables.interval(found.low, found.high, decimals, signed=True)
    if shown == tables.NONE:
        shown = f"above in {found.above}, below in {found.below}"
    return [
        f"{found.name} against {found.reference}",
        tables.number(found.mean, decimals, signed=True),
        shown,
        f"{found.verdict} ({chance})",
    ]
