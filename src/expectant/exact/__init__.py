"""Exact answers on finite MDPs, by dynamic programming."""

from expectant.exact import targets
from expectant.exact.fixed_points import (
    FixedPoint,
    feature_matrix,
    fixed_point,
    linear_model,
    planning_gap,
)
from expectant.exact.options import (
    SubtaskSolution,
    choice_values,
    optimal_values_with_options,
    option_durations,
    option_model,
    reward_respecting_option,
    shortest_path_option,
    solve_subtask,
    universal_option_model,
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
    "SubtaskSolution",
    "backed_up",
    "choice_values",
    "epsilon_greedy_optimal_return",
    "epsilon_greedy_policy",
    "feature_matrix",
    "fixed_point",
    "greedy_policy",
    "linear_model",
    "optimal_action_values",
    "optimal_policy",
    "optimal_values",
    "optimal_values_with_options",
    "option_durations",
    "option_model",
    "planning_gap",
    "policy_values",
    "reward_respecting_option",
    "shortest_path_option",
    "solve_subtask",
    "start_return",
    "targets",
    "universal_option_model",
]
