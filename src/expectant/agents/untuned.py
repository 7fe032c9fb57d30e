"""The settings of agents that are made without any step size, such as ``ex.Lookahead()``.

They were chosen once by ``benchmarks/untuned_steps.py``, on the Dyna maze, the two rooms and the
corridor, with one-hot and with random binary features. Steps are in total, so that they mean the
same for any number of active features, and never overshoot. An agent that is given one of its first
step sizes is left to its other defaults instead.
"""

from __future__ import annotations

from dataclasses import MISSING
from typing import Any

LEFT_OUT: Any = MISSING  # required, but type checkers are to know that it may be left out
COMMON = {"step_unit": "total", "bounded_step": True, "discount": 0.99}
ACTIONS = {"action_step": 0.3, **COMMON}
RELATIVE = {"action_step": 0.3, "step_unit": "total", "bounded_step": True}  # it has no discount
TRACES = {"action_step": 0.3, "trace": 0.8, "step_unit": "total", "discount": 0.99}
PLANNED_ACTIONS = {**ACTIONS, "model_step": 0.3}
LOOKAHEAD = {"value_step": 0.3, "model_step": 0.3, **COMMON}
CACHED_VALUES = {"value_step": 0.3, "action_step": 0.3, "model_step": 0.3, **COMMON}
CACHED_POLICY = {"value_step": 0.3, "policy_step": 1.0, "model_step": 0.3, **COMMON}
