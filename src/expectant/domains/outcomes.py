"""Put a user's MDP arrays into their one form, with errors that name the state and action."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from expectant.core.memory import claim

if TYPE_CHECKING:
    from expectant.domains.finite import FiniteMDP

END = -1  # the successor where an episode ends
TOLERANCE = 1e-9


class Outcomes(NamedTuple):
    """An MDP's arrays in one form: ``probabilities``, ``rewards`` (P, S, A, O), ``successors``
    (S, A, O) with −1 for the end, ``start`` (S,)."""

    probabilities: np.ndarray
    rewards: np.ndarray
    successors: np.ndarray
    start: np.ndarray


def checked_outcomes(mdp: FiniteMDP) -> Outcomes:
    """The MDP's outcomes as (P, S, A, O) arrays without needless columns."""
    probabilities = _with_phases(np.asarray(mdp.probabilities))
    successors = _successors(mdp, probabilities.shape[1:])
    rewards = _rewards(np.asarray(mdp.rewards), probabilities.shape)
    phases = max(probabilities.shape[0], rewards.shape[0])
    claim(8 * (3 * phases + 2) * probabilities[0].size)  # what follows copies the tables
    probabilities = np.broadcast_to(probabilities, (phases, *probabilities.shape[1:])).copy()
    rewards = np.broadcast_to(rewards, probabilities.shape).copy()
    _check_terminal(mdp, successors.shape[0])
    successors = np.where(np.isin(successors, mdp.terminal), -1, successors)
    for state in mdp.terminal:
        probabilities[:, state], rewards[:, state], successors[state] = 0.0, 0.0, -1
        probabilities[:, state, :, 0] = 1.0
    _check_entries(~(probabilities >= 0), probabilities, "a probability must be 0 or more")
    sums = probabilities.sum(axis=-1)
    _check_entries(~(np.abs(sums - 1.0) <= TOLERANCE), sums, "the probabilities must sum to 1")
    unknown = (probabilities > 0) & ~np.isfinite(rewards)
    _check_entries(unknown, rewards, "a reward must be finite")
    _check_phases(mdp, phases)
    start = _start(mdp, successors.shape[0])
    used = np.argsort(~(probabilities > 0).any(axis=0), axis=-1, kind="stable")
    width = int((probabilities > 0).any(axis=0).sum(axis=-1).max())
    used = used[..., :width]
    probabilities = np.take_along_axis(probabilities, used[None], axis=-1)
    rewards = np.take_along_axis(rewards, used[None], axis=-1)
    successors = np.take_along_axis(successors, used, axis=-1)
    if not mdp.endless:
        _check_ends(probabilities, successors)
    return Outcomes(probabilities, rewards, successors.astype(np.int64), start)


def _fail(message: str) -> ValueError:
    return ValueError(f"FiniteMDP: {message}")


def _with_phases(probabilities: np.ndarray) -> np.ndarray:
    if probabilities.ndim not in (3, 4):
        raise _fail(
            "probabilities must have the shape (states, actions, outcomes), or one axis more "
            f"for phases in front, got {probabilities.shape}"
        )
    return probabilities if probabilities.ndim == 4 else probabilities[None]


def _successors(mdp: FiniteMDP, shape: tuple[int, ...]) -> np.ndarray:
    states, _, outcomes = shape
    if mdp.successors is None:
        if outcomes not in (states, states + 1):
            raise _fail(
                f"probabilities have {outcomes} outcomes for {states} states: give successors, or "
                f"one outcome per state ({states}), or one more for the end ({states + 1})"
            )
        column = np.where(np.arange(outcomes) < states, np.arange(outcomes), -1)
        return np.broadcast_to(column, shape).copy()
    successors = np.asarray(mdp.successors)
    if successors.shape != shape:
        raise _fail(f"successors must have the shape {shape}, got {successors.shape}")
    wrong = np.argwhere((successors < -1) | (successors >= states))
    if wrong.size:
        state, action, outcome = wrong[0]
        raise _fail(
            f"state {state}, action {action}: outcome {outcome} leads to state "
            f"{successors[state, action, outcome]}, which must be −1 (the end) or a state "
            f"from 0 to {states - 1}"
        )
    return successors.copy()


def _rewards(rewards: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    phases, states, actions, outcomes = shape
    if rewards.shape == (states, actions):
        return rewards[None, :, :, None]
    if rewards.shape == (states, actions, outcomes):
        return rewards[None]
    if rewards.ndim == 4 and rewards.shape[1:] == shape[1:] and 1 in (phases, rewards.shape[0]):
        return rewards
    if rewards.shape == shape:
        return rewards
    raise _fail(
        f"rewards must have the shape {(states, actions)}, {(states, actions, outcomes)} or "
        f"(phases, {states}, {actions}, {outcomes}), got {rewards.shape}"
    )


def _check_terminal(mdp: FiniteMDP, states: int) -> None:
    for state in mdp.terminal:
        if state >= states:
            raise _fail(f"terminal state {state} does not exist, there are {states} states")


def _check_entries(wrong: np.ndarray, values: np.ndarray, must: str) -> None:
    """Raise an error about the first of the outcomes, or sums over them, that are wrong."""
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0])
        phase, state, action, *outcome = first
        where = f"state {state}, action {action}" + (f", outcome {outcome[0]}" if outcome else "")
        raise _fail(f"{where}, phase {phase}: {must}, got {values[first]:.10g}")


def _check_phases(mdp: FiniteMDP, phases: int) -> None:
    if phases > 1 and mdp.switch_every is None:
        raise _fail(f"there are {phases} phases: switch_every must say how many episodes each is")
    if phases == 1 and mdp.switch_every is not None:
        raise _fail(f"switch_every={mdp.switch_every} needs several phases, there is one")


def _start(mdp: FiniteMDP, states: int) -> np.ndarray:
    if mdp.start is None:
        start = np.ones(states)
        start[list(mdp.terminal)] = 0.0
        if not start.any():
            raise _fail("every state is terminal, there is nowhere to start")
        return start / start.sum()
    start = np.asarray(mdp.start)
    if start.shape != (states,):
        raise _fail(f"start must have the shape {(states,)}, got {start.shape}")
    wrong = np.flatnonzero(~(start >= 0))
    if wrong.size:
        raise _fail(f"start: state {wrong[0]} has probability {start[wrong[0]]:g}, below 0")
    if not abs(start.sum() - 1.0) <= TOLERANCE:
        raise _fail(f"start must sum to 1, got {start.sum():.10g}")
    for state in mdp.terminal:
        if start[state] > 0:
            raise _fail(f"start: state {state} is terminal, an episode cannot start there")
    return start.copy()


def _check_ends(probabilities: np.ndarray, successors: np.ndarray) -> None:
    """Every state must be able to reach the end, in every phase."""
    for phase, present in enumerate(probabilities > 0):
        reaches = _reaches_end(present, successors)
        trapped = np.flatnonzero(~reaches)
        if trapped.size:
            into = np.argwhere(present & (successors == trapped[0]))
            outside = into[reaches[into[:, 0]]]
            state, action, _ = (*outside, *into, (trapped[0], 0, 0))[0]
            raise _fail(
                f"state {state}, action {action}, phase {phase}: leads to state {trapped[0]}, from "
                f"which no action ever reaches an end (terminal=[{trapped[0]}] says that an "
                "episode ends there; endless=True allows that)"
            )


def _reaches_end(present: np.ndarray, successors: np.ndarray) -> np.ndarray:
    """True (S,) for every state from which an end can be reached, by search backwards from it."""
    states = successors.shape[0]
    origins, targets = np.nonzero(present)[0], successors[present]
    by_target = np.argsort(targets, kind="stable")
    before = origins[by_target].tolist()
    firsts = np.searchsorted(targets[by_target], np.arange(-1, states + 1)).tolist()
    reaches, waiting = [False] * states, [-1]
    while waiting:
        state = waiting.pop()
        for origin in before[firsts[state + 1] : firsts[state + 2]]:
            if not reaches[origin]:
                reaches[origin] = True
                waiting.append(origin)
    return np.array(reaches)
