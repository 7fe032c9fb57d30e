"""A bonus for what has not been tried for long, on top of what any model promises.

Dyna-Q+ (Sutton 1990; S&B section 8.3) adds κ√τ to a planned reward, τ being how many steps ago that
action was last tried in that state. Here τ is kept for every action and feature, and √τ averaged
over the features of a state by the size of their values: with one-hot features that is Dyna-Q+.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from expectant.core.memory import zeros
from expectant.parts import Site
from expectant.verbs import (
    add_expected,
    answering,
    backed_up_action_value,
    backed_up_value,
    begin,
    break_off,
    fit,
    follow,
    foresee,
    function,
    imagine,
    index,
    notice,
    pass_on,
    size,
    value,
)


class CuriousPart(NamedTuple):
    """``model`` is any model, ``bonus`` κ; ``tried`` (A, D) says in which step an action was last
    tried with a feature, ``clock`` (1,) which step it is."""

    model: object
    tried: np.ndarray
    clock: np.ndarray
    bonus: float


pass_on(
    CuriousPart, "model", fit, add_expected, foresee, imagine, follow, begin, break_off, answering
)


@function
def bonus_for(curious, state, action):
    """κ times the mean √τ of the features of a state."""
    total, weight = 0.0, 0.0
    for n in range(size(state)):
        since = float(curious.clock[0] - curious.tried[action, index(state, n)])
        total += abs(value(state, n)) * math.sqrt(since)
        weight += abs(value(state, n))
    return curious.bonus * total / weight if weight > 0.0 else 0.0


@notice.register(CuriousPart)
def _(curious, transition):
    """Another step has passed, in which one action was tried with some features."""
    curious.clock[0] += 1
    for n in range(size(transition.state)):
        if value(transition.state, n) != 0.0:
            curious.tried[transition.action, index(transition.state, n)] = curious.clock[0]
    notice(curious.model, transition)


@backed_up_value.register(CuriousPart)
def _(curious, state, action, weights, discount):
    promised = backed_up_value(curious.model, state, action, weights, discount)
    return promised + bonus_for(curious, state, action)


@backed_up_action_value.register(CuriousPart)
def _(curious, state, action, weights, discount):
    promised = backed_up_action_value(curious.model, state, action, weights, discount)
    return promised + bonus_for(curious, state, action)


def curious(model: object, site: Site, bonus: float) -> CuriousPart:
    """Add a bonus to what a model promises."""
    tried = zeros((site.actions, site.width), np.int64)
    return CuriousPart(model, tried, np.zeros(1, np.int64), bonus)
