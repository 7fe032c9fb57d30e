"""Everything that authors of components import, in one place: ``from expectant import extend``.

Base classes and declarations to configure a component, verbs to implement, and the small compiled
functions that the package's own parts are made of. Each module lists its names in ``__all__``;
docs/own-parts.md says which of them each kind of component needs.
"""

# ruff: noqa: F403, PLC0414
from typing import Any

from expectant import parts, step_sizes, updates
from expectant import rules as rules
from expectant.agents import acting, centering, planner, planning_agent, planning_update
from expectant.agents.acting import *
from expectant.agents.centering import *
from expectant.agents.planner import *
from expectant.agents.planning_agent import *
from expectant.agents.planning_update import *
from expectant.core import config, verbs
from expectant.core.config import *
from expectant.core.verbs import *
from expectant.engine.trial import mistakes
from expectant.engine.trial.mistakes import *
from expectant.features import vector
from expectant.features.vector import *
from expectant.parts import *
from expectant.step_sizes import *
from expectant.updates import *

__all__: list[str] = ["look_as", "measure", "rules"]  # noqa: F405
__all__ += acting.__all__
__all__ += centering.__all__
__all__ += config.__all__
__all__ += mistakes.__all__
__all__ += parts.__all__
__all__ += planner.__all__
__all__ += planning_agent.__all__
__all__ += planning_update.__all__
__all__ += step_sizes.__all__
__all__ += updates.__all__
__all__ += vector.__all__
__all__ += verbs.__all__


def __getattr__(name: str) -> Any:
    """Import what belongs to experiments when it is first used."""
    if name == "look_as":
        from expectant.lab.looks import look_as

        return look_as
    if name == "measure":
        from expectant.lab.measures import measure

        return measure
    raise AttributeError(f"module 'expectant.extend' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, which completion shows."""
    return sorted(__all__)
