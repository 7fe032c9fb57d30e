"""Models that agents plan with: expectation, distribution and sample models, learned or exact."""

from collections.abc import Callable

from expectant.core.interfaces import Model
from expectant.models.distribution import Distribution, Sample, TrueModel
from expectant.models.expectation import (
    EpisodicExpectation,
    ExactEpisodic,
    ExactExpectation,
    LinearExpectation,
)
from expectant.models.kalman import DefaultExpectation, KalmanExpectation
from expectant.models.n_step import NStepExpectation
from expectant.models.network import NetworkExpectation
from expectant.models.sparse import SparseExpectation
from expectant.models.wrappers import CachedLookahead, ExplorationBonus
from expectant.step_sizes import StepSize, as_step_size

__all__ = [
    "NAMED_MODELS", "CachedLookahead", "DefaultExpectation", "Distribution", "EpisodicExpectation",
    "ExactEpisodic", "ExactExpectation", "ExplorationBonus", "KalmanExpectation",
    "LinearExpectation", "Model", "NStepExpectation", "NetworkExpectation", "Sample",
    "SparseExpectation", "TrueModel",
]  # fmt: skip

# Each entry takes the agent's model step.
NAMED_MODELS: dict[str, Callable[[float | StepSize], Model]] = {
    "expectation": LinearExpectation,
    "cached_lookahead": CachedLookahead,
    "sparse": SparseExpectation,
    "kalman": lambda step: KalmanExpectation(),
    "episodic": EpisodicExpectation,
    "network": lambda step: (
        NetworkExpectation() if as_step_size(step).adapts else NetworkExpectation(step=step)
    ),
    "distribution": lambda step: Distribution(),
    "latest": lambda step: Distribution(outcomes=1, forgetting=1.0),
    "sample": lambda step: Sample(),
    "exact": lambda step: ExactExpectation(),
    "exact_episodic": lambda step: ExactEpisodic(),
    "true": lambda step: TrueModel(),
    "true_sample": lambda step: Sample(TrueModel()),
}
