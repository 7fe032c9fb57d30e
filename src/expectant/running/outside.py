"""An agent in a world outside compiled code: one crossing for every step of the world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from expectant.features.vector import Transition
from expectant.running.kernels import Kernel, compiled_for
from expectant.running.loop import (
    DIVERGED,
    DONE,
    EPISODE,
    STEP,
    STEPS,
    STOPPED,
    Budget,
    Run,
    end_episode,
    not_finite,
    unusable,
)
from expectant.running.progress import Reporter
from expectant.verbs import (
    act,
    borrowed,
    copy,
    encode,
    function,
    grown,
    learn,
    observation,
    place,
    plan,
    room,
)

FIRST, GOES_ON, TERMINATED, TRUNCATED = 0, 1, 2, 3  # what an observation is
NO_ACTION, OVERFLOW, NO_ROOM, BAD_OBSERVATION = -1, -2, -3, -4  # answers that are no action


@function
def respond(run, action, reward, situation, rng):
    """Learn from what an action led to, and choose the next one.

    The observation is in the run's domain already. Returns an action, or one of the answers that
    are none, such as NO_ACTION after the last observation of an episode.
    """
    run, rng = borrowed(run), borrowed(rng)
    domain, features, agent = run.domain, run.features, run.agent
    state, next_state, seen = run.state, run.next_state, observation(domain)
    if room(agent) <= 0:
        return NO_ROOM
    if situation != TERMINATED and unusable(seen) >= 0:
        return BAD_OBSERVATION
    if situation == FIRST:
        encode(features, seen, -1, state)
        state.place[0] = place(domain)
        return act(agent, state, rng)
    alive = 0.0 if situation == TERMINATED else 1.0
    if alive > 0.0:
        encode(features, seen, action, next_state)
        next_state.place[0] = place(domain)
    errors = learn(agent, Transition(state, action, reward, next_state, alive, -1), rng)
    errors += plan(agent, rng)
    if not math.isfinite(errors):
        return OVERFLOW
    if situation != GOES_ON:
        return NO_ACTION
    copy(state, next_state)
    return act(agent, state, rng)


def responder(run: Run, rng: Any, compiled: bool, name: str, show: Reporter) -> Kernel:
    """``respond``, compiled for runs and generators like these; what is in them is used up."""
    if not compiled:
        return respond
    arguments = (run, -1, 0.0, FIRST, rng)
    kernel = compiled_for(respond, arguments, name, show)
    from expectant.running.compiling import entry_point

    return entry_point(kernel, *arguments)


def answered(
    kernel: Any, run: Run, action: int, reward: float, situation: int, rng: Any
) -> tuple[Run, int]:
    """The kernel's answer, with room made where a part asks for it; a bad observation raises."""
    answer = kernel(run, action, reward, situation, rng)
    while answer == NO_ROOM:
        run = run._replace(agent=grown(run.agent))
        answer = kernel(run, action, reward, situation, rng)
    if answer == BAD_OBSERVATION:
        raise not_finite(run)
    return run, answer


def play(
    kernel: Any, world: Any, run: Run, budget: Budget, rng: Any, control: np.ndarray
) -> tuple[Run, int]:
    """Go through a world until the budget is used up; the counterpart of ``simulate``."""
    clock, received, rewards = run.clock, run.domain.received, run.rewards
    while clock[EPISODE] < budget.episodes and clock[STEPS] < budget.steps:
        world.reset(received)
        run.total[0] = 0.0
        run, action = answered(kernel, run, -1, 0.0, FIRST, rng)
        situation, taken, total = GOES_ON, 0, 0.0
        left = min(budget.step_limit, budget.steps - int(clock[STEPS]))
        while situation == GOES_ON:
            if control[0] != 0:
                return run, STOPPED
            reward, terminated, truncated = world.step(action, received)
            total += reward
            taken += 1
            if rewards.shape[0] > 0:
                rewards[clock[STEPS] // run.bin] += reward
            clock[STEPS] += 1
            if terminated:
                situation = TERMINATED
            elif truncated or taken >= left:
                situation = TRUNCATED
            run, action = answered(kernel, run, action, reward, situation, rng)
            if action == OVERFLOW:
                clock[STEP] = taken
                return run, DIVERGED
        run.total[0], clock[STEP] = total, taken
        end_episode(run)
    return run, DONE
