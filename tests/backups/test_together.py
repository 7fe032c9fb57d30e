"""Every backup distribution composes with every agent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backups.weighted import Values

import expectant as ex

# small enough to be full and to wrap around within a few episodes
SMALL: dict[str, ex.Backups] = {
    "replay": ex.Replay(20),
    "recency": ex.RecencyReplay(20, halflife=5),
    "trajectory": ex.Trajectory(4, capacity=20),
    "current": ex.CurrentState(),
    "seen": ex.SeenStates(5),
    "pairs": ex.SeenPairs(5),
    "pairs_untried": ex.SeenPairs(5, untried=True),
    "prioritized_pairs": ex.PrioritizedPairs(5, links=2),
    "all": ex.AllStates(),
    "all_pairs": ex.AllPairs(),
    "prioritized": ex.PrioritizedSweeping(5, links=2),
    "sampler": ex.StateSampler(3),
}

AGENTS: dict[str, Any] = {
    "lookahead": lambda **k: ex.Lookahead.paper(0.1, 0.1, planning_steps=3, **k),
    "cached_values": lambda **k: ex.CachedValues.paper(0.1, 0.1, 0.1, planning_steps=3, **k),
    "cached_policy": lambda **k: ex.CachedPolicy.paper(0.1, 0.1, 0.1, planning_steps=3, **k),
    "q_planning": lambda **k: ex.QPlanning.paper(0.1, 0.1, planning_steps=3, **k),
}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("name", SMALL)
def test_every_distribution_composes_with_every_agent(name, agent):
    for features in (ex.OneHot(), Values()):
        for model in ("expectation", "true"):
            if model == "true" and name == "sampler":
                continue
            described = AGENTS[agent](backups=SMALL[name], model=model)
            domain = ex.Corridor(cells=5, slip=0.2)
            result = ex.run(domain, features, described, episodes=3, runs=1, compiled=False)
            assert np.isfinite(result.returns).all()


def test_given_models_and_no_planning_fit_nothing():
    ex.Lookahead.paper(
        0.1, model="true", backups="seen", interpretation=ex.Interpretation(replayed_fits=3)
    )
    ex.Lookahead.paper(
        0.1,
        planning_steps=0,
        backups="seen",
        interpretation=ex.Interpretation(replayed_fits="planning_steps"),
    )
