"""Planning with expectation models for control: agents, domains and exact solutions, compiled.

>>> import expectant as ex
>>> ex.run(ex.Corridor(), ex.OneHot(), ex.Lookahead(), episodes=100).returns.shape
(30, 100)

Everything of a kind is listed in ``ex.agents``, ``ex.domains``, ``ex.features``, ``ex.models``,
``ex.backups``, ``ex.step_sizes`` and ``ex.options``; authors of components import from
``ex.extend``.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from expectant import (
    agents,
    analysis,
    backups,
    domains,
    exact,
    extend,
    features,
    models,
    options,
    step_sizes,
)
from expectant.agents import (
    CachedPolicy,
    CachedValues,
    DynaQ,
    ExpectedSarsa,
    Interpretation,
    Lookahead,
    QLearning,
    QPlanning,
    RVIQLearning,
    Sarsa,
)
from expectant.checks.check import check
from expectant.core import rules
from expectant.core.config import parameter
from expectant.core.errors import EnvError, PartError
from expectant.core.interfaces import Agent, Backups, Domain, Features, Model, Option
from expectant.domains import Corridor, Counterexample, FiniteMDP, Gym, MountainCar
from expectant.engine.evaluate import evaluate
from expectant.engine.learner import Learner
from expectant.engine.result import Result
from expectant.engine.run import run
from expectant.experiments.compare import compare
from expectant.features import Fourier, OneHot, RandomBinary, Tiles
from expectant.report.plot import plot
from expectant.version import VERSION

if TYPE_CHECKING:  # the same as _LATER
    from expectant.experiments.sweep import Sweep
    from expectant.experiments.try_environment import quick_check
    from expectant.report.animation import watch

__all__ = [
    "Agent", "Backups", "CachedPolicy", "CachedValues", "Corridor", "Counterexample", "Domain",
    "DynaQ", "EnvError", "ExpectedSarsa", "Features", "FiniteMDP", "Fourier", "Gym",
    "Interpretation", "Learner", "Lookahead", "Model", "MountainCar", "OneHot", "Option",
    "PartError", "QLearning", "QPlanning", "RVIQLearning", "RandomBinary", "Result", "Sarsa",
    "Sweep", "Tiles", "agents", "analysis", "backups", "check", "compare", "domains",
    "evaluate", "exact", "extend", "features", "models", "options", "parameter", "plot",
    "quick_check", "rules", "run", "step_sizes", "watch",
]  # fmt: skip

__version__ = VERSION

_LATER = {  # imported when first used, because they need heavy libraries
    "Sweep": "expectant.experiments.sweep",
    "quick_check": "expectant.experiments.try_environment",
    "watch": "expectant.report.animation",
}


def _list_public_names(module: ModuleType) -> None:
    """Let completion show the public names of a module only."""
    vars(module)["__dir__"] = lambda: sorted(module.__all__)


for _module in (
    agents, analysis, backups, domains, exact, features, models, options, rules, step_sizes,
):  # fmt: skip
    _list_public_names(_module)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(
        f"module 'expectant' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
    )


def __dir__() -> list[str]:
    return sorted(__all__)
