"""Options on finite MDPs: exact models, optimal options of subtasks, values with options.

An option is a policy π_o, (S, A) probabilities or (S,) actions, and the probabilities β_o (S,) of
stopping in a state that it arrives in. With P and r the transitions and rewards under π_o, what is
earned and where it stops solves linear equations in M = I − γ P (I − diag β_o):
M r̂ = r and M n̂ = γ P diag β_o. The end of an episode ends the option too, with nothing after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.formatting import short_repr
from expectant.core.interfaces import Domain
from expectant.domains.finite import END, reaches_end
from expectant.exact.dynamic_programming import (
    checked_discount,
    checked_policy,
    expected_next,
    get_dynamics,
    greedy_policy,
    iterate_values,
    transitions_of,
)

OptionModel = tuple[np.ndarray, np.ndarray]  # rewards (S,), successors (S, S)


class SubtaskSolution(NamedTuple):
    """The best option for a subtask: its ``values`` (S,), ``policy`` (S, A) and ``stop`` (S,)."""

    values: np.ndarray
    policy: np.ndarray
    stop: np.ndarray

    def __repr__(self) -> str:
        return short_repr(self)


def option_model(
    domain: Domain, policy: ArrayLike, stop: ArrayLike, discount: float = 1.0, *, phase: int = 0
) -> OptionModel:
    """r̂(s) = E[Σ_{k<K} γᵏ R] (S,) and n̂(s, s') = E[γᴷ 1(S_K = s')] (S, S) of an option.

    K ≥ 1 is how long it takes from s. The discount is inside, so planning uses r̂ + n̂ᵀv as it is.
    """
    run = _running(domain, policy, stop, discount, phase)
    return run.solve(run.rewards), run.solve(run.arrivals * run.stop)


def universal_option_model(
    domain: Domain, policy: ArrayLike, stop: ArrayLike, discount: float = 1.0, *, phase: int = 0
) -> np.ndarray:
    """U(s, s') = E[Σ_{k<K} γᵏ 1(S_k = s')] (S, S) of an option (Yao et al. 2014).

    For any rewards x (S,) that its steps are expected to pay in each state, r̂ = U x.
    """
    run = _running(domain, policy, stop, discount, phase)
    return run.solve(np.eye(run.stop.size))


def option_durations(
    domain: Domain, policy: ArrayLike, stop: ArrayLike, discount: float = 1.0, *, phase: int = 0
) -> np.ndarray:
    """E[Σ_{k<K} γᵏ] (S,): without a discount, how many steps an option takes."""
    run = _running(domain, policy, stop, discount, phase)
    return run.solve(np.ones(run.stop.size))


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

    It may stop in the states ``where`` (S,) says so (None: in all), and does where that is at least
    as good as going on. ``rewarded=False`` leaves the rewards out. Ties are split evenly.
    """
    world, discount = get_dynamics(domain, phase), checked_discount(discount)
    states = world.rewards.shape[0]
    worth = _numbers("solve_subtask: stopping_values", stopping_values, states)
    allowed = np.ones(states, bool) if where is None else np.asarray(where)
    if allowed.shape != (states,) or allowed.dtype != bool:
        raise ValueError(f"solve_subtask: where must be {(states,)} True or False, got {where!r}")
    rewards = world.rewards if rewarded else np.zeros_like(world.rewards)

    def action_values(values: np.ndarray) -> np.ndarray:
        ahead = np.where(allowed, np.maximum(worth, values), values)
        return rewards + discount * expected_next(world, ahead)

    values = iterate_values(lambda v: action_values(v).max(axis=1), np.zeros(states))
    stop = (allowed & (worth >= values - 1e-9)).astype(float)
    return SubtaskSolution(values, greedy_policy(action_values(values)), stop)


def reward_respecting_option(
    domain: Domain,
    state: int,
    bonus: float = 1.0,
    discount: float = 1.0,
    *,
    values: ArrayLike | None = None,
    anywhere: bool = False,
    phase: int = 0,
) -> SubtaskSolution:
    """The best option for the subtask of attaining a state (Sutton et al. 2023).

    Stopping there is worth ``bonus``, elsewhere the state's worth by ``values`` (S,), None: zero.
    It may stop in that state only, or ``anywhere``.
    """
    states = get_dynamics(domain, phase).rewards.shape[0]
    here = _one_state("reward_respecting_option", state, states)
    worth = np.zeros(states) if values is None else np.array(values, float)
    worth = np.where(here, bonus, worth)
    where = None if anywhere else here
    return solve_subtask(domain, worth, discount, where=where, phase=phase)


def shortest_path_option(
    domain: Domain, state: int, discount: float, *, phase: int = 0
) -> SubtaskSolution:
    """The option that reaches a state soonest, whatever it costs on the way; stops there only."""
    here = _one_state("shortest_path_option", state, get_dynamics(domain, phase).rewards.shape[0])
    return solve_subtask(
        domain, here.astype(float), discount, where=here, rewarded=False, phase=phase
    )


def choice_values(
    domain: Domain,
    values: ArrayLike,
    models: Sequence[OptionModel] = (),
    discount: float = 1.0,
    *,
    phase: int = 0,
) -> np.ndarray:
    """What every action and every option promises in every state: (S, A + n), actions first."""
    world, discount = get_dynamics(domain, phase), checked_discount(discount)
    states = np.asarray(values, float)
    actions = world.rewards + discount * expected_next(world, states)
    extended = [rewards + successors @ states for rewards, successors in models]
    return np.column_stack([actions, *extended])


def optimal_values_with_options(
    domain: Domain,
    models: Sequence[OptionModel],
    discount: float = 1.0,
    *,
    actions: bool = True,
    phase: int = 0,
) -> np.ndarray:
    """The fixed point of v(s) = max over choices of r̂ + n̂ᵀv (S,); v* if actions are among them.

    ``actions=False`` leaves the actions out: what is lost by choosing options only.
    """
    world = get_dynamics(domain, phase)
    if not actions and not models:
        raise ValueError("optimal_values_with_options: models must not be empty without actions")
    first = 0 if actions else world.rewards.shape[1]
    return iterate_values(
        lambda v: choice_values(domain, v, models, discount, phase=phase)[:, first:].max(axis=1),
        np.zeros(world.rewards.shape[0]),
    )


class _Running(NamedTuple):
    """An option under way: γP (S, S), expected rewards, stopping, and M = I − γP(I − diag β)."""

    arrivals: np.ndarray
    rewards: np.ndarray
    stop: np.ndarray
    matrix: np.ndarray

    def solve(self, right: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.matrix, right)


def _running(
    domain: Domain, policy: ArrayLike, stop: ArrayLike, discount: float, phase: int
) -> _Running:
    world, discount = get_dynamics(domain, phase), checked_discount(discount)
    states = world.rewards.shape[0]
    probabilities = checked_policy(policy, world.rewards.shape)
    stopping = _numbers("exact: stop", stop, states)
    wrong = np.flatnonzero(~((stopping >= 0) & (stopping <= 1)))
    if wrong.size:
        raise ValueError(
            f"exact: stop in state {wrong[0]} must be a probability, got {stopping[wrong[0]]:g}"
        )
    arrivals = discount * transitions_of(world, probabilities)
    if discount == 1.0:
        _check_stops(arrivals, stopping)
    matrix = np.eye(states) - arrivals * (1.0 - stopping)
    return _Running(arrivals, (probabilities * world.rewards).sum(axis=1), stopping, matrix)


def _check_stops(transitions: np.ndarray, stop: np.ndarray) -> None:
    """Without a discount an option has a model only where it can stop or end."""
    over = (transitions @ stop > 0) | (transitions.sum(axis=1) < 1.0 - 1e-12)
    leads = np.column_stack([transitions > 0, over])[:, None]
    reaches = reaches_end(leads, np.broadcast_to([*range(stop.size), END], leads.shape))
    if not reaches.all():
        raise ValueError(
            f"exact: the option never stops from state {int(np.argmin(reaches))}: its model needs "
            "a discount below 1"
        )


def _numbers(owner: str, given: ArrayLike, states: int) -> np.ndarray:
    array = np.asarray(given, float)
    if array.shape != (states,) or not np.isfinite(array).all():
        raise ValueError(f"{owner} must be {(states,)} finite numbers, got shape {array.shape}")
    return array


def _one_state(owner: str, state: int, states: int) -> np.ndarray:
    if not 0 <= state < states:
        raise ValueError(f"{owner}: state must be from 0 to {states - 1}, got {state!r}")
    return np.arange(states) == state
