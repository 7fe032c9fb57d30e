"""Work per decision, counted: how many stored numbers an agent reads to choose an action.

Counts, not seconds, so that the same code always gives the same numbers; the benchmarks have the
seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.analysis.comparison import Unavailable
from expectant.analysis.judging import AT_LEAST, Finding, Statement, exactly
from expectant.domains.finite import FiniteMDP
from expectant.engine.job import Job
from expectant.features.table import RandomBinary
from expectant.verbs import act

Counts = Mapping[str, Mapping[tuple[int, int], float]]


class Counted(np.ndarray):
    """An array that counts the elements read from it, one by one or as whole rows of a table."""

    reads = 0

    def __getitem__(self, where: Any) -> Any:
        found = super().__getitem__(where)
        if isinstance(found, Counted) and not isinstance(where, tuple):
            return found  # a view, nothing has been read yet
        Counted.reads += np.size(found)
        return np.asarray(found) if isinstance(found, Counted) else found


def _counted(part: Any) -> Any:
    if isinstance(part, tuple):
        return type(part)(*(_counted(item) for item in part))
    return part.view(Counted) if isinstance(part, np.ndarray) and part.dtype == float else part


def reads_per_decision(agent: Any, actions: int, features: int, active: int) -> int:
    """How many numbers the agent reads for one decision."""
    domain = FiniteMDP(np.ones((1, actions, 2)) * [0.0, 1.0], np.zeros((1, actions)))
    job = Job(domain, RandomBinary(features, active), agent, episodes=1, step_limit=1)
    prepared, streams = job.prepare(0)
    prepared.state.active[:] = prepared.features.active[0]
    counted = _counted(prepared.agent)
    Counted.reads = 0
    act(counted, prepared.state, streams.acting)
    return Counted.reads


@dataclass(frozen=True)
class WorkRule:
    """That a decision of one agent takes much more work than those of others, and ever more.

    It grows with the number of actions, and with that of features more than theirs.

    ``agents`` maps names to (label, description), the one that is held against the others first.
    ``actions`` × ``features`` is the grid of sizes, with so many ``active`` features.
    """

    agents: Mapping[str, tuple[str, Any]]
    actions: tuple[int, ...]
    features: tuple[int, ...]
    active: int
    much_more: float  # times the work: more than the constant factors of different implementations

    @property
    def rule(self) -> str:
        first = next(iter(self.agents.values()))[0]
        return (
            "Counted work of one decision at the corners of a grid of actions and features: at the "
            f"largest point that of {first} is at least {self.much_more:g} times that of each "
            f"cached agent; from fewest to most actions it grows to at least {self.much_more:g} "
            f"times itself; from fewest to most features it grows at least {self.much_more:g} "
            "times as much as theirs. Whether it grows faster with the actions than theirs is "
            "told and decides nothing. The counts are exact, so the interval is the number itself."
        )

    def counts(self) -> dict[str, dict[tuple[int, int], float]]:
        """Reads per decision of every agent over the grid."""
        return {
            name: {
                (actions, features): reads_per_decision(agent, actions, features, self.active)
                for actions in self.actions
                for features in self.features
            }
            for name, (_, agent) in self.agents.items()
        }

    def decide(self, counts: Counts) -> list[Finding]:
        """The first agent's counts, and against the others', at the corners of the grid."""
        (first, (name, _)), *others = self.agents.items()
        corners = self._corners(counts)
        own = np.array([[counts[first].get(at, math.nan) for at in row] for row in corners])
        found = [("growth with the actions", f"of {name}", own[1] / own[0])]
        for other, (label, _) in others:
            ratios, subject = self._ratios(counts, other), f"of {name}, times that of {label},"
            found += [
                ("growth with the features", subject, ratios[:, 1] / ratios[:, 0]),
                ("work at the largest point", subject, ratios[1, 1]),
            ]
        return [_at_least(self.much_more, ratio, f"{what} {of}") for what, of, ratio in found]

    def beside(self, counts: Counts) -> list[str]:
        """How fast the work grows with the actions, held against that of the others, in words."""
        (name, _), *others = self.agents.values()
        told = []
        for (label, _), other in zip(others, list(self.agents)[1:], strict=True):
            ratios = self._ratios(counts, other)
            least = float((ratios[1] / ratios[0]).min())
            told.append(
                f"beside it, growth with the actions of {name}, times that of {label}: {least:.3g}"
            )
        return told

    def _corners(self, counts: Counts) -> list[list[tuple[int, int]]]:
        """The corners of the grid: rows few and many actions, columns few and many features."""
        missing = [label for key, (label, _) in self.agents.items() if not counts.get(key)]
        if missing:
            raise Unavailable(f"no counts of {', '.join(missing)}")
        grid = counts[next(iter(self.agents))]
        actions, features = (sorted({size[axis] for size in grid}) for axis in (0, 1))
        if len(actions) == 1 or len(features) == 1:
            raise Unavailable("counts for one number of actions or features show no growth")
        return [[(a, f) for f in (features[0], features[-1])] for a in (actions[0], actions[-1])]

    def _ratios(self, counts: Counts, other: str) -> np.ndarray:
        """The first agent's counts divided by another's, at the corners."""
        grid = counts[next(iter(self.agents))]
        corners = self._corners(counts)
        return np.array([[_ratio(grid, counts[other], at) for at in row] for row in corners])


def _ratio(above: Mapping[Any, float], below: Mapping[Any, float], size: Any) -> float:
    """NaN where a count is missing or is no count of work."""
    pair = (above.get(size, math.nan), below.get(size, math.nan))
    return pair[0] / pair[1] if min(pair) > 0.0 and math.isfinite(sum(pair)) else math.nan


def _at_least(least: float, ratios: np.ndarray, label: str) -> Finding:
    ratio = float(np.min(ratios))
    return exactly(ratio, Statement(AT_LEAST, least), label)
