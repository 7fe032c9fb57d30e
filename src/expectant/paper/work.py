"""Work per decision, counted: how many stored numbers an agent reads to choose an action.

Counts, not seconds, so that the same code always gives the same numbers; the benchmarks have the
seconds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.domains.finite import FiniteMDP
from expectant.features.table import RandomBinary
from expectant.running.job import Job
from expectant.verbs import act

ACTIONS = (2, 8, 32)
FEATURES = (16, 64, 256)
AGENTS: dict[str, Any] = {
    "lookahead": Lookahead(0.1, epsilon=0.0),
    "cached_values": CachedValues(0.1, 0.1, epsilon=0.0),
    "cached_policy": CachedPolicy(0.1, 0.1),
}


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
    job = Job(domain, RandomBinary(features, active), agent, 1, 0, 1, 1, 0)
    prepared, rng = job.prepare(0)
    prepared.state.active[:] = prepared.features.active[0]
    counted = _counted(prepared.agent)
    Counted.reads = 0
    act(counted, prepared.state, rng)
    return Counted.reads


@cache
def decision_work(active: int = 5) -> dict[str, dict[tuple[int, int], int]]:
    """Reads per decision of the paper's three agents over a grid of actions and features."""
    return {
        name: {
            (actions, features): reads_per_decision(agent, actions, features, active)
            for actions in ACTIONS
            for features in FEATURES
        }
        for name, agent in AGENTS.items()
    }
