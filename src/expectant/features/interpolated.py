"""Features that interpolate between evenly spaced states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.features.table import numbered_states
from expectant.parts import Domain, Features, Shape
from expectant.rules import whole
from expectant.verbs import encode


class InterpolatedPart(NamedTuple):
    """``lower`` (S,) is the knot below every state, ``shares`` (S,) how near it is to the next."""

    lower: np.ndarray
    shares: np.ndarray


@encode.register(InterpolatedPart)
def _(features, observation, action, state):
    lower, share = features.lower[observation[0]], features.shares[observation[0]]
    state.active[0], state.values[0] = lower, 1.0 - share
    state.active[1], state.values[1] = lower + 1, share


@description
class Interpolated(Features):
    """``size`` features at evenly spaced states, from the first to the last; others share two.

    A state between two knots has them in proportion to how near it is to each, so that every
    function that is linear in the number of the state is linear in the features. On
    ``BoyanChain(length=13)`` four of them are Boyan's own.
    """

    size: int = option(whole(2))

    def validate_for(self, domain: Domain) -> int:
        """How many states the domain has; an error where they are too few."""
        states = numbered_states(domain, "Interpolated")
        if states < self.size:
            raise ValueError(
                f"Interpolated: size must be at most the {states} states of the domain, "
                f"got {self.size}"
            )
        return states

    def shape(self, domain: Domain) -> Shape:
        self.validate_for(domain)
        return Shape(self.size, 2, weighted=True)

    def build(self, domain: Domain, rng: np.random.Generator) -> InterpolatedPart:
        states = self.validate_for(domain)
        positions = np.arange(states) * (self.size - 1) / (states - 1)
        lower = np.minimum(positions.astype(np.int64), self.size - 2)
        return InterpolatedPart(lower, positions - lower)
