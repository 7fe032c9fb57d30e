"""The one loop: an agent in a domain, step by step, until its budget is used up.

It is written once for every composition of parts, compiled or not, and can be called again to go
on exactly where it stopped: all it knows is in arrays.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.dispatch import unowned
from expectant.core.vectors import Binary, Transition, Weighted
from expectant.core.verbs import function, index, size

EPISODE, STEP, STEPS, PHASE, ACTION, NUMBER = 0, 1, 2, 3, 4, 5
DONE, STOPPED, FULL, DIVERGED = 0, 1, 2, 3
NOT_FINITE, NO_STATE, NO_STATE_INDEX, NO_FEATURE, NO_ACTION = 4, 5, 6, 7, 8  # mistakes of a part
NO_REWARD, NO_ALIVE = 9, 10


class Ranges(NamedTuple):
    """Numbers of ``actions``, ``features`` and numbered ``states`` (0: vectors are observed)."""

    actions: int
    features: int
    states: int


class Run(NamedTuple):
    """The parts of a run, its position (``clock``) and its records.

    ``clock`` counts episodes, steps in the episode and steps in all, and keeps the last phase,
    the last action and the number of the run; ``total`` (1,) is the episode's reward so far.
    ``returns`` and ``lengths`` are per episode, ``rewards`` per ``bin`` of steps; any of them may
    be empty.
    """

    domain: Any
    features: Any
    agent: Any
    state: Binary | Weighted
    next_state: Binary | Weighted
    ranges: Ranges
    clock: np.ndarray
    total: np.ndarray
    returns: np.ndarray
    lengths: np.ndarray
    rewards: np.ndarray
    bin: int


class Budget(NamedTuple):
    """Totals of ``episodes`` and ``steps`` to stop at, and the most steps of an episode."""

    episodes: int
    steps: int
    step_limit: int


@function
def nonfinite_component(seen):
    """Return the index of the first component that is not finite, −1 if all are."""
    for i in range(seen.shape[0]):
        if not math.isfinite(float(seen[i])):
            return i
    return -1


@function
def perceive(run, action, state):
    """Encode the present observation into ``state``; return DONE, or the status of a mistake.

    Compiled code indexes arrays with these numbers without checking them again.
    """
    seen, ranges, where = verbs.observation(run.domain), run.ranges, verbs.state_index(run.domain)
    if nonfinite_component(seen) >= 0:
        return NOT_FINITE
    if ranges.states > 0 and not 0 <= seen[0] < ranges.states:
        return NO_STATE
    if ranges.states > 0 and not -1 <= where < ranges.states:
        return NO_STATE_INDEX
    verbs.encode(run.features, seen, action, state)
    for n in range(size(state)):
        if not 0 <= index(state, n) < ranges.features:
            return NO_FEATURE
    state.state_index[0] = where
    return DONE


@function
def choose(run, rng):
    """Store the agent's next action in the clock; return DONE, or NO_ACTION if it is not one."""
    action = verbs.act(run.agent, run.state, rng)
    run.clock[ACTION] = action
    return DONE if 0 <= action < run.ranges.actions else NO_ACTION


@function
def check_outcome(run, reward, alive):
    """Return DONE, or the status of a mistake in what a step returned, left in ``total``."""
    if not math.isfinite(reward):
        run.total[0] = reward
        return NO_REWARD
    if alive not in (0.0, 1.0):
        run.total[0] = alive
        return NO_ALIVE
    return DONE


@function
def begin_episode(run, streams):
    """Reset the domain and encode its first observation; return as :func:`perceive` does."""
    clock = run.clock
    verbs.reset(run.domain, clock[EPISODE], streams.world)
    if verbs.phase(run.domain) != clock[PHASE]:
        clock[PHASE] = verbs.phase(run.domain)
        verbs.relabel(run.agent, run.domain)
    run.total[0] = 0.0
    status = perceive(run, -1, run.state)
    if status == DONE:
        verbs.begin(run.agent, run.state, streams.acting)
    return status


@function
def end_episode(run):
    """Record the return and length of the present episode."""
    clock = run.clock
    if clock[EPISODE] < run.returns.shape[0]:
        run.returns[clock[EPISODE]] = run.total[0]
        run.lengths[clock[EPISODE]] = clock[STEP]
    clock[EPISODE] += 1
    clock[STEP] = 0


@function
def simulate(run, budget, streams, control):
    """Run until the budget is used up (DONE) or another status needs attention first.

    An episode that reaches the step limit, or that its domain truncates, has not terminated: its
    last transition bootstraps like any other. Setting ``control[0]`` stops before the next step.
    """
    return simulate_unowned(unowned(run), budget, unowned(streams), unowned(control))


@function
def simulate_unowned(run, budget, streams, control):
    """:func:`simulate` on unowned arrays, so that nothing in the loop counts references."""
    domain, agent, clock = run.domain, run.agent, run.clock
    state, next_state, rewards = run.state, run.next_state, run.rewards
    while clock[EPISODE] < budget.episodes and clock[STEPS] < budget.steps:
        if control[0] != 0:
            return STOPPED
        if verbs.free_capacity(agent) <= 0:
            return FULL
        status = begin_episode(run, streams) if clock[STEP] == 0 else DONE
        if status == DONE:
            status = choose(run, streams.acting)
        if status != DONE:
            return status
        action = int(clock[ACTION])
        reward, alive = verbs.step(domain, action, streams.world)
        run.total[0] += reward
        if rewards.shape[0] > 0:
            rewards[clock[STEPS] // run.bin] += reward
        clock[STEP] += 1
        clock[STEPS] += 1
        status = check_outcome(run, reward, alive)
        if status == DONE and alive > 0.0:
            status = perceive(run, action, next_state)
        if status != DONE:
            return status
        transition = Transition(state, action, reward, next_state, alive, verbs.outcome(domain))
        errors = verbs.learn(agent, transition, streams.planning)
        errors += verbs.plan(agent, streams.planning)
        if not math.isfinite(errors):
            return DIVERGED
        if alive == 0.0:
            end_episode(run)
        elif clock[STEP] >= budget.step_limit or verbs.truncated(domain):
            verbs.on_truncation(agent, next_state, streams.acting)
            end_episode(run)
        else:
            verbs.copy(state, next_state)
    return DONE


# ------------------------------------------------------------- environments in Python: step by step

FIRST, GOES_ON, TERMINATED, TRUNCATED = 0, 1, 2, 3  # position of an observation
OVER, OVERFLOW, FULL_UP = -1, -2, -3  # answers that are no action
MISTAKES = -10  # minus the status of a mistake


@function
def respond(run, action, reward, situation, streams):
    """Learn from a transition whose observation is in the run's domain, and choose an action.

    Return it, or one of the negative answers, such as OVER at the end of an episode.
    """
    return react(unowned(run), action, reward, situation, unowned(streams))


@function
def react(run, action, reward, situation, streams):
    """:func:`respond` on unowned arrays."""
    agent, state, next_state = run.agent, run.state, run.next_state
    if verbs.free_capacity(agent) <= 0:
        return FULL_UP
    is_first = situation == FIRST
    status = DONE
    if situation != TERMINATED:
        status = perceive(run, -1 if is_first else action, state if is_first else next_state)
    if status != DONE:
        return MISTAKES - status
    if is_first:
        verbs.begin(agent, state, streams.acting)
    else:
        alive = 0.0 if situation == TERMINATED else 1.0
        transition = Transition(state, action, reward, next_state, alive, -1)
        errors = verbs.learn(agent, transition, streams.planning)
        errors += verbs.plan(agent, streams.planning)
        if not math.isfinite(errors):
            return OVERFLOW
        if situation == TRUNCATED:
            verbs.on_truncation(agent, next_state, streams.acting)
        if situation != GOES_ON:
            return OVER
        verbs.copy(state, next_state)
    status = choose(run, streams.acting)
    return int(run.clock[ACTION]) if status == DONE else MISTAKES - status
