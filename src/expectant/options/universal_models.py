"""Universal option models (Yao et al. 2014): which states an option goes through, rewards apart.

U_o s ≈ E[Σ_{k<K} γᵏ S_k] does not depend on rewards. With θ_o the weights of the reward that a step
of the option is expected to pay, r̂ = θ_oᵀ U_o s: if rewards change, only θ_o has to be learned
again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import zeros
from expectant.lanes import dot_row
from expectant.options.learned_models import (
    LinearOptionsPart,
    add_state,
    clear_work,
    extend_trace,
    fade_trace,
    linear_models,
    move_option,
    move_rows,
    ratio_of,
    stopping_at,
)
from expectant.updates import add_columns, clear_trace, move
from expectant.verbs import (
    add_expected,
    backed_up_value,
    begin,
    dot_through,
    duration,
    fit_options,
    function,
    imagine,
    pass_on,
)


class UniversalOptionsPart(NamedTuple):
    """``linear`` has F_o, durations and traces; ``visits`` (n, d, D) holds column j of U_o as row
    j, ``pays`` (n, D) are the θ_o."""

    linear: LinearOptionsPart
    visits: np.ndarray
    pays: np.ndarray


pass_on(UniversalOptionsPart, "linear", add_expected, duration, imagine, begin)


@function
def visit_error(linear, visits, option, transition, stopping, discount):
    """Write δ_u = s + γ(1 − β) U_o s' − U_o s into the scratch row; returns its square."""
    work, going_on = linear.work, discount * transition.alive * (1.0 - stopping)
    clear_work(work)
    add_state(transition.state, work, 1.0)
    add_columns(visits, option, transition.state, work[0], -1.0)
    add_columns(visits, option, transition.next_state, work[0], going_on)
    return dot_row(work, 0, work[0])


@function
def reward_step(linear, state, ratio):
    """α ρ for θ_o, short enough not to overshoot where updates are bounded."""
    step, length = linear.step * ratio, 0.0
    if linear.bounded:
        clear_work(linear.work)
        add_state(state, linear.work, 1.0)
        length = step * dot_row(linear.work, 0, linear.work[0])
    return step / length if length > 1.0 else step


@fit_options.register(UniversalOptionsPart)
def _(models, options, transition, behaviour, discount):
    """θ_o from the step alone; F_o, U_o and the duration along one trace."""
    linear, visits, errors = models.linear, models.visits, 0.0
    for option in range(visits.shape[0]):
        ratio = ratio_of(linear, options, option, transition, behaviour)
        if ratio == 0.0:
            clear_trace(linear.traces[option])
            continue
        stopping = stopping_at(options, option, transition)
        step = reward_step(linear, transition.state, ratio)
        errors += abs(move(models.pays[option], transition.state, transition.reward, step))
        extend_trace(linear, option, transition.state, ratio)
        errors += ratio * move_option(linear, option, transition, stopping, discount)
        errors += visit_error(linear, visits, option, transition, stopping, discount)
        move_rows(visits, option, linear.traces[option], linear.work, linear.step)
        fade_trace(linear, option, transition, stopping, discount)
    return errors


@backed_up_value.register(UniversalOptionsPart)
def _(models, state, option, weights, discount):
    """θ_oᵀ U_o s + wᵀ F_o s."""
    earned = dot_through(state, models.visits, option, models.pays[option])
    return earned + dot_through(state, models.linear.rows, option, weights)


def universal_models(
    count: int, size: int, width: int, actions: int, step: float, trace: float, bounded: bool
) -> UniversalOptionsPart:
    """Universal models of so many options that know nothing yet."""
    return UniversalOptionsPart(
        linear_models(count, size, width, actions, step, trace, bounded),
        zeros((count, size, width)),
        zeros((count, width)),
    )
