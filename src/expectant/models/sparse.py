"""A linear zero-terminal expectation model with sparse columns.

Few entries of a column of F_a matter: the features that can follow feature j. An entry is stored
once its error has exceeded a threshold, so a fit or a look-ahead costs O(k c) for c entries per
column, and memory is O(A d c). Dense columns cost O(k d) and O(A d²).
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core import tree
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.reductions import dot_row
from expectant.core.rules import at_least, number, or_none, whole
from expectant.core.vectors import dot
from expectant.core.verbs import (
    adapt_listed,
    add_expected,
    backed_up_action_value,
    backed_up_value,
    fit,
    function,
    index,
    next_predecessor,
    predecessor,
    rate,
    sample_next,
    size,
    value,
)
from expectant.models.expectation import initial_rewards, max_dot
from expectant.models.sparse_columns import (
    CHUNK,
    EVICTED,
    STAMP,
    ColumnsPart,
    add_column,
    clear_sum,
    dot_column,
    dot_traces,
    empty_columns,
    new_stamp,
    sum_column,
    touch,
    update_column,
    update_traces,
)
from expectant.step_sizes import StepSize, as_step_size, step_size
from expectant.step_sizes.adaptive import AdaptivePart, adapt_rate, bound_rates


class SparsePart(NamedTuple):
    """``rewards`` (A, D) are the b_a; block a of ``columns`` is F_a."""

    rewards: np.ndarray
    columns: ColumnsPart
    step: object
    threshold: float


@function
def sum_expected(model, state, action):
    """Sum s̄(s, a) in the scratch row; returns its number of features."""
    stamp, count = new_stamp(model.columns), 0
    for n in range(size(state)):
        x = value(state, n)
        if x != 0.0:  # most values of a mean state are zero
            count = sum_column(model.columns, action, index(state, n), x, stamp, count)
    return count


@function
def dot_expected(model, state, action, weights):
    """wᵀ F_a s, column by column; with threshold 0 in the order of the dense model's sum."""
    if model.threshold == 0.0:
        count = sum_expected(model, state, action)
        total = dot_row(model.columns.work, 0, weights)
        clear_sum(model.columns, count)
        return total
    total = 0.0
    for n in range(size(state)):
        x = value(state, n)
        if x != 0.0:
            total += x * dot_column(model.columns, action, index(state, n), weights)
    return total


@function
def subtract_expected(columns, next_state, alive, count):
    """Turn s̄ in the scratch row into the error s' − s̄; returns its number of features."""
    work, stamp = columns.work, columns.tally[STAMP]
    for t in range(count):
        i = columns.touched[t]
        work[0, i] = -work[0, i]
    for n in range(size(next_state)):
        i = index(next_state, n)
        count = touch(columns, i, stamp, count)
        work[0, i] += alive * value(next_state, n)
    return count


@function
def put_large_first(columns, threshold, count):
    """Move features with errors above the threshold first; returns their number and ‖error‖²."""
    large, total, touched = 0, 0.0, columns.touched
    for t in range(count):
        i = touched[t]
        error = columns.work[0, i]
        total += error * error
        if abs(error) > threshold:
            touched[t] = touched[large]
            touched[large] = i
            large += 1
    return large, total


@fit.register(SparsePart)
def _(model, transition):
    """The linear model's gradient step, on stored entries and new ones."""
    state, action, columns = transition.state, transition.action, model.columns
    reward_error = transition.reward - dot(state, model.rewards[action])
    count = sum_expected(model, state, action)
    count = subtract_expected(columns, transition.next_state, transition.alive, count)
    large, squares = put_large_first(columns, model.threshold, count)
    adapt_listed(model.step, columns, action, state, reward_error)
    for n in range(size(state)):
        j, change = index(state, n), rate(model.step, action, state, n) * value(state, n)
        if change != 0.0:
            model.rewards[action, j] += change * reward_error
            update_column(columns, action, j, change, large)
    clear_sum(columns, count)
    return abs(reward_error) + squares


@adapt_listed.register(AdaptivePart)
def _(step, columns, action, state, reward_error):
    """As for dense columns: the slope of α_j is x_j (Σ_i e_i h_ij + e_r h_rj), over j's entries."""
    rewards = step.traces
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        slope = reward_error * rewards[action, j] + dot_traces(columns, action, j)
        adapt_rate(step, action, j, x, x * slope)
    bound_rates(step, action, state)
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        used = step.rates[action, j] * step.scale[0]
        decay = max(1.0 - used * x * x, 0.0)
        rewards[action, j] = rewards[action, j] * decay + used * reward_error * x
        update_traces(columns, action, j, decay, used * x)


@backed_up_value.register(SparsePart)
def _(model, state, action, weights, discount):
    """b(s, a, w) = b_aᵀ s + γ wᵀ F_a s: the bracket of LEVI's target."""
    future = dot_expected(model, state, action, weights)
    return dot(state, model.rewards[action]) + discount * future


@function
def max_touched_dot(columns, weights, count):
    """max_a w_aᵀ s for the vector in the scratch row."""
    best = -math.inf
    for action in range(weights.shape[0]):
        total = 0.0
        for t in range(count):
            i = columns.touched[t]
            total += weights[action, i] * columns.work[0, i]
        if total > best:
            best = total
    return best


@backed_up_action_value.register(SparsePart)
def _(model, state, action, weights, discount):
    """r + γ max_a' w_a'ᵀ s̄: the invalid target (Sorg & Singh 2010), the maximum of a mean."""
    count = sum_expected(model, state, action)
    if model.threshold == 0.0:
        future = max_dot(weights, model.columns.work[0])
    else:
        future = max_touched_dot(model.columns, weights, count)
    clear_sum(model.columns, count)
    return dot(state, model.rewards[action]) + discount * future


@add_expected.register(SparsePart)
def _(model, state, action, weights, amount):
    """w += amount · F_a s, column by column."""
    for n in range(size(state)):
        change = amount * value(state, n)
        if change != 0.0:
            add_column(model.columns, action, index(state, n), weights, change)


@next_predecessor.register(SparsePart)
def _(model, feature, link):
    columns = model.columns
    return columns.heads[feature] if link < 0 else columns.links[link // CHUNK, link % CHUNK]


@predecessor.register(SparsePart)
def _(model, feature, link):
    columns, q = model.columns, link // CHUNK
    return columns.owners[q] % columns.headers.shape[1], columns.values[q, link % CHUNK]


@sample_next.register(SparsePart)
def _(model, state, action, successor):
    """Write s̄ itself, which shrinks with the probability of termination."""
    count = sum_expected(model, state, action)
    for i in range(successor.values.shape[0]):
        successor.values[i] = model.columns.work[0, i]
    clear_sum(model.columns, count)
    return 1.0


def count_evicted(part: tuple[object, ...]) -> int:
    """Return the number of entries dropped by sparse models inside a part; users are warned."""
    columns = [item for _, item in tree.items(part) if isinstance(item, ColumnsPart)]
    return sum(int(item.tally[EVICTED]) for item in columns)


class SparseExpectation(Model):
    """A linear zero-terminal expectation model that stores few entries per column.

    An entry is stored once its error exceeds ``threshold``. A column holds ``capacity`` entries;
    when it is full, the smallest is evicted and a warning is given. With ``threshold=0`` and
    sufficient capacity, returns equal those of the dense model bit for bit, at a cost that grows
    with d. It starts with s̄ = 0 and r = ``initial_reward`` (None: the agent's initial value).
    """

    memory_advice: ClassVar[str] = "a smaller capacity of SparseExpectation"
    predicts_means: ClassVar[bool] = True
    rolls_out: ClassVar[str] = "means"
    linear: ClassVar[bool] = True

    step: float | StepSize = parameter(step_size(), default=0.1)
    capacity: int = parameter(whole(1), default=128, meaning="maximum number of entries per column")
    threshold: float = parameter(at_least(0.0), default=0.03)
    initial_reward: float | None = parameter(or_none(number()), default=None, kw_only=True)

    def build(self, context: BuildContext) -> SparsePart:
        size = context.shape.size
        step, capacity = as_step_size(self.step), min(self.capacity, size)
        return SparsePart(
            initial_rewards(self, context),
            empty_columns(context.actions, size, capacity, traced=step.adapts),
            step.build_sparse(context),
            self.threshold,
        )
