"""Average reward: rewards relative to a running estimate R̄ of their mean.

δ = R − R̄ + γ · next − now, and R̄ ← R̄ + η α δ (Wan, Naik & Sutton 2021; Naik, Wan, Tomar & Sutton
2024). With γ = 1 and η > 0 this is differential learning, which maximises the average reward; with
γ < 1 it is reward centering; with η = 0, R̄ stays 0 and nothing changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import BuildContext
from expectant.core.vectors import Transition
from expectant.core.verbs import function, mean_rate

__all__ = ["CenteringPart", "build_centering", "center_reward", "update_average_reward"]


class CenteringPart(NamedTuple):
    """``rate`` (1,) is R̄; ``real`` and ``planned`` are η of real and of planned updates."""

    rate: np.ndarray
    real: float
    planned: float


def build_centering(centering: float, context: BuildContext) -> CenteringPart:
    """Build the estimate R̄, which every update of the values moves."""
    real = centering if context.learn_from_real_steps else 0.0
    return CenteringPart(np.zeros(1), real, centering)


@function
def center_reward(centering, transition):
    """The transition with the reward R − R̄."""
    return Transition(
        transition.state,
        transition.action,
        transition.reward - centering.rate[0],
        transition.next_state,
        transition.alive,
        transition.outcome,
    )


@function
def update_average_reward(centering, eta, step, row, state, error):
    """R̄ ← R̄ + η α δ, where α is the mean step size of the state."""
    centering.rate[0] += eta * mean_rate(step, row, state) * error
