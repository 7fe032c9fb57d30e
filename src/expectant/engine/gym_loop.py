"""The loop for Gymnasium environments: one call of compiled code for every step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from expectant.checks.errors import contract_error
from expectant.core.dispatch import unowned
from expectant.core.errors import EnvError
from expectant.core.vectors import Transition
from expectant.core.verbs import (
    begin,
    copy,
    free_capacity,
    function,
    grow,
    learn,
    on_truncation,
    plan,
)
from expectant.engine.loop import (
    ACTION,
    DIVERGED,
    DONE,
    EPISODE,
    NOT_FINITE,
    STEP,
    STEPS,
    STOPPED,
    Budget,
    Run,
    choose,
    end_episode,
    perceive,
)
from expectant.engine.progress import Reporter
from expectant.jit.compile import Kernel, compile_for, entry_point

FIRST, GOES_ON, TERMINATED, TRUNCATED = 0, 1, 2, 3  # what an observation is
OVER, OVERFLOW, FULL = -1, -2, -3  # answers that are no action
MISTAKES = -10  # minus the loop's status: a part has broken its contract


@function
def answer(run, rng):
    """Return the next action, or a negative answer."""
    status = choose(run, rng)
    return int(run.clock[ACTION]) if status == DONE else MISTAKES - status


@function
def start(run, rng):
    """Begin an episode with the present observation; return as :func:`respond` does."""
    status = perceive(run, -1, run.state)
    if status != DONE:
        return MISTAKES - status
    begin(run.agent, run.state, rng)
    return answer(run, rng)


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
    if free_capacity(agent) <= 0:
        return FULL
    if situation == FIRST:
        return start(run, streams.acting)
    alive = 0.0 if situation == TERMINATED else 1.0
    if alive > 0.0:
        status = perceive(run, action, next_state)
        if status != DONE:
            return MISTAKES - status
    errors = learn(
        agent, Transition(state, action, reward, next_state, alive, -1), streams.planning
    )
    errors += plan(agent, streams.planning)
    if not math.isfinite(errors):
        return OVERFLOW
    if situation == GOES_ON:
        copy(state, next_state)
        return answer(run, streams.acting)
    if situation == TRUNCATED:
        on_truncation(agent, next_state, streams.acting)
    return OVER


def first_response(run: Run, streams: Any) -> tuple[Any, ...]:
    """Return the arguments of ``respond`` at the first observation of an episode."""
    return run, -1, 0.0, FIRST, streams


def load_responder(run: Run, streams: Any, name: str, show: Reporter) -> Kernel:
    """Compile ``respond`` for runs and streams like these, which it uses up."""
    arguments = first_response(run, streams)
    return entry_point(compile_for(respond, arguments, name, show), *arguments)


def request_action(
    kernel: Any, run: Run, action: int, reward: float, situation: int, streams: Any
) -> tuple[Run, int]:
    """Return the kernel's answer, growing parts that are full; a broken contract raises."""
    answer = kernel(run, action, reward, situation, streams)
    while answer == FULL:
        run = run._replace(agent=grow(run.agent))
        answer = kernel(run, action, reward, situation, streams)
    if answer <= MISTAKES:
        mistake = contract_error(run, MISTAKES - answer)
        raise EnvError(str(mistake)) if MISTAKES - answer == NOT_FINITE else mistake
    return run, answer


def play(
    kernel: Any, world: Any, run: Run, budget: Budget, streams: Any, control: np.ndarray
) -> tuple[Run, int]:
    """Run in an environment until the budget is used up; the counterpart of ``simulate``."""
    clock, received, rewards = run.clock, run.domain.received, run.rewards
    while clock[EPISODE] < budget.episodes and clock[STEPS] < budget.steps:
        world.reset(received)
        run.total[0] = 0.0
        run, action = request_action(kernel, run, -1, 0.0, FIRST, streams)
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
            clock[STEP] = taken
            if terminated:
                situation = TERMINATED
            elif truncated or taken >= left:
                situation = TRUNCATED
            run, action = request_action(kernel, run, action, reward, situation, streams)
            if action == OVERFLOW:
                return run, DIVERGED
        run.total[0] = total
        end_episode(run)
    return run, DONE
