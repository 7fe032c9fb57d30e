"""Exact solutions of finite MDPs, by dynamic programming and linear algebra."""

from expectant.exact.average_reward import (
    best_epsilon_soft_gain,
    differential_values,
    gain,
    optimal_gain,
    stationary_distribution,
)
from expectant.exact.dynamic_programming import (
    action_values_of,
    best_epsilon_soft_return,
    best_epsilon_soft_values,
    epsilon_greedy_optimal_return,
    epsilon_greedy_policy,
    greedy_policy,
    optimal_action_values,
    optimal_policy,
    optimal_values,
    policy_values,
    start_return,
)
from expectant.exact.fixed_points import (
    FixedPoint,
    feature_matrix,
    fixed_point,
    linear_model,
    lstd,
    planning_gap,
)
from expectant.exact.options import SubtaskSolution, option_durations, option_model, solve_subtask
from expectant.exact.stability import PlanningRadius, planning_radius

__all__ = [
    "FixedPoint", "PlanningRadius", "SubtaskSolution", "action_values_of",
    "best_epsilon_soft_gain", "best_epsilon_soft_return", "best_epsilon_soft_values",
    "differential_values", "epsilon_greedy_optimal_return", "epsilon_greedy_policy",
    "feature_matrix", "fixed_point", "gain", "greedy_policy",
    "linear_model", "lstd", "optimal_action_values",
    "optimal_gain", "optimal_policy", "optimal_values", "option_durations", "option_model",
    "planning_gap", "planning_radius", "policy_values", "solve_subtask", "start_return",
    "stationary_distribution",
]  # fmt: skip
