"""A linear zero-terminal expectation model fitted by least squares: a Kalman filter.

Gradient steps use each transition once and little of it. A filter keeps, per action, the covariance
of the weights, which decides how much to learn from a transition and about which features. It costs
O(d²) per fit and O(A d²) memory.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.memory import zeros
from expectant.core.reductions import dot_row
from expectant.core.rules import at_least, number, or_none
from expectant.core.updates import (
    add_process_noise,
    estimation_variance,
    follow_gain,
    shrink_covariance,
)
from expectant.core.verbs import (
    add_expected,
    backed_up_action_value,
    backed_up_value,
    delegate,
    fit,
    next_predecessor,
    predecessor,
    sample_next,
)
from expectant.models.expectation import LinearPart, initial_rewards, write_errors
from expectant.step_sizes.adaptive import POSITIVE

MAX_FEATURES = 4096


class KalmanPart(NamedTuple):
    """``linear`` predicts; ``covariance`` (A, d, D) are the C_a, ``gain`` (1, D) is scratch."""

    linear: LinearPart
    covariance: np.ndarray
    gain: np.ndarray
    process_noise: float
    prior: float


delegate(KalmanPart, "linear", backed_up_value, backed_up_action_value, add_expected, sample_next)
delegate(KalmanPart, "linear", next_predecessor, predecessor)


@fit.register(KalmanPart)
def _(model, transition):
    """One step of the filter, in every output: g = C s / (1 + sᵀC s)."""
    linear, covariance, gain = model.linear, model.covariance, model.gain
    state, action = transition.state, transition.action
    reward_error = write_errors(linear, transition)
    add_process_noise(covariance, action, state, model.process_noise, model.prior)
    variance = estimation_variance(covariance, action, state, gain)
    follow_gain(linear.rewards, linear.rows, action, gain, variance, reward_error, linear.work)
    shrink_covariance(covariance, action, gain, variance)
    return abs(reward_error) + dot_row(linear.work, 0, linear.work[0])


class KalmanExpectation(Model):
    """A linear zero-terminal expectation model that fits all data by least squares.

    Its weights start at s̄ = 0 and r = ``initial_reward`` (None: the agent's initial value) with
    variance ``prior`` per feature, in units of the variance of an outcome. They are believed to
    drift: ``process_noise`` is added to the variance of active features before every fit. With
    zero noise it is ridge regression with ridge 1 / ``prior``, and with one-hot features the sample
    average. It is never fitted to replayed transitions, which it has already taken into account. A
    fit costs O(d²), so at most 4,096 features are allowed.
    """

    memory_advice: ClassVar[str] = 'model="sparse" or fewer features (of tiles: hash_size=)'
    predicts_means: ClassVar[bool] = True
    rolls_out: ClassVar[str] = "means"
    linear: ClassVar[bool] = True
    weighs_data: ClassVar[bool] = True

    process_noise: float = parameter(
        at_least(0.0), default=0.001, meaning="variance added to active features in every fit"
    )
    prior: float = parameter(
        POSITIVE, default=1.0, meaning="initial variance of every weight: 1 / ridge"
    )
    initial_reward: float | None = parameter(or_none(number()), default=None, kw_only=True)

    def build(self, context: BuildContext) -> KalmanPart:
        size, shape = context.shape.size, (context.actions, context.shape.size, context.width)
        if size > MAX_FEATURES:
            raise ValueError(
                f"KalmanExpectation: allows {MAX_FEATURES:,} features, because a covariance has d² "
                f"entries, got {size:,}: use {self.memory_advice}"
            )
        covariance = zeros(shape)
        covariance[:, range(size), range(size)] = self.prior
        return KalmanPart(
            LinearPart(
                initial_rewards(self, context), zeros(shape), 0.0, zeros((1, context.width))
            ),
            covariance,
            zeros((1, context.width)),
            self.process_noise,
            self.prior,
        )
