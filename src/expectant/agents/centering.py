"""Rewards measured against their own mean: differential and centred learning, with one estimate.

δ = R − R̄ + γ · next − now, and R̄ ← R̄ + η α δ (Wan, Naik & Sutton 2021; Naik, Wan, Tomar & Sutton
2024). With γ = 1 and η > 0 that is differential learning, which maximises the reward of a step;
with γ < 1 it is reward centring; with η = 0 R̄ stays 0 and nothing is different.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.features.vector import Transition
from expectant.verbs import function, mean_rate

__all__ = [
    "CenteringPart",
    "centered",
    "centering_part",
    "shift_rate",
]

FROM = ("all", "real")


class CenteringPart(NamedTuple):
    """``rate`` (1,) is R̄; ``real`` and ``planned`` are η for updates of either kind, or 0."""

    rate: np.ndarray
    real: float
    planned: float


def centering_part(centering: float, direct: bool = True, source: str = "all") -> CenteringPart:
    """What moves R̄: all updates of values, or real steps only, even if they move no values."""
    real = centering if direct or source == "real" else 0.0
    return CenteringPart(np.zeros(1), real, centering if source == "all" else 0.0)


@function
def centered(centering, transition):
    """The same step with the reward R − R̄."""
    return Transition(
        transition.state,
        transition.action,
        transition.reward - centering.rate[0],
        transition.next_state,
        transition.alive,
        transition.outcome,
    )


@function
def shift_rate(centering, share, step, row, state, error):
    """R̄ ← R̄ + η α δ; ``share`` is one of the two η, α the mean step size of the state."""
    centering.rate[0] += share * mean_rate(step, row, state) * error
