"""Exact answers on finite MDPs, by dynamic programming."""

from expectant.exact import targets
from expectant.exact.fixed_points import (
    FixedPoint,
    feature_matrix,
    fixed_point,
    linear_model,
    planning_gap,
)
from expectant.exact.solve import (
    backed_up,
    epsilon_greedy_optimal_return,
    epsilon_greedy_policy,
    greedy_policy,
    optimal_action_values,
    optimal_policy,
    optimal_values,
    policy_values,
    start_return,
)

__all__ = [
    "FixedPoint",
    "backed_up",
    "epsilon_greedy_optimal_return",
    "epsilon_greedy_policy",
    "feature_matrix",
    "fixed_point",
    "greedy_policy",
    "linear_model",
    "optimal_action_values",
    "optimal_policy",
    "optimal_values",
    "planning_gap",
    "policy_values",
    "start_return",
    "targets",
]
