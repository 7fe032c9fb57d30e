"""The one place to import from for authors of components: ``from expectant.extend import ...``.

It has base classes (:mod:`expectant.core.interfaces`), verbs to implement
(:mod:`expectant.core.verbs`) and the small compiled functions that the package's parts are made of.
docs/own-parts.md lists those that each kind of component needs.
"""

# ruff: noqa: F403
from typing import Any

from expectant import step_sizes
from expectant.agents import (
    action_selection,
    centering,
    planning_agent,
    planning_loop,
    planning_updates,
)
from expectant.agents.action_selection import *
from expectant.agents.centering import *
from expectant.agents.planning_agent import *
from expectant.agents.planning_loop import *
from expectant.agents.planning_updates import *
from expectant.core import config, errors, interfaces, rules, updates, vectors, verbs
from expectant.core.config import *
from expectant.core.errors import *
from expectant.core.interfaces import *
from expectant.core.updates import *
from expectant.core.vectors import *
from expectant.core.verbs import *
from expectant.step_sizes import *

__all__: list[str] = ["register_metric", "register_probe", "rules"]  # noqa: F405
for module in (
    action_selection, centering, config, errors, interfaces, planning_agent, planning_loop,
    planning_updates, step_sizes, updates, vectors, verbs,
):  # fmt: skip
    __all__ += module.__all__


def __getattr__(name: str) -> Any:
    """Import names of experiments when they are first used."""
    if name == "register_probe":
        from expectant.experiments.probes import register_probe

        return register_probe
    if name == "register_metric":
        from expectant.experiments.metrics import register_metric

        return register_metric
    raise AttributeError(f"module 'expectant.extend' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, which completion shows."""
    return sorted(__all__)
