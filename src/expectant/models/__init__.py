"""Models: learned and given, of means, of distributions and of samples."""

from expectant.core.interfaces import Model
from expectant.models.distribution import Distribution
from expectant.models.episodic import EpisodicExpectation, ExactEpisodic
from expectant.models.expectation import ExactExpectation, LinearExpectation
from expectant.models.n_step import NStepExpectation
from expectant.models.network import NetworkExpectation
from expectant.models.sample import Sample
from expectant.models.sparse import SparseExpectation
from expectant.models.true import TrueModel
from expectant.models.wrappers import CachedLookahead, ExplorationBonus

__all__ = [
    "CachedLookahead",
    "Distribution",
    "EpisodicExpectation",
    "ExactEpisodic",
    "ExactExpectation",
    "ExplorationBonus",
    "LinearExpectation",
    "Model",
    "NStepExpectation",
    "NetworkExpectation",
    "Sample",
    "SparseExpectation",
    "TrueModel",
]
