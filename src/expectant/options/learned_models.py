"""Linear expectation models of options, learned off-policy from what the agent does.

Each has b_o, r̂ = b_oᵀs ≈ E[Σ_{k<K} γᵏR], and F_o, n̂ = F_o s ≈ E[γᴷ S_K], with the discount inside.
They learn within the option, at every step that the option could have taken (Sutton, Precup &
Singh 1999): many at once from one stream.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import zeros
from expectant.features.vector import dot
from expectant.lanes import add_to_row, dot_row
from expectant.updates import (
    add_columns,
    bound_trace,
    clear_trace,
    enter_trace,
    follow_trace,
    leave_trace,
)
from expectant.verbs import (
    add_expected,
    backed_up_value,
    begin,
    dot_through,
    duration,
    fit_options,
    function,
    imagine,
    index,
    policy_of,
    size,
    stop_of,
    value,
)


class LinearOptionsPart(NamedTuple):
    """``rewards`` (n, D) are the b_o, ``rows`` (n, d, D) holds column j of F_o as row j.

    ``durations`` (n, D) are weights of E[Σ_{k<K} γᵏ], ``traces`` (n, D) the e_o; ``work`` (1, D)
    and ``probabilities`` (A,) are scratch. ``trace`` is λ; ``bounded``: no update overshoots.
    """

    rewards: np.ndarray
    rows: np.ndarray
    durations: np.ndarray
    traces: np.ndarray
    work: np.ndarray
    probabilities: np.ndarray
    step: float
    trace: float
    bounded: bool


@function
def add_state(state, work, amount):
    """work += amount · s."""
    for n in range(size(state)):
        work[0, index(state, n)] += amount * value(state, n)


@function
def clear_work(work):
    for i in range(work.shape[1]):
        work[0, i] = 0.0


@function
def move_rows(rows, option, trace, work, step):
    """F_o += α δ eᵀ with the errors δ in ``work``, a row for every feature in the trace."""
    for j in range(rows.shape[1]):
        if trace[j] != 0.0:
            add_to_row(rows, option, j, step * trace[j], work[0])


@function
def predict_error(models, rows, option, transition, stopping, discount):
    """Write δ_n = γ(β s' + (1 − β) F_o s') − F_o s into the scratch row; returns its square."""
    work, alive = models.work, transition.alive
    clear_work(work)
    add_columns(rows, option, transition.state, work[0], -1.0)
    add_state(transition.next_state, work, discount * alive * stopping)
    add_columns(rows, option, transition.next_state, work[0], discount * alive * (1.0 - stopping))
    return dot_row(work, 0, work[0])


@function
def cumulant_error(weights, transition, cumulant, going_on):
    """δ = c + γ(1 − β) wᵀs' − wᵀs, ``going_on`` being γ(1 − β)."""
    future = going_on * transition.alive * dot(transition.next_state, weights)
    return cumulant + future - dot(transition.state, weights)


@function
def extend_trace(models, option, state, ratio):
    """e ← ρ(e + s), cut short where an update would overshoot."""
    enter_trace(models.traces[option], state, ratio)
    if models.bounded:
        bound_trace(models.traces[option], state, models.step)


@function
def move_option(models, option, transition, stopping, discount):
    """b_o, F_o and the duration move by α δ e; returns the size of the errors."""
    trace, step, going_on = models.traces[option], models.step, discount * (1.0 - stopping)
    surprise = cumulant_error(models.rewards[option], transition, transition.reward, going_on)
    late = cumulant_error(models.durations[option], transition, 1.0, going_on)
    wrong = predict_error(models, models.rows, option, transition, stopping, discount)
    follow_trace(models.rewards[option], trace, step * surprise)
    follow_trace(models.durations[option], trace, step * late)
    move_rows(models.rows, option, trace, models.work, step)
    return abs(surprise) + wrong


@function
def fade_trace(models, option, transition, stopping, discount):
    """e ← γλ(1 − β) e."""
    decay = discount * (1.0 - stopping) * transition.alive * models.trace
    leave_trace(models.traces[option], decay)


@function
def ratio_of(models, options, option, transition, behaviour):
    """ρ = π_o(a | s) / μ(a | s)."""
    policy_of(options, option, transition.state, models.probabilities)
    return models.probabilities[transition.action] / behaviour[transition.action]


@function
def stopping_at(options, option, transition):
    """β where a step has led: 1 at the end of the episode."""
    if transition.alive == 0.0:
        return 1.0
    return stop_of(options, option, transition.next_state)


@fit_options.register(LinearOptionsPart)
def _(models, options, transition, behaviour, discount):
    """One intra-option step for every option, at which β = 1 where the episode ends.

    e ← ρ(e + s), all weights move by α δ e, then e ← γλ(1 − β) e. A step that an option would not
    have taken (ρ = 0) ends its trace and teaches it nothing.
    """
    errors = 0.0
    for option in range(models.traces.shape[0]):
        ratio = ratio_of(models, options, option, transition, behaviour)
        if ratio == 0.0:
            clear_trace(models.traces[option])
            continue
        stopping = stopping_at(options, option, transition)
        extend_trace(models, option, transition.state, ratio)
        errors += ratio * move_option(models, option, transition, stopping, discount)
        fade_trace(models, option, transition, stopping, discount)
    return errors


@backed_up_value.register(LinearOptionsPart)
def _(models, state, option, weights, discount):
    """b_oᵀ s + wᵀ F_o s: the discount is inside."""
    future = dot_through(state, models.rows, option, weights)
    return dot(state, models.rewards[option]) + future


@duration.register(LinearOptionsPart)
def _(models, state, option):
    return dot(state, models.durations[option])


@add_expected.register(LinearOptionsPart)
def _(models, state, option, weights, amount):
    add_columns(models.rows, option, state, weights, amount)


@imagine.register(LinearOptionsPart)
def _(models, state, option, successor):
    clear_work(models.work)
    add_columns(models.rows, option, state, models.work[0], 1.0)
    for i in range(successor.values.shape[0]):
        successor.values[i] = models.work[0, i]
    return 1.0


@begin.register(LinearOptionsPart)
def _(models, state, rng):
    for option in range(models.traces.shape[0]):
        clear_trace(models.traces[option])


def linear_models(
    count: int, size: int, width: int, actions: int, step: float, trace: float, bounded: bool
) -> LinearOptionsPart:
    """Models of so many options that know nothing yet."""
    return LinearOptionsPart(
        zeros((count, width)),
        zeros((count, size, width)),
        zeros((count, width)),
        zeros((count, width)),
        zeros((1, width)),
        zeros(actions),
        step,
        trace,
        bounded,
    )
