"""The one loop: an agent in a domain, step by step, until its budget is used up.

It is written once for every composition of parts, compiled or not, and can be called again to go
on exactly where it stopped: all it knows is in arrays.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from expectant.features.vector import Transition
from expectant.verbs import (
    act,
    borrowed,
    copy,
    cut,
    encode,
    function,
    learn,
    observation,
    outcome,
    phase,
    place,
    plan,
    relabel,
    reset,
    room,
    step,
)

EPISODE, STEP, STEPS, PHASE = 0, 1, 2, 3
DONE, STOPPED, FULL, DIVERGED, NOT_FINITE = 0, 1, 2, 3, 4


class Run(NamedTuple):
    """Everything of one run: its parts, where it is (``clock``), and what is recorded.

    ``clock`` counts episodes, steps in the episode and steps in all, and keeps the last
    phase; ``total`` (1,) is the episode's reward so far. ``returns`` and ``lengths`` are
    per episode, ``rewards`` per ``bin`` of steps; any of them may be empty.
    """

    domain: Any
    features: Any
    agent: Any
    state: Any
    next_state: Any
    clock: np.ndarray
    total: np.ndarray
    returns: np.ndarray
    lengths: np.ndarray
    rewards: np.ndarray
    bin: int


class Budget(NamedTuple):
    """Run until so many ``episodes`` or ``steps`` are done, none longer than ``step_limit``."""

    episodes: int
    steps: int
    step_limit: int


@function
def unusable(seen):
    """The first component of an observation that is not finite, −1 if all are."""
    for i in range(seen.shape[0]):
        if not math.isfinite(float(seen[i])):
            return i
    return -1


@function
def begin_episode(run, rng):
    """Reset the domain and encode its first observation; returns whether it can be used."""
    clock = run.clock
    reset(run.domain, clock[EPISODE], rng)
    if phase(run.domain) != clock[PHASE]:
        clock[PHASE] = phase(run.domain)
        relabel(run.agent, run.domain)
    run.total[0] = 0.0
    if unusable(observation(run.domain)) >= 0:
        return False
    encode(run.features, observation(run.domain), -1, run.state)
    run.state.place[0] = place(run.domain)
    return True


@function
def end_episode(run):
    """Write down the episode that has just ended."""
    clock = run.clock
    if clock[EPISODE] < run.returns.shape[0]:
        run.returns[clock[EPISODE]] = run.total[0]
        run.lengths[clock[EPISODE]] = clock[STEP]
    clock[EPISODE] += 1
    clock[STEP] = 0


@function
def simulate(run, budget, rng, control):
    """Go on until the budget is used up (DONE) or something else has to happen first.

    An episode that reaches the step limit, or that its domain cuts off, has not terminated: its
    last transition is learned from like any other, so it bootstraps. Setting ``control[0]`` stops
    the loop before its next step.
    """
    run, rng, control = borrowed(run), borrowed(rng), borrowed(control)
    domain, features, agent, clock = run.domain, run.features, run.agent, run.clock
    state, next_state, rewards = run.state, run.next_state, run.rewards
    while clock[EPISODE] < budget.episodes and clock[STEPS] < budget.steps:
        if control[0] != 0:
            return STOPPED
        if room(agent) <= 0:
            return FULL
        if clock[STEP] == 0 and not begin_episode(run, rng):
            return NOT_FINITE
        action = act(agent, state, rng)
        reward, alive = step(domain, action, rng)
        run.total[0] += reward
        if rewards.shape[0] > 0:
            rewards[clock[STEPS] // run.bin] += reward
        clock[STEP] += 1
        clock[STEPS] += 1
        if alive > 0.0:
            if unusable(observation(domain)) >= 0:
                return NOT_FINITE
            encode(features, observation(domain), action, next_state)
            next_state.place[0] = place(domain)
        transition = Transition(state, action, reward, next_state, alive, outcome(domain))
        errors = learn(agent, transition, rng)
        errors += plan(agent, rng)
        if not math.isfinite(errors):
            return DIVERGED
        if alive == 0.0 or clock[STEP] >= budget.step_limit or cut(domain):
            end_episode(run)
        else:
            copy(state, next_state)
    return DONE


def not_finite(run: Run) -> ValueError:
    """The error for an observation that cannot be used."""
    seen = observation(run.domain)
    component = unusable(seen)
    return ValueError(
        f"observation: component {component} must be a finite number, got {seen[component]} in "
        f"episode {run.clock[EPISODE]}"
    )
