"""Options on finite MDPs: exact models, and the optimal options of subtasks.

An option is a policy π_o, (S, A) probabilities or (S,) actions, and the probabilities β_o (S,) of
stopping on arrival in a state. With P and r the transitions and rewards under π_o and
M = I − γ P (I − diag β_o), its model solves M r̂ = r and M n̂ = γ P diag β_o. The end of an episode
ends the option too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.interfaces import Domain
from expectant.domains.finite import END, reaches_end
from expectant.exact import dynamic_programming as dp


class SubtaskSolution(NamedTuple):
    """The best option for a subtask: its ``values`` (S,), ``policy`` (S, A) and ``stop`` (S,)."""

    values: np.ndarray
    policy: np.ndarray
    stop: np.ndarray


def option_model(
    domain: Domain, policy: ArrayLike, stop: ArrayLike, discount: float = 1.0, *, phase: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """r̂(s) = E[Σ_{k<K} γᵏ R] (S,) and n̂(s, s') = E[γᴷ 1(S_K = s')] (S, S) of an option.

    K ≥ 1 is its duration from s. The discount is included: planning backs up r̂ + n̂ᵀv.
    """
    matrix, rewards, arrivals = _option_system(domain, policy, stop, discount, phase)
    return np.linalg.solve(matrix, rewards), np.linalg.solve(matrix, arrivals)


def option_durations(
    domain: Domain, policy: ArrayLike, stop: ArrayLike, discount: float = 1.0, *, phase: int = 0
) -> np.ndarray:
    """E[Σ_{k<K} γᵏ] (S,): the expected number of steps of an option if γ = 1."""
    matrix, _, _ = _option_system(domain, policy, stop, discount, phase)
    return np.linalg.solve(matrix, np.ones(len(matrix)))


def solve_subtask(
    domain: Domain,
    stopping_values: ArrayLike,
    discount: float = 1.0,
    *,
    where: ArrayLike | None = None,
    rewarded: bool = True,
    phase: int = 0,
) -> SubtaskSolution:
    """The option that maximises E[Σ_{k<K} γᵏ R + γᴷ z(S_K)], z being ``stopping_values`` (S,).

    It may stop in the states with ``where`` (S,) True (None: in all), and stops if that is at least
    as good as continuing. ``rewarded=False`` ignores the rewards. Ties are split evenly.
    """
    dynamics, discount = dp.get_dynamics(domain, phase), dp.check_discount(discount)
    states = dynamics.rewards.shape[0]
    worth = dp.as_array("solve_subtask", "stopping_values", stopping_values, (states,))
    allowed = np.ones(states, bool) if where is None else np.asarray(where)
    if allowed.shape != (states,) or allowed.dtype != bool:
        raise ValueError(f"solve_subtask: where must be {(states,)} True or False, got {where!r}")
    rewards = dynamics.rewards if rewarded else np.zeros_like(dynamics.rewards)

    def action_values(values: np.ndarray) -> np.ndarray:
        on_arrival = np.where(allowed, np.maximum(worth, values), values)
        return rewards + discount * dp.expected_next(dynamics, on_arrival)

    values = dp.iterate_values(lambda v: action_values(v).max(axis=1), np.zeros(states))
    stop = (allowed & (worth >= values - 1e-9)).astype(float)
    return SubtaskSolution(values, dp.greedy_policy(action_values(values)), stop)


def _option_system(
    domain: Domain, policy: ArrayLike, stop: ArrayLike, discount: float, phase: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return M = I − γP(I − diag β) (S, S), the rewards (S,) and γP diag β (S, S)."""
    dynamics, discount = dp.get_dynamics(domain, phase), dp.check_discount(discount)
    states = dynamics.rewards.shape[0]
    probabilities = dp.as_policy(policy, dynamics.rewards.shape)
    stopping = dp.as_array("exact", "stop", stop, (states,))
    invalid = np.flatnonzero(~((stopping >= 0) & (stopping <= 1)))
    if invalid.size:
        state = invalid[0]
        raise ValueError(
            f"exact: stop in state {state} must be a probability, got {stopping[state]:g}"
        )
    arrivals = discount * dp.transition_matrix(dynamics, probabilities)
    if discount == 1.0:
        _check_stops(arrivals, stopping)
    matrix = np.eye(states) - arrivals * (1.0 - stopping)
    rewards = (probabilities * dynamics.rewards).sum(axis=1)
    return matrix, rewards, arrivals * stopping


def _check_stops(transitions: np.ndarray, stop: np.ndarray) -> None:
    """Raise an error if the option never stops or ends: without a discount it has no model."""
    stops = (transitions @ stop > 0) | (transitions.sum(axis=1) < 1.0 - 1e-12)
    possible = np.column_stack([transitions > 0, stops])[:, None]
    reaches = reaches_end(possible, np.broadcast_to([*range(stop.size), END], possible.shape))
    if not reaches.all():
        raise ValueError(
            f"exact: the option never stops from state {int(np.argmin(reaches))}: its model needs "
            "a discount below 1"
        )
