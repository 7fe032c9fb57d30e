"""Every verb that a part can implement.

A *part* is a ``NamedTuple`` of arrays and numbers (a domain, a feature map, a model, a backup
distribution, an agent). A *verb* is a function with one implementation per part type, found by
the type of its first argument: by a dictionary in plain Python, at compile time under Numba.
Neither knows any part by name, so a part defined outside the package composes with the rest at
full speed::

    class Constant(NamedTuple):
        reward: float

    @backed_up_value.register(Constant)
    def _(model, state, action, weights, discount):
        return model.reward

Shape letters used in docstrings: d features, D the same padded to a multiple of eight, k active
features, A actions, S states of a finite MDP, O outcomes of a state and action, P phases.
"""

# ruff: noqa: F403
from expectant.core.dispatch import Verb, function, optional, plain, verb
from expectant.core.verbs import (
    agent,
    backups,
    domain,
    features,
    internal,
    model,
    option,
    step_size,
)
from expectant.core.verbs.agent import *
from expectant.core.verbs.backups import *
from expectant.core.verbs.domain import *
from expectant.core.verbs.features import *
from expectant.core.verbs.internal import *
from expectant.core.verbs.model import *
from expectant.core.verbs.option import *
from expectant.core.verbs.step_size import *

__all__ = ["Verb", "function", "optional", "plain", "verb"]
__all__ += domain.__all__
__all__ += features.__all__
__all__ += model.__all__
__all__ += option.__all__
__all__ += step_size.__all__
__all__ += backups.__all__
__all__ += agent.__all__
__all__ += internal.__all__
