"""A learned distribution model: counts of what followed each state and action.

States are told apart by their feature vectors. p(s' | s, a) is a share of the counts; the share of
the transitions that ended an episode is the missing mass. Old counts can be made to fade.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.memory import full, zeros
from expectant.core.rules import between, number, or_none, whole
from expectant.core.vectors import Binary, Weighted, empty_state, state_value
from expectant.core.verbs import (
    backed_up_action_value,
    backed_up_value,
    fit,
    function,
    load,
)
from expectant.features.distinct_vectors import (
    DistinctPart,
    distinct_vectors,
    number_of,
    numbered,
)

END, FREE = -1, -2


class DistributionPart(NamedTuple):
    """``counts``, ``successors`` and ``rewards`` (N, A, O) for N distinct states and O outcomes.

    A successor is a state's number, −1 for the end, −2 for an outcome that is still free;
    ``rewards`` are mean rewards of the outcomes; ``promise`` is what is said of what was never
    tried. ``successor`` is scratch.
    """

    states: DistinctPart
    counts: np.ndarray
    successors: np.ndarray
    rewards: np.ndarray
    forgetting: float
    untried_value: float
    successor: Binary | Weighted


@function
def outcome_for(model, state, action, successor):
    """The outcome that stands for a successor; the rarest one is given up for a new successor."""
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
    """The share of an outcome in the counts of a state and action (0 where nothing is known)."""
    total = 0.0
    for o in range(model.counts.shape[2]):
        total += model.counts[state, action, o]
    return model.counts[state, action, outcome] / total if total > 0.0 else 0.0


@fit.register(DistributionPart)
def _(model, transition):
    """Count one transition; all counts of its state and action fade first."""
    state, action = numbered(model.states, transition.state), transition.action
    if state < 0:
        return 0.0
    successor = END
    if transition.alive > 0.0:
        successor = numbered(model.states, transition.next_state)
    if transition.alive > 0.0 and successor < 0:
        return 0.0
    for o in range(model.counts.shape[2]):
        model.counts[state, action, o] *= 1.0 - model.forgetting
    o = outcome_for(model, state, action, successor)
    model.counts[state, action, o] += 1.0
    surprise = transition.reward - model.rewards[state, action, o]
    model.rewards[state, action, o] += surprise / model.counts[state, action, o]
    return abs(surprise)


@function
def counted_outlook(model, state, action, weights, discount):
    """Σ p(s' | s, a) [r + γ · the outlook of s'], the promise where nothing is known."""
    number, total, tried = number_of(model.states, state), 0.0, False
    if number < 0:
        return model.untried_value
    for o in range(model.counts.shape[2]):
        if model.counts[number, action, o] > 0.0:
            value = model.rewards[number, action, o]
            row = model.successors[number, action, o]
            if row != END:
                load(model.states.vectors, row, model.successor)
                value += discount * state_value(weights, model.successor)
            total += probability(model, number, action, o) * value
            tried = True
    return total if tried else model.untried_value


@backed_up_value.register(DistributionPart)
def _(model, state, action, weights, discount):
    """The bracket of AVI's target: the mean of v̂(s')."""
    return counted_outlook(model, state, action, weights, discount)


@backed_up_action_value.register(DistributionPart)
def _(model, state, action, weights, discount):
    """AAVI's target: the mean of the maxima of q̂(s', ·)."""
    return counted_outlook(model, state, action, weights, discount)


class Distribution(Model):
    """Counts of successors per distinct state and action, from at most so many ``states``.

    ``outcomes`` is how many successors of a state and action are told apart; ``forgetting`` is the
    share that older counts lose with every new one, so that a changing world is followed. What was
    never tried is said to earn ``initial_reward`` and end (None: the agent's initial value).
    """

    memory_advice: ClassVar[str] = "fewer states or outcomes of Distribution"
    states: int = parameter(whole(1), default=1000)
    outcomes: int = parameter(whole(1), default=8)
    forgetting: float = parameter(between(0, 1), default=0.0)
    initial_reward: float | None = parameter(or_none(number()), default=None, kw_only=True)

    def build(self, context: BuildContext) -> DistributionPart:
        shape = (self.states, context.actions, self.outcomes)
        return DistributionPart(
            distinct_vectors(context.shape, self.states),
            zeros(shape),
            full(shape, FREE, np.int64),
            zeros(shape),
            self.forgetting,
            context.untried_value if self.initial_reward is None else self.initial_reward,
            empty_state(context.shape),
        )
