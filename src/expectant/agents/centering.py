"""Rewards measured against their own mean: differential and centred learning, with one estimate.

δ = R − R̄ + γ · next − now, and R̄ ← R̄ + η α δ (Wan, Naik & Sutton 2021; Naik, Wan, Tomar & Sutton
2024). With γ = 1 and η > 0 that is differential learning, which maximises the reward of a step;
with γ < 1 it is reward centring; with η = 0 R̄ stays 0 and nothing is different.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.vectors import Transition
from expectant.core.verbs import function, mean_rate

__all__ = [
    "CenteringPart",
    "centered",
    "centering_part",
    "shift_rate",
]


class CenteringPart(NamedTuple):
    """``rate`` (1,) is R̄; ``real`` and ``planned`` are η for updates of either kind, or 0."""

    rate: np.ndarray
    real: float
    planned: float


def centering_part(centering: float, learn_from_real_steps: bool = True) -> CenteringPart:
    """Build the estimate R̄, which every update of values moves."""
    return CenteringPart(np.zeros(1), centering if learn_from_real_steps else 0.0, centering)


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
