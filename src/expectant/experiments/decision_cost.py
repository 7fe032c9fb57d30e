"""The cost of a decision: the stored numbers that an agent reads to choose an action.

They are counted rather than timed, so that claims about cost have the same verdict everywhere.
`expectant bench` has the nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.analysis.verdicts import AT_LEAST, Finding, Statement, assess_exact
from expectant.core.interfaces import Agent
from expectant.core.rules import Rule, number, whole
from expectant.core.tree import map_leaves
from expectant.core.verbs import act
from expectant.domains.finite import FiniteMDP
from expectant.engine.setup import Setup
from expectant.experiments.config_file import ComponentBuilder
from expectant.experiments.toml_tables import key, list_of, table, table_of, text
from expectant.features.discrete import RandomBinary


class CountingArray(np.ndarray):
    """An array that counts the elements read from it, one by one or as whole rows of a table."""

    reads = 0

    def __getitem__(self, where: Any) -> Any:
        elements = super().__getitem__(where)
        if isinstance(elements, CountingArray) and not isinstance(where, tuple):
            return elements  # a view, nothing has been read yet
        CountingArray.reads += np.size(elements)
        return np.asarray(elements) if isinstance(elements, CountingArray) else elements


def _count_leaf(leaf: Any) -> Any:
    is_table = isinstance(leaf, np.ndarray) and leaf.dtype == float
    return leaf.view(CountingArray) if is_table else leaf


def count_reads(agent: Any, actions: int, features: int, active: int) -> int:
    """Count the numbers that an agent reads for one decision."""
    domain = FiniteMDP(np.ones((1, actions, 2)) * [0.0, 1.0], np.zeros((1, actions)))
    setup = Setup(domain, RandomBinary(features, active), agent, episodes=1, step_limit=1)
    prepared, streams = setup.build(0)
    prepared.state.active[:] = prepared.features.active[0]
    CountingArray.reads = 0
    act(map_leaves(_count_leaf, prepared.agent), prepared.state, streams.acting)
    return CountingArray.reads


NUMBERS = list_of(whole(1), "whole numbers, 1 or more")
AGENT = Rule("an agent", lambda value: ComponentBuilder()(Agent, "agent", table().convert(value)))


@dataclass(frozen=True, kw_only=True)
class CostRule:
    """The claim that a decision costs the first agent more than the others, growing with size.

    ``actions`` × ``features`` is the grid of sizes, of which the corners count, with ``active``
    active features. ``much_more`` exceeds the constant factors of implementations.
    """

    agents: Mapping[str, Any] = key(table_of(AGENT))
    actions: tuple[int, ...] = key(NUMBERS)
    features: tuple[int, ...] = key(NUMBERS)
    active: int = key(whole(1))
    much_more: float = key(number())
    names: Mapping[str, str] = key(table_of(text()), {})

    @property
    def rule(self) -> str:
        first = self._label(next(iter(self.agents)))
        return (
            "Numbers read for one decision, at the corners of a grid of actions and features: at "
            f"the largest point {first} reads at least {self.much_more:g} times as many as each "
            f"cached agent; from fewest to most actions its reads grow to at least "
            f"{self.much_more:g} times themselves; from fewest to most features they grow at least "
            f"{self.much_more:g} times as much as theirs. Counts are exact: the interval is the "
            "number itself."
        )

    def _label(self, name: str) -> str:
        return self.names.get(name, name)

    def find(self, count: Callable[[Any, int, int, int], float] = count_reads) -> list[Finding]:
        """Compare the counts of the first agent with those of the others."""
        ends = [(min(sizes), max(sizes)) for sizes in (self.actions, self.features)]

        def count_corners(agent: Any) -> np.ndarray:
            return np.array(
                [[count(agent, a, f, self.active) for f in ends[1]] for a in ends[0]], float
            )

        counts = [(self._label(key), count_corners(agent)) for key, agent in self.agents.items()]
        (name, first), *others = counts
        ratios = [(f"growth with the actions of {name}", first[1] / first[0])]
        for label, reads in others:
            times, subject = first / reads, f"of {name}, times that of {label},"
            ratios.append((f"growth with the features {subject}", times[:, 1] / times[:, 0]))
            ratios.append((f"work at the largest point {subject}", times[1, 1]))
        least = Statement(AT_LEAST, self.much_more)
        return [assess_exact(float(np.min(ratio)), least, label) for label, ratio in ratios]
