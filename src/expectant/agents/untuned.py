"""The settings of agents that are made without any step size, such as ``ex.Lookahead()``.

Those of Q-learning, Sarsa and Algorithms 1 to 3 have the highest average in the grid of
``benchmarks/choose_defaults.py``, ten runs each on twelve problems, most of which have chance in
them (``docs/defaults.json``). The other agents were not in that grid and have a step of 0.3. Steps
are in total, so that they mean the same for any number of active features. An agent that is given
one of its first step sizes is left to its other defaults instead.
"""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

from expectant.step_sizes import Autostep

LEFT_OUT: Any = MISSING  # required, but type checkers are to know that it may be left out
BOUNDED = {"step_unit": "total", "bounded_step": True}
COMMON = {**BOUNDED, "discount": 0.99}
GRADIENT = {**COMMON, "planning_update": "gradient"}
LEARNED = {"model_step": Autostep(0.3, 0.1), "replayed_fits": 2}

Q_LEARNING = {"action_step": 0.3, **COMMON}
TRACES = {"action_step": 0.2, "trace": 0.8, "step_unit": "total", "discount": 0.99}
LOOKAHEAD = {"value_step": 0.3, **LEARNED, **GRADIENT}
CACHED_VALUES = {"value_step": 0.3, "action_step": 1.0, **LEARNED, **GRADIENT}
CACHED_POLICY = {
    "value_step": 0.3, "policy_step": 0.3, "model_step": 0.3, "replayed_fits": 2, **COMMON,
}  # fmt: skip

ACTIONS = {"action_step": 0.3, **COMMON}
RELATIVE = {"action_step": 0.3, **BOUNDED}  # it has no discount
PLANNED_ACTIONS = {**ACTIONS, "model_step": 0.3}
