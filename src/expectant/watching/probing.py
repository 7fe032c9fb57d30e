"""Asking an agent about many states at once: what it values, prefers and predicts there.

A model is asked through ``backed_up_value`` alone. With weights of zero it gives the reward; with
weights w_x for which w_xᵀs is a coordinate x of the state s, it gives the reward and the
expected coordinate of the next state. Such weights are found by least squares over the states
that are looked at, so every model can be asked, whatever its features are.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from expectant.descriptions import Need, Setting, bytes_of
from expectant.features.vector import (
    Binary,
    BinaryTable,
    Weighted,
    WeightedTable,
    empty_state,
    empty_table,
    outlook,
    table_bytes,
)
from expectant.lanes import padded
from expectant.models.maintained import MaintainedPart
from expectant.models.sample import SamplePart
from expectant.report.animation_data import UNDECIDED
from expectant.running.demand import Also
from expectant.running.job import Job
from expectant.running.kernels import Kernel
from expectant.running.loop import Run
from expectant.verbs import backed_up_value, borrowed, encode, function, preference, save


class NoModelPart(NamedTuple):
    """Stands for the model of an agent that has none."""

    unknown: float


@backed_up_value.register(NoModelPart)
def _(model, state, action, weights, discount):
    return model.unknown


class Answers(NamedTuple):
    """``values``, ``actions``, ``rewards`` (n,), and ``futures`` (n, 1 + g): what the model expects
    of a one and of each coordinate, counted as zero where an episode ends."""

    values: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    futures: np.ndarray


class Questions(NamedTuple):
    """``observations`` (n, m) with the states' numbers ``places`` (n,) are looked at.

    ``weights`` (D,) or (A, D) are the agent's; ``measures`` (1 + g, D) give a one and the
    coordinates, ``nothing`` (D,) is zero. ``seen`` takes the feature vectors.
    """

    features: Any
    agent: Any
    model: Any
    weights: np.ndarray
    measures: np.ndarray
    nothing: np.ndarray
    observations: np.ndarray
    places: np.ndarray
    state: Binary | Weighted
    seen: BinaryTable | WeightedTable
    answers: Answers


@function
def favourite(agent, state, actions):
    """The first of the actions that the agent prefers, and how many are as good."""
    chosen, ties, best = 0, 1, preference(agent, state, 0)
    for action in range(1, actions):
        candidate = preference(agent, state, action)
        if candidate > best:
            best, chosen, ties = candidate, action, 1
        elif candidate == best:
            ties += 1
    return chosen, ties


@function
def ask(questions, actions):
    """Answer all questions; returns how many states have been looked at."""
    questions = borrowed(questions)
    features, agent, model = questions.features, questions.agent, questions.model
    state, measures, nothing = questions.state, questions.measures, questions.nothing
    observations, answers = questions.observations, questions.answers
    for n in range(observations.shape[0]):
        encode(features, observations[n], -1, state)
        state.place[0] = questions.places[n]
        save(questions.seen, n, state)
        chosen, ties = favourite(agent, state, actions)
        reward = backed_up_value(model, state, chosen, nothing, 0.0)
        answers.values[n] = outlook(questions.weights, state)
        answers.actions[n] = chosen if ties == 1 else UNDECIDED
        answers.rewards[n] = reward
        for i in range(measures.shape[0]):
            expected = backed_up_value(model, state, chosen, measures[i], 1.0)
            answers.futures[n, i] = expected - reward
    return observations.shape[0]


def model_of(agent: Any) -> Any:
    """The model behind an agent that answers for any weights, and without drawing."""
    if not hasattr(agent, "planner"):
        return NoModelPart(float("nan"))
    model = agent.planner.model
    if isinstance(model, MaintainedPart):
        return model.model
    return model.distribution if isinstance(model, SamplePart) else model


def probing_memory(count: int) -> Also:
    """What looking at so many states takes: above all, their vectors written out."""

    def needs(setting: Setting) -> Sequence[Need]:
        shape, matrix = setting.shape, (2, count, setting.shape.size)
        held = table_bytes(shape, count) + bytes_of(matrix, (5, setting.width))
        what = f"looking at {count:,} states ({shape.size:,} features each)"
        building = bytes_of(matrix)  # least squares work on copies
        return [Need(what, held, "a smaller lattice", building)]

    return needs


class Prober:
    """Asks the agent of one run about the same states again and again, without touching the run."""

    def __init__(self, job: Job, observations: np.ndarray, points: np.ndarray) -> None:
        shape = job.features.shape(job.domain)
        count, self.points, self.actions = len(points), points, job.domain.actions
        self.observations, self.size = observations, shape.size
        numbered = job.domain.states is not None
        self.places = np.arange(count) if numbered else np.full(count, -1)
        self.state, self.seen = empty_state(shape), empty_table(shape, count)
        self.answers = Answers(
            np.zeros(count),
            np.zeros(count, np.int64),
            np.zeros(count),
            np.zeros((count, 1 + points.shape[1])),
        )
        width = padded(shape.size)
        self.measures, self.nothing = np.zeros((1 + points.shape[1], width)), np.zeros(width)
        self.solved = self.fitted = np.zeros(0)  # the features that the measures are for

    def questions(self, run: Run) -> Questions:
        """The questions for the present state of a run, about copies of what it consists of.

        Features that number tiles as they are met, and models that draw, would be changed by them.
        """
        features, agent = copy.deepcopy((run.features, run.agent))
        if not hasattr(agent, "weights"):
            raise ValueError(f"watch: agent must have weights, {type(agent).__name__} has none")
        return Questions(
            features, agent, model_of(agent), agent.weights, self.measures, self.nothing,
            self.observations, self.places, self.state, self.seen, self.answers,
        )  # fmt: skip

    def look(self, kernel: Kernel, run: Run) -> tuple[np.ndarray, ...]:
        """(values, actions, rewards, moves) of the states, see ``Frame``."""
        kernel(self.questions(run), self.actions)
        if self._learn_measures():
            kernel(self.questions(run), self.actions)
        futures, here = self.answers.futures, self.fitted
        moves = futures[:, 1:] - here * futures[:, :1]
        answers = self.answers
        return answers.values.copy(), answers.actions.copy(), answers.rewards.copy(), moves

    def _learn_measures(self) -> bool:
        """Weights that give a one and the coordinates; says whether they had to be found anew."""
        table = self._matrix()
        if np.array_equal(table, self.solved):
            return False
        wanted = np.column_stack([np.ones(len(self.points)), self.points])
        found = np.linalg.lstsq(table, wanted, rcond=None)[0]
        self.measures[:, : self.size] = found.T
        self.solved, self.fitted = table, (table @ found)[:, 1:]
        return True

    def _matrix(self) -> np.ndarray:
        """The feature vectors (n, d) that have been seen, written out."""
        matrix = np.zeros((len(self.points), self.size))
        rows = np.arange(len(self.points))[:, None]
        np.add.at(matrix, (rows, self.seen.active), getattr(self.seen, "values", 1.0))
        return matrix
