"""The compiled side of a look: one function that asks an agent whatever is asked for.

A model is asked through ``backed_up_value`` alone: with weights of zero it gives the reward
r(s, a), and weights w add wᵀ s̄(s, a). So every model can be asked, for the expectation of all that
is linear in the features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.dispatch import borrowed
from expectant.engine.loop import DONE, NO_FEATURE, Ranges
from expectant.features.vector import Binary, Weighted, add, outlook
from expectant.verbs import backed_up_value, encode, function, index, policy, preference, size


class States(NamedTuple):
    """``observations`` (n, m), and the numbers ``places`` (n,) of the states, −1 where unknown."""

    observations: np.ndarray
    places: np.ndarray


class Subject(NamedTuple):
    """A copy of an agent and its features, made to be asked; ``state`` is scratch."""

    features: object
    agent: object
    state: Binary | Weighted
    ranges: Ranges


class Answers(NamedTuple):
    """What was asked for; of the rest there are no rows.

    ``features`` (n, d): the feature vectors, written out. ``values`` (n,): state values, the
    greatest action value where there are only those. ``preferences`` (n, A) with ``greedy`` (n,),
    the first of the actions that are preferred, and ``ties`` (n,), how many those are. ``policy``
    (n, A): π(a | s), NaN for agents without. Of the model, NaN for agents without: ``rewards``
    (n, A), and ``futures`` (n, A, g), what each of g measures of the next state is expected to be,
    counted as zero where an episode ends.
    """

    features: np.ndarray
    values: np.ndarray
    preferences: np.ndarray
    greedy: np.ndarray
    ties: np.ndarray
    policy: np.ndarray
    rewards: np.ndarray
    futures: np.ndarray


class NoModelPart(NamedTuple):
    """Stands for the model of an agent that has none."""

    unknown: float


@backed_up_value.register(NoModelPart)
def _(model, state, action, weights, discount):
    return model.unknown


class Questions(NamedTuple):
    """``weights``, (D,) or (A, D) or a part, give state values; ``measures`` (g, D) are what the
    model is asked for; ``nothing`` (D,) is zero. ``action`` has led to the states, −1: episodes
    begin there."""

    subject: Subject
    model: object
    weights: object
    measures: np.ndarray
    nothing: np.ndarray
    states: States
    action: int
    answers: Answers


@function
def prefer(agent, state, n, answers):
    """Write down the agent's preferences, and which actions they favour."""
    chosen, ties, best = 0, 1, 0.0
    for action in range(answers.preferences.shape[1]):
        candidate = preference(agent, state, action)
        answers.preferences[n, action] = candidate
        if action == 0 or candidate > best:
            best, chosen, ties = candidate, action, 1
        elif candidate == best:
            ties += 1
    answers.greedy[n] = chosen
    answers.ties[n] = ties


@function
def foretell(questions, state, n):
    """Write down what the model expects of every action."""
    model, measures, answers = questions.model, questions.measures, questions.answers
    for action in range(answers.rewards.shape[1]):
        reward = backed_up_value(model, state, action, questions.nothing, 0.0)
        answers.rewards[n, action] = reward
        for i in range(measures.shape[0]):
            expected = backed_up_value(model, state, action, measures[i], 1.0)
            answers.futures[n, action, i] = expected - reward


@function
def ask(questions):
    """Answer what is asked; returns DONE, or NO_FEATURE at an index that is none."""
    return answer_all(borrowed(questions))


@function
def answer_all(questions):
    """:func:`ask`, of what is borrowed."""
    subject, states, answers = questions.subject, questions.states, questions.answers
    agent, state = subject.agent, subject.state
    for n in range(states.places.shape[0]):
        encode(subject.features, states.observations[n], questions.action, state)
        state.place[0] = states.places[n]
        for i in range(size(state)):
            if not 0 <= index(state, i) < subject.ranges.features:
                return NO_FEATURE
        if answers.features.shape[0] > 0:
            add(state, answers.features[n], 1.0)
        if answers.values.shape[0] > 0:
            answers.values[n] = outlook(questions.weights, state)
        if answers.preferences.shape[0] > 0:
            prefer(agent, state, n, answers)
        if answers.policy.shape[0] > 0:
            policy(agent, state, answers.policy[n])
        if answers.rewards.shape[0] > 0:
            foretell(questions, state, n)
    return DONE
