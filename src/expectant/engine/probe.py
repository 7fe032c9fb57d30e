"""Probes: features, values, preferences and policy of an agent at some states.

A *copy* is asked, so that whatever asking changes is not the run's: what features remember, the
generator that a model draws from, scratch.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from expectant.agents.planning_loop import without_planning
from expectant.agents.wrappers import inner_agent
from expectant.checks.dry_run import dry_run_probe
from expectant.core import tree
from expectant.core.dispatch import unowned
from expectant.core.errors import PartError
from expectant.core.memory import zeros
from expectant.core.vectors import Binary, Weighted, add, state_value
from expectant.core.verbs import encode, function, index, policy, preference, size
from expectant.engine.loop import DONE, NO_FEATURE, Ranges, Run
from expectant.engine.progress import Reporter
from expectant.jit.compile import Kernel, compile_for, is_compiled, use_compiled


class States(NamedTuple):
    """``observations`` (n, m) and ``state_indices`` (n,) of some states, −1 where unknown."""

    observations: np.ndarray
    state_indices: np.ndarray


class Subject(NamedTuple):
    """A copy of an agent and its features to be probed; ``state`` is scratch."""

    features: object
    agent: object
    state: Binary | Weighted
    ranges: Ranges


class Answers(NamedTuple):
    """The answers to a probe; topics that were not asked for have no rows.

    ``features`` (n, d): the feature vectors, written out. ``values`` (n,): state values, the
    greatest action value where there are only those. ``preferences`` (n, A) with ``greedy`` (n,),
    the first of the actions that are preferred, and ``ties`` (n,), how many those are. ``policy``
    (n, A): π(a | s), NaN for agents without.
    """

    features: np.ndarray
    values: np.ndarray
    preferences: np.ndarray
    greedy: np.ndarray
    ties: np.ndarray
    policy: np.ndarray


class Questions(NamedTuple):
    """A subject, the states to probe it at, and its answers.

    State values come from ``weights``, (D,) or (A, D) or a part. ``action`` led to the states (−1:
    episodes begin there).
    """

    subject: Subject
    weights: object
    states: States
    action: int
    answers: Answers


@function
def store_preferences(agent, state, n, answers):
    """Store the agent's preferences, the first greedy action and the number of ties."""
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
def ask(questions):
    """Fill in the answers; return DONE, or NO_FEATURE if a feature is out of range."""
    return answer_all(unowned(questions))


@function
def answer_all(questions):
    """:func:`ask` on unowned arrays."""
    subject, states, answers = questions.subject, questions.states, questions.answers
    agent, state = subject.agent, subject.state
    for n in range(states.state_indices.shape[0]):
        encode(subject.features, states.observations[n], questions.action, state)
        state.state_index[0] = states.state_indices[n]
        for i in range(size(state)):
            if not 0 <= index(state, i) < subject.ranges.features:
                return NO_FEATURE
        if answers.features.shape[0] > 0:
            add(state, answers.features[n], 1.0)
        if answers.values.shape[0] > 0:
            answers.values[n] = state_value(questions.weights, state)
        if answers.preferences.shape[0] > 0:
            store_preferences(agent, state, n, answers)
        if answers.policy.shape[0] > 0:
            policy(agent, state, answers.policy[n])
    return DONE


TOPICS = ("features", "values", "preferences", "policy")
DRY_RUN_STATES = 20


def all_states(count: int) -> States:
    """Return all states of a domain that numbers them."""
    return States(np.arange(count).reshape(-1, 1), np.arange(count))


def copy_subject(run: Run, earlier: Subject | None = None) -> Subject:
    """Copy the agent and features of a run to be probed.

    The arrays of an ``earlier`` copy, made when the agent knew the same, are used again.
    """
    copies: dict[int, Any] = {}
    agent, features = without_planning(run.agent), copy.deepcopy(run.features, copies)
    if earlier is not None:  # but not its features, which asking has changed
        for (_, array), (_, known) in zip(
            tree.arrays(agent), tree.arrays(earlier.agent), strict=True
        ):
            copies.setdefault(id(array), known)
    agent, state = copy.deepcopy((agent, run.next_state), copies)
    return Subject(features, agent, state, run.ranges)


def load_probe(
    subject: Subject, states: States, compiled: bool | None, name: str, show: Reporter
) -> Kernel:
    """Return the kernel for probes of such agents and states, compiled unless asked not to."""
    if not use_compiled(compiled):
        return ask
    some = States(states.observations[:DRY_RUN_STATES], states.state_indices[:DRY_RUN_STATES])
    asked = [topic for topic in TOPICS if topic != "values" or _has_values(subject)]
    dry_run_probe(subject, lambda tried: probe_agent(ask, tried, some, asked))
    return compile_for(ask, (_questions(subject, states, ()),), f"a probe of {name}", show)


def is_probe_compiled(subject: Subject, states: States) -> bool:
    """True if the kernel for such probes is compiled, in memory or on disk."""
    return is_compiled(ask, (_questions(subject, states, ()),))


def probe_agent(
    kernel: Kernel, subject: Subject, states: States, asked: Collection[str], action: int = -1
) -> Answers:
    """Probe an agent at states, on some of the TOPICS.

    Features with memory take a state as the successor of ``action``; −1: as the first.
    """
    questions = _questions(subject, states, asked, action)
    if kernel(questions) == NO_FEATURE:
        raise PartError(
            f"encode of {type(subject.features).__name__} must write features from 0 to "
            f"{subject.ranges.features - 1}, got {subject.state.active.tolist()}"
        )
    return questions.answers


def _questions(
    subject: Subject, states: States, asked: Collection[str], action: int = -1
) -> Questions:
    """Return the questions about some states, with arrays for the answers."""
    ranges = subject.ranges
    weights: Any = np.zeros((0, ranges.features))
    if _has_values(subject):
        weights = inner_agent(subject.agent).weights
    elif "values" in asked:
        name = type(subject.agent).__name__
        raise ValueError(f"agent: must have weights (D,) or (A, D) to have values, {name} has none")
    rows = {topic: len(states.state_indices) if topic in asked else 0 for topic in TOPICS}
    answers = Answers(
        features=zeros((rows["features"], ranges.features)),
        values=zeros(rows["values"]),
        preferences=zeros((rows["preferences"], ranges.actions)),
        greedy=zeros(rows["preferences"], np.int64),
        ties=zeros(rows["preferences"], np.int64),
        policy=zeros((rows["policy"], ranges.actions)),
    )
    return Questions(subject, weights, states, action, answers)


def _has_values(subject: Subject) -> bool:
    """True if an agent has weights of values, or a part with state values."""
    weights = getattr(inner_agent(subject.agent), "weights", None)
    if isinstance(weights, np.ndarray):
        return weights.ndim in (1, 2) and weights.shape[-1] >= subject.ranges.features
    return type(weights) in state_value.implementations
