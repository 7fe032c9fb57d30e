"""Exact answers on finite MDPs, by dynamic programming."""

from expectant.exact import targets
from expectant.exact.average import (
    best_epsilon_soft_gain,
    differential_values,
    gain,
    optimal_gain,
    stationary_distribution,
)
from expectant.exact.fixed_points import (
    FixedPoint,
    feature_matrix,
    fixed_point,
    linear_model,
    planning_gap,
)
from expectant.exact.soft import (
    best_epsilon_soft_policy,
    best_epsilon_soft_return,
    best_epsilon_soft_values,
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
    "best_epsilon_soft_gain",
    "best_epsilon_soft_policy",
    "best_epsilon_soft_return",
    "best_epsilon_soft_values",
    "differential_values",
    "epsilon_greedy_optimal_return",
    "epsilon_greedy_policy",
    "feature_matrix",
    "fixed_point",
    "gain",
    "greedy_policy",
    "linear_model",
    "optimal_action_values",
    "optimal_gain",
    "optimal_policy",
    "optimal_values",
    "planning_gap",
    "policy_values",
    "start_return",
    "stationary_distribution",
    "targets",
]
