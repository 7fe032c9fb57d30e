"""Looking at an agent: what it values, prefers and predicts at some states, without a trace.

A *copy* is asked, so that whatever asking changes is not the run's: what features remember, the
generator that a model draws from, scratch.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

import numpy as np

from expectant.core import tree
from expectant.core.memory import zeros
from expectant.engine.asking import Answers, NoModelPart, Questions, States, Subject, ask
from expectant.engine.compile.kernels import Kernel, compiled_for, is_compiled, use_compiled
from expectant.engine.loop import NO_FEATURE, Ranges, Run
from expectant.engine.trial.mistakes import PartError
from expectant.engine.trial.rehearsal import rehearse_look
from expectant.features.vector import outlook
from expectant.lanes import padded
from expectant.progress import Reporter
from expectant.verbs import answering, backed_up_value, without_planning, wrapped

TOPICS = ("features", "values", "preferences", "policy", "model")
REHEARSED = 20  # states that parts of one's own are tried on before they are compiled


def all_states(count: int) -> States:
    """The states of a domain that numbers so many."""
    return States(np.arange(count).reshape(-1, 1), np.arange(count))


def set_aside(run: Run, earlier: Subject | None = None) -> Subject:
    """A copy of what a run consists of, to be asked.

    If an ``earlier`` copy is given, made when the agent knew the same, its arrays are used again.
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


def set_aside_again(run: Run, earlier: Subject) -> Subject:
    """A copy like an ``earlier`` one of the same run, which it takes the place of in memory."""
    now = (run.features, without_planning(run.agent), run.next_state)
    before = (earlier.features, earlier.agent, earlier.state)
    copies: dict[int, Any] = {}
    for part, known_part in zip(now, before, strict=True):
        for (_, array), (_, known) in zip(tree.arrays(part), tree.arrays(known_part), strict=True):
            if array.shape == known.shape:  # some grow
                np.copyto(known, array)
                copies[id(array)] = known
    features, agent, state = copy.deepcopy(now, copies)
    return Subject(features, agent, state, run.ranges)


def look_for(
    subject: Subject, states: States, compiled: bool | None, name: str, show: Reporter
) -> Kernel:
    """What to look with at agents and states like these, compiled unless asked not to."""
    if not use_compiled(compiled):
        return ask
    _rehearsed(subject, states)
    return compiled_for(ask, (_questions(subject, states, ()),), f"a look at {name}", show)


def look_is_compiled(subject: Subject, states: States) -> bool:
    """Whether what to look with is in memory or on disk, so that it need not be compiled."""
    return is_compiled(ask, (_questions(subject, states, ()),))


def _rehearsed(subject: Subject, states: States) -> None:
    """Ask about some states as plain Python, where parts are not the package's own."""
    some = States(states.observations[:REHEARSED], states.places[:REHEARSED])
    asked = [topic for topic in TOPICS if topic != "values" or _has_values(subject)]
    rehearse_look(subject, lambda tried: look(ask, tried, some, asked))


def look(
    kernel: Kernel,
    subject: Subject,
    states: States,
    asked: Collection[str],
    *,
    measures: np.ndarray | None = None,
    action: int = -1,
) -> Answers:
    """Ask an agent about states, on some of the TOPICS.

    After an ``action`` that is not −1 features with memory take a state as the one that follows.
    """
    questions = _questions(subject, states, asked, measures, action)
    if kernel(questions) == NO_FEATURE:
        raise PartError(
            f"encode of {type(subject.features).__name__} must write features from 0 to "
            f"{subject.ranges.features - 1}, got {subject.state.active.tolist()}"
        )
    return questions.answers


def _questions(
    subject: Subject,
    states: States,
    asked: Collection[str],
    measures: np.ndarray | None = None,
    action: int = -1,
) -> Questions:
    nothing = np.zeros(padded(subject.ranges.features))
    measures = np.zeros((0, nothing.size)) if measures is None else measures
    model, weights = _model_of(subject.agent), _weights_of(subject, "values" in asked)
    answers = _sheet(subject.ranges, len(states.places), asked, len(measures))
    return Questions(subject, model, weights, measures, nothing, states, action, answers)


def _model_of(agent: Any) -> Any:
    """What answers for the model of an agent; a stand-in where there is none that could."""
    planner: Any = getattr(wrapped(agent), "planner", None)
    model = answering(planner.model) if hasattr(planner, "model") else None
    return model if type(model) in backed_up_value.implementations else NoModelPart(np.nan)


def _has_values(subject: Subject) -> bool:
    weights = _weights_of(subject, False)
    return not isinstance(weights, np.ndarray) or weights.shape[0] > 0


def _weights_of(subject: Subject, needed: bool) -> Any:
    """The weights of an agent's values, or the part that these are.

    Without rows where it has none and they are not needed.
    """
    weights = getattr(wrapped(subject.agent), "weights", None)
    if type(weights) in outlook.implementations:
        return weights
    features = subject.ranges.features
    if isinstance(weights, np.ndarray) and weights.ndim in (1, 2) and weights.shape[-1] >= features:
        return weights
    if needed:
        name = type(subject.agent).__name__
        raise ValueError(f"agent: must have weights (D,) or (A, D) to have values, {name} has none")
    return np.zeros((0, features))


def _sheet(ranges: Ranges, count: int, asked: Collection[str], measures: int) -> Answers:
    """Where the answers for so many states are written."""
    unknown = set(asked) - set(TOPICS)
    if unknown:
        raise ValueError(f"asked: must be among {', '.join(TOPICS)}, got {', '.join(unknown)}")
    rows = {topic: count if topic in asked else 0 for topic in TOPICS}
    return Answers(
        features=zeros((rows["features"], ranges.features)),
        values=zeros(rows["values"]),
        preferences=zeros((rows["preferences"], ranges.actions)),
        greedy=zeros(rows["preferences"], np.int64),
        ties=zeros(rows["preferences"], np.int64),
        policy=zeros((rows["policy"], ranges.actions)),
        rewards=zeros((rows["model"], ranges.actions)),
        futures=zeros((rows["model"], ranges.actions, measures)),
    )
