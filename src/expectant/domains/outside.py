"""Worlds outside compiled code: observations come in, actions go out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.parts import Domain
from expectant.rules import Rule, or_none, whole
from expectant.verbs import observation


class OutsidePart(NamedTuple):
    """``received`` is the latest observation: the number of a state, or a vector."""

    received: np.ndarray


@observation.register(OutsidePart)
def _(domain):
    return domain.received


def _pairs(value: object) -> tuple[tuple[float, float], ...]:
    if not isinstance(value, Iterable):
        raise TypeError
    pairs = tuple((float(low), float(high)) for low, high in value)
    if not pairs or any(not low < high for low, high in pairs):
        raise ValueError
    return pairs


LIMITS = Rule("a list of (low, high) pairs, low below high", _pairs)


@description
class Outside(Domain):
    """A world that somebody else steps through: what a ``Learner`` knows of it.

    Its observations are numbers below ``n_states``, or vectors of ``components`` numbers, within
    ``limits`` where those are known.
    """

    n_actions: int = option(whole(1))
    n_states: int | None = option(or_none(whole(1)), default=None)
    limits: Sequence[tuple[float, float]] | None = option(or_none(LIMITS), default=None)
    components: int = option(whole(1), default=1)

    def validate(self) -> None:
        if self.limits is not None and len(self.limits) != self.components:
            raise ValueError(
                f"Outside: limits has {len(self.limits)} pairs, observations {self.components} "
                "components"
            )

    @property
    def actions(self) -> int:
        return self.n_actions

    @property
    def states(self) -> int | None:
        return self.n_states

    @property
    def bounds(self) -> tuple[tuple[float, float], ...] | None:
        return None if self.limits is None else tuple(self.limits)

    def build(self, rng: np.random.Generator) -> OutsidePart:
        dtype = np.float64 if self.n_states is None else np.int64
        return OutsidePart(np.zeros(self.components, dtype))
