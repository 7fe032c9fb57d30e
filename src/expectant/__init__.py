"""Planning with expectation models for control: agents, domains and exact answers, compiled.

>>> import expectant as ex
>>> agent = ex.Lookahead(value_step=0.1, model_step=0.1, planning_steps=5)
>>> ex.run(ex.Corridor(), ex.OneHot(), agent, episodes=100).returns.shape
(30, 100)
"""

from typing import TYPE_CHECKING, Any

from expectant import analysis, exact, extend, lanes, rules, updates, verbs
from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.dyna_q import DynaQ
from expectant.agents.lookahead import Lookahead
from expectant.agents.network_values import NetworkValues
from expectant.agents.paper import Interpretation
from expectant.agents.planning_agent import PlanningAgent
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.agents.rvi_q_learning import RVIQLearning
from expectant.agents.sarsa import ExpectedSarsa, Sarsa
from expectant.agents.wrappers import FreezeAfter, PlanningOnly
from expectant.backups import (
    AllPairs,
    AllStates,
    CurrentState,
    FeatureSweeping,
    PrioritizedPairs,
    PrioritizedSweeping,
    RecencyReplay,
    Replay,
    RowSweeping,
    SeenPairs,
    SeenStates,
    SingleFeatures,
    StateSampler,
    Trajectory,
)
from expectant.descriptions import Description, description, option, register
from expectant.domains.average_reward import AccessControl, RiverSwim, TransientChain, TwoChoice
from expectant.domains.branching import Branching, Lottery
from expectant.domains.corridor import BoyanChain, Corridor
from expectant.domains.counterexample import Counterexample
from expectant.domains.finite import FiniteMDP
from expectant.domains.grids import BlockingMaze, Cliff, DynaMaze, ShortcutMaze
from expectant.domains.gym import Gym
from expectant.domains.loca import LocaGrid, LocaMountainCar
from expectant.domains.mountain_car import DrivenCar, MountainCar
from expectant.domains.rooms import FourRooms, Rooms, TwoRooms
from expectant.domains.spaces import Outside
from expectant.engine.evaluating import Evaluation, evaluate
from expectant.engine.learner.learner import Learner
from expectant.engine.result import Result
from expectant.engine.run import run
from expectant.engine.trial.checking import check
from expectant.engine.trial.mistakes import PartError
from expectant.exact.solve import under_policy
from expectant.features.basis import Fourier, Identity
from expectant.features.bounds import bounds_of
from expectant.features.table import Categorical, Interpolated, OneHot, RandomBinary
from expectant.features.tiles import Tiles
from expectant.features.wrappers import History, Joined, Traces
from expectant.lab.compare import Comparison, compare
from expectant.models.distribution import Distribution
from expectant.models.episodic import EpisodicExpectation, ExactEpisodic
from expectant.models.expectation import ExactExpectation, LinearExpectation
from expectant.models.n_step import NStepExpectation
from expectant.models.network import NetworkExpectation
from expectant.models.sample import Sample
from expectant.models.sparse import SparseExpectation
from expectant.models.true import TrueModel
from expectant.options.given import BestOption, OneStep, TableOption
from expectant.options.repertoire import Repertoire
from expectant.options.subtasks import RewardRespecting, ShortestPath
from expectant.parts import (
    Agent,
    Backups,
    Domain,
    Drawing,
    Exit,
    Features,
    Model,
    Option,
    Shape,
    Site,
)
from expectant.show.plot import plot
from expectant.step_sizes import IDBD, Autostep, Decaying, Fixed
from expectant.version import VERSION
from expectant.whose import WorldError

if TYPE_CHECKING:  # the same as _LATER
    from expectant import diagnostics
    from expectant.lab.looks import look_as
    from expectant.lab.measures import measure
    from expectant.lab.quick_check import quick_check
    from expectant.lab.sweep import Sweep
    from expectant.watching.animate import watch

__all__ = [
    "IDBD",
    "AccessControl",
    "Agent",
    "AllPairs",
    "AllStates",
    "Autostep",
    "Backups",
    "BestOption",
    "BlockingMaze",
    "BoyanChain",
    "Branching",
    "CachedPolicy",
    "CachedValues",
    "Categorical",
    "Cliff",
    "Comparison",
    "Corridor",
    "Counterexample",
    "CurrentState",
    "Decaying",
    "Description",
    "Distribution",
    "Domain",
    "Drawing",
    "DrivenCar",
    "DynaMaze",
    "DynaQ",
    "EpisodicExpectation",
    "Evaluation",
    "ExactEpisodic",
    "ExactExpectation",
    "Exit",
    "ExpectedSarsa",
    "FeatureSweeping",
    "Features",
    "FiniteMDP",
    "Fixed",
    "FourRooms",
    "Fourier",
    "FreezeAfter",
    "Gym",
    "History",
    "Identity",
    "Interpolated",
    "Interpretation",
    "Joined",
    "Learner",
    "LinearExpectation",
    "LocaGrid",
    "LocaMountainCar",
    "Lookahead",
    "Lottery",
    "Model",
    "MountainCar",
    "NStepExpectation",
    "NetworkExpectation",
    "NetworkValues",
    "OneHot",
    "OneStep",
    "Option",
    "Outside",
    "PartError",
    "PlanningAgent",
    "PlanningOnly",
    "PrioritizedPairs",
    "PrioritizedSweeping",
    "QLearning",
    "QPlanning",
    "RVIQLearning",
    "RandomBinary",
    "RecencyReplay",
    "Repertoire",
    "Replay",
    "Result",
    "RewardRespecting",
    "RiverSwim",
    "Rooms",
    "RowSweeping",
    "Sample",
    "Sarsa",
    "SeenPairs",
    "SeenStates",
    "Shape",
    "ShortcutMaze",
    "ShortestPath",
    "SingleFeatures",
    "Site",
    "SparseExpectation",
    "StateSampler",
    "Sweep",
    "TableOption",
    "Tiles",
    "Traces",
    "Trajectory",
    "TransientChain",
    "TrueModel",
    "TwoChoice",
    "TwoRooms",
    "WorldError",
    "agents",
    "analysis",
    "backups",
    "bounds_of",
    "check",
    "compare",
    "description",
    "diagnostics",
    "evaluate",
    "exact",
    "extend",
    "lanes",
    "look_as",
    "measure",
    "models",
    "option",
    "options",
    "plot",
    "quick_check",
    "register",
    "rules",
    "run",
    "step_sizes",
    "under_policy",
    "updates",
    "verbs",
    "watch",
]

__version__ = VERSION


# What needs heavy libraries is imported when it is first used.
_LATER = {
    "Sweep": "expectant.lab.sweep",
    "look_as": "expectant.lab.looks",
    "measure": "expectant.lab.measures",
    "quick_check": "expectant.lab.quick_check",
    "watch": "expectant.watching.animate",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    if name == "diagnostics":
        return importlib.import_module("expectant.diagnostics")
    raise AttributeError(f"module 'expectant' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names and nothing else: what completion and ``dir`` show."""
    return sorted(__all__)
