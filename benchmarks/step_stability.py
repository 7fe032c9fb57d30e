"""Apply the stability condition of ``ex.exact`` to Q-planning in the corridor of figures 3 and 5.

    python benchmarks/step_stability.py

For fixed greedy actions the expected update of all action values is linear, so it converges with
steps below ``largest_step``; if that is 0, it diverges with every step, because the model is
expansive. Asked of the models of 100 runs of the study stable-planning after 480 episodes. Writes
docs/measured/step-stability.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex

OUT = Path(__file__).parents[1] / "docs/measured/step-stability.json"
RUNS, EPISODES, STEP = 100, 480, 0.3  # the step that all agents tolerate, in total
FEATURES = ex.RandomBinary(14, 5)
SLIPS = {"0.1": 0.1, "1/3": 1 / 3}
AGENTS: dict[str, dict[str, Any]] = {
    "learned, model step 0.5": {"model": "expectation", "model_step": 0.5},
    "learned, model step 0.1": {"model": "expectation", "model_step": 0.1},
    "exact": {"model": "exact"},
}


def stack_pairs(states: np.ndarray, expected: np.ndarray, weights: np.ndarray) -> Any:
    """Return vectors of all pairs (s, a), and of (s̄, greedy a'), in the space of all weights."""
    actions, n, d = expected.shape
    pairs, following = np.zeros((2, actions, n, actions, d))
    for action, means in enumerate(expected):
        greedy = (means @ weights.T).argmax(axis=1)
        pairs[action, :, action] = states
        following[action, np.arange(n), greedy] = means
    return [each.reshape(actions * n, actions * d) for each in (pairs, following)]


def find_largest_steps(domain: ex.Corridor, settings: dict[str, Any]) -> np.ndarray:
    """Return the largest stable step of every run, in total over the active features."""
    agent = ex.QPlanning.paper(
        STEP, step_unit="total", planning_steps=5, **settings,
        interpretation=ex.Interpretation(replayed_fits="planning_steps"),
    )  # fmt: skip
    result = ex.run(
        domain, FEATURES, agent, episodes=EPISODES, runs=RUNS, step_limit=500, keep_agents=True
    )
    steps = []
    for run, (part, _) in enumerate(result.kept):
        states = ex.exact.feature_matrix(domain, FEATURES, run=run)
        size = states.shape[1]
        if settings["model"] == "exact":
            dynamics = ex.exact.dynamic_programming.get_dynamics(domain)
            expected = ex.exact.dynamic_programming.expected_next(dynamics, states)
            expected = expected.transpose(1, 0, 2)
        else:
            rows = part.agent.planner.model.rows[:, :, :size]
            expected = np.einsum("nj,ajd->and", states, rows)
        pairs, following = stack_pairs(states, expected, part.agent.weights[:, :size])
        radius = ex.exact.planning_radius(pairs, following, value_step=STEP / 5)
        steps.append(5 * radius.largest_step)
    return np.array(steps)


if __name__ == "__main__":
    rows = []
    for slip, number in SLIPS.items():
        domain = ex.Corridor(slip=number)
        gap = float(ex.exact.planning_gap(domain).max())
        for name, settings in AGENTS.items():
            steps = find_largest_steps(domain, settings)
            row = {"slip": slip, "gap": round(gap, 3), "model": name, "runs": RUNS}
            row |= {
                "unstable": int((steps <= 0).sum()),
                "median_step": round(float(np.median(steps)), 2),
            }
            rows.append(row)
            print(row)
    OUT.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", "utf-8")
