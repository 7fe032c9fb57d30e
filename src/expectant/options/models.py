"""Models of options: learned linear ones, and exact ones of a finite MDP.

A model is b_o, r̂ = b_oᵀs ≈ E[Σ_{k<K} γᵏR], and F_o, n̂ = F_o s ≈ E[γᴷ S_K]; both contain the
discount. Learned models use intra-option learning (Sutton, Precup & Singh 1999): every step teaches
all options that could have taken it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core import verbs
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
)
from expectant.core.vectors import add, dense, dot, empty_state
from expectant.core.verbs import delegate, function
from expectant.domains.finite import phase_array, require_mdp
from expectant.exact.options import option_durations, option_model
from expectant.features.discrete import feature_table
from expectant.models.expectation import ExactPart, row_of


class LinearOptionsPart(NamedTuple):
    """``rewards`` (n, D) are the b_o, ``rows`` (n, d, D) holds column j of F_o as row j.

    ``durations`` (n, D) are the weights of E[Σ_{k<K} γᵏ], ``traces`` (n, D) the e_o; ``work``
    (1, D) and ``probabilities`` (A,) are scratch. ``trace`` is λ; ``bounded``: no overshooting.
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
def write_state_error(models, option, transition, stopping, discount):
    """Write δ_n = γ(β s' + (1 − β) F_o s') − F_o s into scratch; returns |δ_n|²."""
    work, rows, alive = models.work, models.rows, transition.alive
    clear_trace(work[0])
    add_columns(rows, option, transition.state, work[0], -1.0)
    add(transition.next_state, work[0], discount * alive * stopping)
    add_columns(rows, option, transition.next_state, work[0], discount * alive * (1.0 - stopping))
    return dot_row(work, 0, work[0])


@function
def cumulant_error(weights, transition, cumulant, continuation):
    """δ = c + γ(1 − β) wᵀs' − wᵀs, where ``continuation`` is γ(1 − β)."""
    future = continuation * transition.alive * dot(transition.next_state, weights)
    return cumulant + future - dot(transition.state, weights)


@function
def move_option(models, option, transition, stopping, discount):
    """Move b_o, F_o and the duration by α δ e; returns the size of the errors."""
    trace, step, continuation = models.traces[option], models.step, discount * (1.0 - stopping)
    reward_error = cumulant_error(
        models.rewards[option], transition, transition.reward, continuation
    )
    duration_error = cumulant_error(models.durations[option], transition, 1.0, continuation)
    state_error = write_state_error(models, option, transition, stopping, discount)
    follow_trace(models.rewards[option], trace, step * reward_error)
    follow_trace(models.durations[option], trace, step * duration_error)
    for j in range(models.rows.shape[1]):
        if trace[j] != 0.0:
            add_to_row(models.rows, option, j, step * trace[j], models.work[0])
    return abs(reward_error) + state_error


@verbs.fit_options.register(LinearOptionsPart)
def _(models, options, transition, behaviour, discount):
    """e ← ρ(e + s), all weights move by α δ e, then e ← γλ(1 − β) e, for every option.

    ρ = π_o(a | s) / μ(a | s), and β = 1 at the end of the episode. A step that an option would not
    have taken (ρ = 0) clears its trace and teaches it nothing.
    """
    errors = 0.0
    for option in range(models.traces.shape[0]):
        trace = models.traces[option]
        verbs.policy_of(options, option, transition.state, models.probabilities)
        ratio = models.probabilities[transition.action] / behaviour[transition.action]
        if ratio == 0.0:
            clear_trace(trace)
            continue
        stopping = 1.0
        if transition.alive > 0.0:
            stopping = verbs.stop_of(options, option, transition.next_state)
        enter_trace(trace, transition.state, ratio)
        if models.bounded:
            bound_trace(trace, transition.state, models.step)
        errors += ratio * move_option(models, option, transition, stopping, discount)
        leave_trace(trace, discount * (1.0 - stopping) * transition.alive * models.trace)
    return errors


@verbs.backed_up_value.register(LinearOptionsPart)
def _(models, state, option, weights, discount):
    """b_oᵀ s + wᵀ F_o s, which contains the discount."""
    future = verbs.dot_through(state, models.rows, option, weights)
    return dot(state, models.rewards[option]) + future


@verbs.duration.register(LinearOptionsPart)
def _(models, state, option):
    return dot(state, models.durations[option])


@verbs.add_expected.register(LinearOptionsPart)
def _(models, state, option, weights, amount):
    add_columns(models.rows, option, state, weights, amount)


@verbs.sample_next.register(LinearOptionsPart)
def _(models, state, option, successor):
    clear_trace(models.work[0])
    add_columns(models.rows, option, state, models.work[0], 1.0)
    for i in range(successor.values.shape[0]):
        successor.values[i] = models.work[0, i]
    return 1.0


@verbs.begin.register(LinearOptionsPart)
def _(models, state, rng):
    for option in range(models.traces.shape[0]):
        clear_trace(models.traces[option])


def build_learned_models(
    count: int, context: BuildContext, step: float, trace: float, bounded: bool
) -> LinearOptionsPart:
    """Build untrained models of ``count`` options."""
    width = context.width
    return LinearOptionsPart(
        rewards=zeros((count, width)),
        rows=zeros((count, context.shape.size, width)),
        durations=zeros((count, width)),
        traces=zeros((count, width)),
        work=zeros((1, width)),
        probabilities=zeros(context.actions),
        step=step,
        trace=trace,
        bounded=bounded,
    )


class ExactOptionsPart(NamedTuple):
    """``model`` has r̂ and n̂, options in place of actions; ``durations`` (P·S·n,) are E[Σ γᵏ]."""

    model: ExactPart
    durations: np.ndarray


delegate(ExactOptionsPart, "model", verbs.add_expected)


@verbs.backed_up_value.register(ExactOptionsPart)
def _(models, state, option, weights, discount):
    """r̂ + wᵀn̂, which contains the discount."""
    return verbs.backed_up_value(models.model, state, option, weights, 1.0)


@verbs.duration.register(ExactOptionsPart)
def _(models, state, option):
    return models.durations[row_of(models.model, state, option)]


def build_exact_models(options: object, count: int, context: BuildContext) -> ExactOptionsPart:
    """Compute the models of ``count`` options in all phases."""
    mdp = require_mdp(context, "OptionSet: models='exact'")
    policies, stops, features = _tabulate(options, count, mdp.states, context)
    expected = zeros((mdp.phases, mdp.states, count, context.width))
    rewards, durations = zeros(expected.shape[:3]), zeros(expected.shape[:3])
    for phase in range(mdp.phases):
        for option in range(count):
            problem = mdp, policies[option], stops[option], context.discount
            reward, next_states = option_model(*problem, phase=phase)
            durations[phase, :, option] = option_durations(*problem, phase=phase)
            rewards[phase, :, option] = reward
            expected[phase, :, option] = next_states @ features
    model = ExactPart(
        expected.reshape(-1, context.width),
        np.ones(rewards.size),
        rewards.ravel(),
        mdp.states,
        count,
        phase_array(context),
    )
    return ExactOptionsPart(model, durations.ravel())


def _tabulate(
    options: object, count: int, states: int, context: BuildContext
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return policies (n, S, A), stop probabilities (n, S) and features (S, D) of all states."""
    table, state = feature_table(context), empty_state(context.shape)
    policies = zeros((count, states, context.actions))
    stops, features = zeros((count, states)), zeros((states, context.width))
    for number in range(states):
        verbs.load(table, number, state)
        features[number] = dense(state, context.width)
        for option in range(count):
            verbs.policy_of(options, option, state, policies[option, number])
            stops[option, number] = verbs.stop_of(options, option, state)
    return policies, stops, features
