"""Looking ahead by a mean with values that are not linear: v̂(s̄), which E[v̂(S')] need not be.

A model that knows means answers for weights (D,) by wᵀs̄ without writing s̄ out. Values of another
kind need s̄ itself, which its verb ``foresee`` writes; so this works around any such model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.features.vector import Weighted, empty_state, outlook
from expectant.parts import Shape, Site
from expectant.verbs import (
    answering,
    backed_up_value,
    begin,
    break_off,
    fit,
    foresee,
    imagine,
    notice,
    pass_on,
)


class AtMeanPart(NamedTuple):
    """``model`` knows means. ``mean`` is scratch for s̄, with all features in order and room for
    the padding; ``nothing`` (D,) is zero."""

    model: object
    mean: Weighted
    nothing: np.ndarray


pass_on(AtMeanPart, "model", answering, fit, notice, imagine, begin, break_off)


@backed_up_value.register(AtMeanPart)
def _(at_mean, state, action, weights, discount):
    """r(s, a) + γ v̂(s̄(s, a)); with a general episodic model r + γ (1 − β) v̂(ŝ), as EVI has it."""
    model, mean = at_mean.model, at_mean.mean
    reward = backed_up_value(model, state, action, at_mean.nothing, 0.0)
    alive = foresee(model, state, action, mean.values)
    return reward + discount * alive * outlook(weights, mean)


def at_mean(model: object, site: Site) -> AtMeanPart:
    """Let a model that knows means be asked with values of any kind."""
    mean = empty_state(_all_features(site))
    active = np.arange(site.shape.size)
    return AtMeanPart(
        model, Weighted(active, np.zeros(site.width), mean.place), np.zeros(site.width)
    )


def _all_features(site: Site) -> Shape:
    return Shape(site.shape.size, site.shape.size, True)
