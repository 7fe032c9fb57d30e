"""Acting as an agent thinks best, without learning or exploring, in compiled code and outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from expectant.agents.acting import greedy
from expectant.dispatch import borrowed
from expectant.engine.loop import (
    ACTION,
    DIVERGED,
    DONE,
    EPISODE,
    STEP,
    STOPPED,
    Budget,
    Run,
    end_episode,
    judge,
    perceive,
)
from expectant.verbs import begin, cut, function, preference, reset, step


@function
def decide_greedily(run, action, rng):
    """The action that the agent prefers where ``action`` has led, ties broken at random.

    A negative answer is −1 minus the status with which the loop would stop.
    """
    status = perceive(run, action, run.state)
    if status != DONE:
        return -1 - status
    if action < 0:
        begin(run.agent, run.state, rng)
    chosen = greedy(run.agent, run.state, run.ranges.actions, rng)
    if math.isnan(preference(run.agent, run.state, chosen)):
        return -1 - DIVERGED
    return chosen


@function
def decide_outside(run, action, rng):
    """:func:`decide_greedily`, called from outside compiled code."""
    return decide_greedily(borrowed(run), action, borrowed(rng))


@function
def perform(run, budget, streams, control):
    """Act greedily until the budget is used up; the loop without learning."""
    return go_through(borrowed(run), budget, 1.0, borrowed(streams), borrowed(control))


@function
def perform_discounted(run, budget, discount, streams, control):
    """:func:`perform`, with returns that are discounted."""
    return go_through(borrowed(run), budget, discount, borrowed(streams), borrowed(control))


@function
def go_through(run, budget, discount, streams, control):
    """Episodes in which nothing is learned, each from its beginning."""
    domain, clock, weight = run.domain, run.clock, 1.0
    while clock[EPISODE] < budget.episodes:
        if control[0] != 0:
            return STOPPED
        if clock[STEP] == 0:
            reset(domain, clock[EPISODE], streams.world)
            run.total[0] = 0.0
            clock[ACTION] = -1
            weight = 1.0
        action = decide_greedily(run, clock[ACTION], streams.acting)
        if action < 0:
            return -1 - action
        clock[ACTION] = action
        reward, alive = step(domain, action, streams.world)
        status = judge(run, reward, alive)
        if status != DONE:
            return status
        run.total[0] += weight * reward
        weight *= discount
        clock[STEP] += 1
        if alive == 0.0 or clock[STEP] >= budget.step_limit or cut(domain):
            end_episode(run)
    return DONE


def perform_outside(
    kernel: Any, world: Any, run: Run, budget: Budget, rng: Any, control: np.ndarray
) -> int:
    """:func:`perform` in a world outside compiled code."""
    clock, received = run.clock, run.domain.received
    while clock[EPISODE] < budget.episodes:
        world.reset(received)
        run.total[0], action, over = 0.0, -1, False
        while not over:
            if control[0] != 0:
                return STOPPED
            action = kernel(run, action, rng)
            if action < 0:
                return -1 - action
            reward, terminated, truncated = world.step(action, received)
            run.total[0] += reward
            clock[STEP] += 1
            over = terminated or truncated or clock[STEP] >= budget.step_limit
        end_episode(run)
    return DONE
