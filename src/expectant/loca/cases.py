"""Which agents the test is run on, and with which settings.

All are tabular, act with ε = 0.1 and make five backups a step. Their other settings were chosen
from small grids, with backups from all states and on seeds that are not reported; the page on
adaptation in the documentation has the grids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.backups import Replay
from expectant.descriptions import near_miss
from expectant.loca.measures import DISCOUNT
from expectant.models.distribution import Distribution
from expectant.models.expectation import LinearExpectation

HIGH = 8.0  # what everything is worth at first, so that the agent tries everything


class Case(NamedTuple):
    """An agent with a backup distribution, by their names, and its description."""

    agent: str
    backups: str
    description: Any


def _expectation(step: float, initial_reward: float) -> dict[str, Any]:
    return {"model_step": step, "model": LinearExpectation(step, initial_reward)}


SHARED: dict[str, Any] = {"epsilon": 0.1, "discount": DISCOUNT}
PLANNING: dict[str, Any] = {**SHARED, "planning_steps": 5}
AGENTS: dict[str, Callable[[Any], Any]] = {
    "q_planning_distribution": lambda backups: QPlanning(
        0.3,
        model=Distribution(states=100, forgetting=0.02),
        backups=backups,
        initial_value=HIGH,
        **PLANNING,
    ),
    "q_planning_expectation": lambda backups: QPlanning(
        0.3, **_expectation(0.1, HIGH), backups=backups, initial_value=HIGH, invalid_update=True,
        **PLANNING,
    ),
    "lookahead": lambda backups: Lookahead(
        0.05, **_expectation(0.1, HIGH), backups=backups, initial_value=HIGH, **PLANNING
    ),
    "cached_values": lambda backups: CachedValues(
        0.05, 0.2, **_expectation(0.1, HIGH), backups=backups, initial_value=HIGH, **PLANNING
    ),
    "cached_policy": lambda backups: CachedPolicy(
        0.05, 0.1, **_expectation(0.1, 0.0), backups=backups, entropy=0.1, **PLANNING
    ),
}  # fmt: skip
LABELS = {
    "q_learning": "Q-learning",
    "q_planning_distribution": "Q-planning, distribution model",
    "q_planning_expectation": "Q-planning, expectation model (invalid)",
    "lookahead": "Look-ahead",
    "cached_values": "Cached action values",
    "cached_policy": "Cached policy",
}
BACKUPS: dict[str, Any] = {
    "all": "all",
    "seen": "seen",
    "prioritized": "prioritized",
    "sampler": "sampler",
    "unlimited": Replay(None),
    "replay": "replay",
    "recency": "recency",
    "trajectory": "trajectory",
    "current": "current",
}
NONE = "none"


def cases(agents: Sequence[str] = (), backups: Sequence[str] = ()) -> list[Case]:
    """The cases asked for: by default every agent with every backup distribution."""
    for option, names, known in (("agent", agents, LABELS), ("backups", backups, BACKUPS)):
        for name in names:
            if name not in known:
                raise ValueError(f"--{option}: unknown {name!r}" + near_miss(name, list(known)))
    found = []
    if not backups and (not agents or "q_learning" in agents):
        found.append(Case("q_learning", NONE, QLearning(0.3, initial_value=HIGH, **SHARED)))
    for agent, described in AGENTS.items():
        for name, distribution in BACKUPS.items():
            if (not agents or agent in agents) and (not backups or name in backups):
                found.append(Case(agent, name, described(distribution)))
    if not found:
        raise ValueError("--backups: q_learning does not plan, it has no backup distribution")
    return found
