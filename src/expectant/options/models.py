"""Models of options: linear, learned off-policy; universal; and exact ones of a finite MDP.

Each has b_o, r̂ = b_oᵀs ≈ E[Σ_{k<K} γᵏR], and F_o, n̂ = F_o s ≈ E[γᴷ S_K], with the discount inside.
Learned ones learn within the option, at every step that the option could have taken (Sutton, Precup
& Singh 1999): many at once from one stream.

Universal models (Yao et al. 2014) keep rewards apart: U_o s ≈ E[Σ_{k<K} γᵏ S_k] does not depend on
them. With θ_o the weights of the reward that a step of the option is expected to pay,
r̂ = θ_oᵀ U_o s: if rewards change, only θ_o has to be learned again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import BuildContext
from expectant.core.memory import zeros
from expectant.core.reductions import add_to_row, dot_row
from expectant.core.updates import (
    add_columns,
    bound_trace,
    clear_trace,
    enter_trace,
    follow_trace,
    leave_trace,
    move,
)
from expectant.core.vectors import add, dense, dot, empty_state
from expectant.core.verbs import (
    add_expected,
    backed_up_value,
    begin,
    delegate,
    dot_through,
    duration,
    fit_options,
    function,
    load,
    policy_of,
    sample_next,
    stop_of,
)
from expectant.domains.finite import phase_array, require_mdp
from expectant.exact.options import option_durations, option_model
from expectant.features.discrete import feature_table
from expectant.models.expectation import ExactPart, row_of


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
def move_rows(rows, option, trace, work, step):
    """F_o += α δ eᵀ with the errors δ in ``work``, a row for every feature in the trace."""
    for j in range(rows.shape[1]):
        if trace[j] != 0.0:
            add_to_row(rows, option, j, step * trace[j], work[0])


@function
def predict_error(models, rows, option, transition, stopping, discount):
    """Write δ_n = γ(β s' + (1 − β) F_o s') − F_o s into the scratch row; returns its square."""
    work, alive = models.work, transition.alive
    clear_trace(work[0])
    add_columns(rows, option, transition.state, work[0], -1.0)
    add(transition.next_state, work[0], discount * alive * stopping)
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


@sample_next.register(LinearOptionsPart)
def _(models, state, option, successor):
    clear_trace(models.work[0])
    add_columns(models.rows, option, state, models.work[0], 1.0)
    for i in range(successor.values.shape[0]):
        successor.values[i] = models.work[0, i]
    return 1.0


@begin.register(LinearOptionsPart)
def _(models, state, rng):
    for option in range(models.traces.shape[0]):
        clear_trace(models.traces[option])


class UniversalOptionsPart(NamedTuple):
    """``linear`` has F_o, durations and traces; ``visits`` (n, d, D) holds column j of U_o as row
    j, ``pays`` (n, D) are the θ_o."""

    linear: LinearOptionsPart
    visits: np.ndarray
    pays: np.ndarray


delegate(UniversalOptionsPart, "linear", add_expected, duration, sample_next, begin)


@function
def visit_error(linear, visits, option, transition, stopping, discount):
    """Write δ_u = s + γ(1 − β) U_o s' − U_o s into the scratch row; returns its square."""
    work, going_on = linear.work, discount * transition.alive * (1.0 - stopping)
    clear_trace(work[0])
    add(transition.state, work[0], 1.0)
    add_columns(visits, option, transition.state, work[0], -1.0)
    add_columns(visits, option, transition.next_state, work[0], going_on)
    return dot_row(work, 0, work[0])


@function
def reward_step(linear, state, ratio):
    """α ρ for θ_o, short enough not to overshoot where updates are bounded."""
    step, length = linear.step * ratio, 0.0
    if linear.bounded:
        clear_trace(linear.work[0])
        add(state, linear.work[0], 1.0)
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


def learned_models(
    count: int, size: int, width: int, actions: int, step: float, trace: float, bounded: bool,
    *, universal: bool,
) -> LinearOptionsPart | UniversalOptionsPart:  # fmt: skip
    """Models of so many options that know nothing yet."""
    rewards, durations, traces = (zeros((count, width)) for _ in range(3))
    rows = zeros((count, size, width))
    linear = LinearOptionsPart(
        rewards, rows, durations, traces, zeros((1, width)), zeros(actions), step, trace, bounded
    )
    if not universal:
        return linear
    return UniversalOptionsPart(linear, zeros(rows.shape), zeros(rewards.shape))


OWNER = "OptionSet: models='exact'"


class ExactOptionsPart(NamedTuple):
    """``model`` has r̂ and n̂ as if options were actions, ``durations`` (P·S·n,) are E[Σ γᵏ]."""

    model: ExactPart
    durations: np.ndarray


delegate(ExactOptionsPart, "model", add_expected)


@backed_up_value.register(ExactOptionsPart)
def _(models, state, option, weights, discount):
    """r̂ + wᵀn̂: the discount is inside."""
    return backed_up_value(models.model, state, option, weights, 1.0)


@duration.register(ExactOptionsPart)
def _(models, state, option):
    return models.durations[row_of(models.model, state, option)]


def exact_models(
    options: object, count: int, context: BuildContext, discount: float
) -> ExactOptionsPart:
    """The models of so many options in all phases, with the discount inside."""
    mdp = require_mdp(context, OWNER)
    policies, stops, vectors = _written_out(options, count, mdp.states, context)
    expected = zeros((mdp.phases, mdp.states, count, context.width))
    rewards, durations = zeros(expected.shape[:3]), zeros(expected.shape[:3])
    for phase in range(mdp.phases):
        for option in range(count):
            given = mdp, policies[option], stops[option], discount
            found = option_model(*given, phase=phase)
            durations[phase, :, option] = option_durations(*given, phase=phase)
            rewards[phase, :, option] = found[0]
            expected[phase, :, option] = found[1] @ vectors
    model = ExactPart(
        expected.reshape(-1, context.width),
        rewards.ravel(),
        mdp.states,
        count,
        phase_array(context),
    )
    return ExactOptionsPart(model, durations.ravel())


def _written_out(
    options: object, count: int, states: int, context: BuildContext
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Policies (n, S, A) and stopping (n, S) in every state, and the states' features (S, D)."""
    table, state = feature_table(context), empty_state(context.shape)
    policies = zeros((count, states, context.actions))
    stops, vectors = zeros((count, states)), zeros((states, context.width))
    for number in range(states):
        load(table, number, state)
        vectors[number] = dense(state, context.width)
        for option in range(count):
            policy_of(options, option, state, policies[option, number])
            stops[option, number] = stop_of(options, option, state)
    return policies, stops, vectors
