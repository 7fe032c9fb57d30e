"""One right part of every kind; tests/test_errors.py changes a line of it and tries the rest."""

import random  # noqa: F401  for a mistake
from typing import Any, NamedTuple

import numpy as np
from building import per_feature

import expectant as ex
from expectant.agents.action_selection import epsilon_greedy
from expectant.core.updates import move
from expectant.core.vectors import dot, empty_state, max_action_value
from expectant.core.verbs import (
    act,
    backed_up_value,
    copy,
    draw,
    encode,
    fit,
    function,
    learn,
    load_successor,
    observation,
    preference,
    remember,
    reset,
    step,
    stored_transition,
)
from expectant.engine.setup import Setup

PRICE = 1.0
NAMES = {"ease": 0}
COSTS, CHEAP, SEEN = [1.0, 2.0], {0}, np.zeros(1)


def cost(action):
    return 1.0 + action


@function
def again(count):
    return 1.0 if count < 1 else again(count - 1)


@function
def chance():
    return np.random.random()  # noqa: NPY002  what a verb must not do


class QueuePart(NamedTuple):
    waiting: np.ndarray
    room: int
    arrival: float


@reset.register(QueuePart)
def _(queue, episode, rng):
    queue.waiting[0] = queue.room // 2


@step.register(QueuePart)
def _(queue, action, rng):
    if rng.random() < (0.8 if action == 1 else 0.4):
        queue.waiting[0] -= 1
    if queue.waiting[0] < 0:
        return 0.0, 0.0
    if rng.random() < queue.arrival and queue.waiting[0] + 1 < queue.room:
        queue.waiting[0] += 1
    return -PRICE - action, 1.0


@observation.register(QueuePart)
def _(queue):
    return queue.waiting


class Queue(ex.Domain):
    room: int = ex.parameter(ex.rules.whole(1), default=8)
    arrival: float = ex.parameter(ex.rules.between(0, 1), default=0.2)
    actions = 2
    states = property(lambda self: self.room)

    def build(self, rng):
        return QueuePart(np.zeros(1, np.int64), self.room, self.arrival)


class PairsPart(NamedTuple):
    last: int


@encode.register(PairsPart)
def _(features, observation, action, state):
    state.active[0] = observation[0] // 2
    state.active[1] = features.last


class Pairs(ex.Features):
    def shape(self, domain):
        return ex.extend.Shape(size=(domain.states + 1) // 2 + 1, active=2)

    def build(self, domain, rng):
        return PairsPart((domain.states + 1) // 2)


class CautiousPart(NamedTuple):
    inner: Any
    penalty: float


@fit.register(CautiousPart)
def _(model, transition):
    return fit(model.inner, transition)


@backed_up_value.register(CautiousPart)
def _(model, state, action, weights, discount):
    return backed_up_value(model.inner, state, action, weights, discount) - model.penalty


class Cautious(ex.Model):
    predicts_means = True
    penalty: float = ex.parameter(ex.rules.at_least(0), default=0.1)

    def build(self, context):
        return CautiousPart(
            ex.models.LinearExpectation(step=per_feature(0.05)).build(context), self.penalty
        )


class LatestPart(NamedTuple):
    state: Any
    next_state: Any
    facts: np.ndarray


@remember.register(LatestPart)
def _(latest, transition):
    copy(latest.state, transition.state)
    copy(latest.next_state, transition.next_state)
    latest.facts[0] = transition.action
    latest.facts[1] = transition.reward
    latest.facts[2] = transition.alive


@draw.register(LatestPart)
def _(latest, state, rng):
    copy(state, latest.state)
    return 0


@stored_transition.register(LatestPart)
def _(latest, slot):
    return int(latest.facts[0]), latest.facts[1], latest.facts[2]


@load_successor.register(LatestPart)
def _(latest, slot, state):
    copy(state, latest.next_state)


class Latest(ex.Backups):
    stores_transitions = True
    model_fits: int | str = ex.extend.model_fits_parameter()

    def build(self, context):
        return LatestPart(empty_state(context.shape), empty_state(context.shape), np.zeros(3))


class SarsaPart(NamedTuple):
    weights: np.ndarray
    step: float
    epsilon: float
    discount: float


@preference.register(SarsaPart)
def _(agent, state, action):
    return dot(state, agent.weights[action])


@act.register(SarsaPart)
def _(agent, state, rng):
    return epsilon_greedy(agent, state, agent.weights.shape[0], agent.epsilon, rng)


@learn.register(SarsaPart)
def _(agent, transition, rng):
    weights, state, mean = agent.weights, transition.next_state, 0.0
    for action in range(weights.shape[0]):
        mean += dot(state, weights[action]) / weights.shape[0]
    future = (1.0 - agent.epsilon) * max_action_value(weights, state) + agent.epsilon * mean
    target = transition.reward + agent.discount * transition.alive * future
    return abs(move(weights[transition.action], transition.state, target, agent.step))


class SoftSarsa(ex.Agent):
    action_step: float = ex.parameter(ex.rules.at_least(0))

    def build(self, context):
        weights = np.zeros((context.actions, context.width))
        return SarsaPart(weights, self.action_step, self.epsilon, 1.0)


def setups(**options):
    """A run of one's own agent, and one of one's own model and backups."""
    planner = ex.Lookahead.paper(
        0.05,
        model=Cautious(),
        planning_steps=2,
        backups=Latest(),
        interpretation=ex.Interpretation(replayed_fits=1),
    )
    for agent in (SoftSarsa(0.05), planner):
        yield Setup(Queue(), Pairs(), agent, episodes=50, **options)
