"""What the names of models and backup distributions stand for."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from expectant.backups import NAMED
from expectant.models.distribution import Distribution
from expectant.models.episodic import EpisodicExpectation, ExactEpisodic
from expectant.models.expectation import ExactExpectation, LinearExpectation
from expectant.models.network import NetworkExpectation
from expectant.models.sample import Sample
from expectant.models.sparse import SparseExpectation
from expectant.models.true import TrueModel
from expectant.parts import Backups, Model
from expectant.rules import named_or
from expectant.step_sizes import StepSize


def _network(step: float | StepSize) -> Model:
    number: Any = getattr(step, "step", step)  # what is none is refused there
    return NetworkExpectation(step=number)


# What the names of models stand for, given the agent's model step.
MODELS: dict[str, Callable[[float | StepSize], Model]] = {
    "expectation": LinearExpectation,
    "sparse": SparseExpectation,
    "episodic": EpisodicExpectation,
    "network": _network,
    "distribution": lambda step: Distribution(),
    "latest": lambda step: Distribution(outcomes=1, forgetting=1.0),
    "sample": lambda step: Sample(),
    "exact": lambda step: ExactExpectation(),
    "exact_episodic": lambda step: ExactEpisodic(),
    "true": lambda step: TrueModel(),
    "true_sample": lambda step: Sample(TrueModel()),
}
BACKUPS = named_or(*NAMED, kind=Backups, words="a backup distribution")


@lru_cache  # every run of every agent asks
def model_by_name(name: str, step: float | StepSize) -> Model:
    return MODELS[name](step)


@lru_cache
def backups_by_name(name: str, capacity: int | None) -> Backups:
    return NAMED[name](capacity)


def named_model(model: str | Model, step: float | StepSize) -> Model:
    """The model that an agent's ``model=`` stands for."""
    return model_by_name(model, step) if isinstance(model, str) else model
