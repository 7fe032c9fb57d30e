"""Distribution models p(s', r | s, a), learned counts or the true model, and samples from them.

Missing probability mass is termination.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.memory import full, zeros
from expectant.core.rules import between, instance_of, number, or_none, whole
from expectant.core.vectors import Table, Vector, empty_state, state_value
from expectant.core.verbs import delegate, function
from expectant.domains.finite import END, PHASE, phase_array, require_mdp
from expectant.features.discrete import feature_table
from expectant.features.distinct_vectors import (
    DistinctPart,
    empty_vectors,
    find_or_add_vector,
    find_vector,
)

FREE = -2


class DistributionPart(NamedTuple):
    """``counts``, ``successors`` and mean ``rewards`` (N, A, O) of O outcomes in N distinct states.

    A successor is the number of a state, −1 for the end, −2 for a free outcome. Untried actions
    have ``untried_value``. ``successor`` is scratch.
    """

    states: DistinctPart
    counts: np.ndarray
    successors: np.ndarray
    rewards: np.ndarray
    forgetting: float
    untried_value: float
    successor: Vector


@function
def find_or_add_outcome(model, state, action, successor):
    """Return the outcome with this successor; a new one replaces the rarest."""
    rarest = 0
    for o in range(model.counts.shape[2]):
        if model.successors[state, action, o] == successor:
            return o
        if model.counts[state, action, o] < model.counts[state, action, rarest]:
            rarest = o
    model.successors[state, action, rarest] = successor
    model.counts[state, action, rarest] = 0.0
    model.rewards[state, action, rarest] = 0.0
    return rarest


@function
def probability(model, state, action, outcome):
    """Relative frequency of an outcome; 0 for an untried action."""
    total = 0.0
    for o in range(model.counts.shape[2]):
        total += model.counts[state, action, o]
    return model.counts[state, action, outcome] / total if total > 0.0 else 0.0


@verbs.fit.register(DistributionPart)
def _(model, transition):
    """Count one transition after decaying all counts of its state and action."""
    state, action = find_or_add_vector(model.states, transition.state), transition.action
    if state < 0:
        return 0.0
    successor = END
    if transition.alive > 0.0:
        successor = find_or_add_vector(model.states, transition.next_state)
        if successor < 0:
            return 0.0
    for o in range(model.counts.shape[2]):
        model.counts[state, action, o] *= 1.0 - model.forgetting
    o = find_or_add_outcome(model, state, action, successor)
    model.counts[state, action, o] += 1.0
    error = transition.reward - model.rewards[state, action, o]
    model.rewards[state, action, o] += error / model.counts[state, action, o]
    return abs(error)


@verbs.backed_up_value.register(DistributionPart)
@verbs.backed_up_action_value.register(DistributionPart)
def _(model, state, action, weights, discount):
    """Σ p(s' | s, a) [r + γ v̂(s')]: AVI's target, or AAVI's where v̂(s') = max_a' q̂(s', a')."""
    row, total, tried = find_vector(model.states, state), 0.0, False
    if row < 0:
        return model.untried_value
    for o in range(model.counts.shape[2]):
        if model.counts[row, action, o] > 0.0:
            value = model.rewards[row, action, o]
            successor = model.successors[row, action, o]
            if successor != END:
                verbs.load(model.states.vectors, successor, model.successor)
                value += discount * state_value(weights, model.successor)
            total += probability(model, row, action, o) * value
            tried = True
    return total if tried else model.untried_value


@function
def load_unless_end(vectors, row, successor):
    """Write the vector in a row into ``successor``; return alive, 0.0 for the end."""
    if row == END:
        return 0.0
    verbs.load(vectors, row, successor)
    return 1.0


@verbs.draw_outcome.register(DistributionPart)
def _(model, state, action, successor, rng):
    row, left, chosen = find_vector(model.states, state), rng.random(), -1
    if row < 0:
        return model.untried_value, 0.0
    for o in range(model.counts.shape[2]):
        share = probability(model, row, action, o)
        if share > 0.0:
            chosen = o
            left -= share
            if left < 0.0:
                break
    if chosen < 0:
        return model.untried_value, 0.0
    next_row = model.successors[row, action, chosen]
    alive = load_unless_end(model.states.vectors, next_row, successor)
    return model.rewards[row, action, chosen], alive


class DistributionModel(Model, abstract=True):
    """Base of models from which ``Sample`` can draw; their parts implement ``draw_outcome``."""


class Distribution(DistributionModel):
    """Transition counts per distinct state and action, for at most ``states`` feature vectors.

    Each state and action has at most ``outcomes`` successors. ``forgetting`` is the fraction that
    earlier counts lose with every new one, to track a changing world. Untried actions are predicted
    to earn ``initial_reward`` and end (None: the agent's initial value).
    """

    memory_advice: ClassVar[str] = "fewer states or outcomes of Distribution"
    states: int = parameter(whole(1), default=1000)
    outcomes: int = parameter(whole(1), default=8)
    forgetting: float = parameter(between(0, 1), default=0.0)
    initial_reward: float | None = parameter(or_none(number()), default=None, kw_only=True)

    def build(self, context: BuildContext) -> DistributionPart:
        shape = (self.states, context.actions, self.outcomes)
        return DistributionPart(
            empty_vectors(context.shape, self.states),
            zeros(shape),
            full(shape, FREE, np.int64),
            zeros(shape),
            self.forgetting,
            context.untried_value if self.initial_reward is None else self.initial_reward,
            empty_state(context.shape),
        )


class TruePart(NamedTuple):
    """``probabilities`` and ``rewards`` (P, S, A, O), ``successors`` (S, A, O), all features.

    ``now`` is shared with the domain and holds the present phase; ``successor`` is scratch.
    """

    probabilities: np.ndarray
    rewards: np.ndarray
    successors: np.ndarray
    features: Table
    successor: Vector
    now: np.ndarray


@verbs.fit.register(TruePart)
def _(model, transition):
    return 0.0


@verbs.backed_up_value.register(TruePart)
@verbs.backed_up_action_value.register(TruePart)
def _(model, state, action, weights, discount):
    """Σ p(s' | s, a) [r + γ v̂(s')], as for learned counts."""
    row, phase, total = state.state_index[0], model.now[PHASE], 0.0
    for o in range(model.successors.shape[2]):
        probability = model.probabilities[phase, row, action, o]
        total += probability * model.rewards[phase, row, action, o]
        successor = model.successors[row, action, o]
        if successor != END:
            verbs.load(model.features, successor, model.successor)
            total += probability * discount * state_value(weights, model.successor)
    return total


@verbs.draw_outcome.register(TruePart)
def _(model, state, action, successor, rng):
    row, phase, left = state.state_index[0], model.now[PHASE], rng.random()
    chosen = model.successors.shape[2] - 1
    for o in range(model.successors.shape[2]):
        left -= model.probabilities[phase, row, action, o]
        if left < 0.0:
            chosen = o
            break
    alive = load_unless_end(model.features, model.successors[row, action, chosen], successor)
    return model.rewards[phase, row, action, chosen], alive


class TrueModel(DistributionModel):
    """The true distribution model of a finite MDP, in its present phase."""

    learns = False

    def build(self, context: BuildContext) -> TruePart:
        table = require_mdp(context, "TrueModel").outcomes
        return TruePart(
            table.probabilities.copy(),
            table.rewards.copy(),
            table.successors.copy(),
            feature_table(context),
            empty_state(context.shape),
            phase_array(context),
        )


class SamplePart(NamedTuple):
    """Every backup averages ``draws`` outcomes of ``distribution``, drawn with ``rng``."""

    distribution: object
    draws: int
    rng: np.random.Generator


delegate(SamplePart, "distribution", verbs.fit)


@verbs.backed_up_value.register(SamplePart)
@verbs.backed_up_action_value.register(SamplePart)
def _(model, state, action, weights, discount):
    """Mean of r + γ v̂(s') over drawn outcomes: AVI's target, or AAVI's, in expectation."""
    total, successor = 0.0, model.distribution.successor
    for _ in range(model.draws):
        reward, alive = verbs.draw_outcome(model.distribution, state, action, successor, model.rng)
        total += reward
        if alive > 0.0:
            total += discount * state_value(weights, successor)
    return total / model.draws


@verbs.sample_next.register(SamplePart)
def _(model, state, action, successor):
    _, alive = verbs.draw_outcome(model.distribution, state, action, successor, model.rng)
    return alive


class Sample(Model):
    """Outcomes drawn from a distribution model, learned or true; ``draws`` of them per backup."""

    rolls_out: ClassVar[str] = "states"

    distribution: DistributionModel = parameter(
        instance_of(DistributionModel, "a distribution model: Distribution() or TrueModel()"),
        default=Distribution(),
    )
    draws: int = parameter(whole(1), default=1, meaning="outcomes drawn for every backup")

    @property
    def learns(self) -> bool:
        return self.distribution.learns

    def build(self, context: BuildContext) -> SamplePart:
        return SamplePart(self.distribution.build(context), self.draws, context.planning)
