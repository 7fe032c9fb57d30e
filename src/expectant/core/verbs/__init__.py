"""Verbs: the functions that parts implement, grouped by kind of component.

A *part* is a ``NamedTuple`` of arrays and numbers. A *verb* has one implementation per part type
and dispatches on the type of its first argument (:mod:`expectant.core.dispatch`)::

    class Constant(NamedTuple):
        reward: float

    @backed_up_value.register(Constant)
    def _(model, state, action, weights, discount):
        return model.reward

Each module lists the verbs that a kind must implement first, then the optional ones, whose own body
is the default. Verbs declared with ``@plain`` are called from Python only, all others also from
compiled code.

Shape letters in docstrings: d features, D the same padded to a multiple of eight, k active
features, A actions, S states of a finite MDP, O outcomes of a state and action, P phases.
"""

# ruff: noqa: F403
from expectant.core.dispatch import Verb, delegate, function, optional, plain, verb
from expectant.core.verbs import agent, backups, domain, features, model, step_size
from expectant.core.verbs.agent import *
from expectant.core.verbs.backups import *
from expectant.core.verbs.domain import *
from expectant.core.verbs.features import *
from expectant.core.verbs.model import *
from expectant.core.verbs.step_size import *

__all__ = ["Verb", "delegate", "function", "optional", "plain", "verb"]
__all__ += domain.__all__
__all__ += features.__all__
__all__ += model.__all__
__all__ += step_size.__all__
__all__ += backups.__all__
__all__ += agent.__all__
