"""Planning with expectation models for control: agents, domains and exact answers, compiled.

>>> import expectant as ex
>>> agent = ex.Lookahead(value_step=0.1, model_step=0.1, planning_steps=5)
>>> ex.run(ex.Corridor(), ex.OneHot(), agent, episodes=100).returns.shape
(30, 100)
"""

from typing import Any

from expectant import analysis, exact, lanes, rules, updates, verbs
from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.agents.planner import Agent, PlanningAgent
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.backups import (
    Backups,
    CurrentState,
    PrioritizedSweeping,
    RecencyReplay,
    Replay,
    SeenStates,
    StateSampler,
    Trajectory,
)
from expectant.descriptions import Description, Setting, Shape, description, setting
from expectant.domains.corridor import Corridor
from expectant.domains.counterexample import Counterexample
from expectant.domains.finite import Domain, FiniteMDP
from expectant.features.table import Features, OneHot, RandomBinary
from expectant.models.distribution import Distribution
from expectant.models.episodic import EpisodicExpectation, ExactEpisodic
from expectant.models.expectation import ExactExpectation, LinearExpectation, Model
from expectant.models.network import NetworkExpectation
from expectant.models.sample import Sample
from expectant.models.true import TrueModel
from expectant.running.run import Result, run

__all__ = [
    "Agent",
    "Backups",
    "CachedPolicy",
    "CachedValues",
    "Corridor",
    "Counterexample",
    "CurrentState",
    "Description",
    "Distribution",
    "Domain",
    "EpisodicExpectation",
    "ExactEpisodic",
    "ExactExpectation",
    "Features",
    "FiniteMDP",
    "LinearExpectation",
    "Lookahead",
    "Model",
    "NetworkExpectation",
    "OneHot",
    "PlanningAgent",
    "PrioritizedSweeping",
    "QLearning",
    "QPlanning",
    "RandomBinary",
    "RecencyReplay",
    "Replay",
    "Result",
    "Sample",
    "SeenStates",
    "Setting",
    "Shape",
    "StateSampler",
    "Trajectory",
    "TrueModel",
    "analysis",
    "description",
    "diagnostics",
    "exact",
    "lanes",
    "rules",
    "run",
    "setting",
    "updates",
    "verbs",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Modules that need Numba are imported when they are first used."""
    if name == "diagnostics":
        import importlib

        return importlib.import_module("expectant.diagnostics")
    raise AttributeError(f"module 'expectant' has no attribute {name!r}")
