"""A linear zero-terminal expectation model whose columns are short lists.

A column of F_a says what follows a feature. However many features there are, few of its entries
matter: those of the places that are reached from there. So an entry is kept once its error has
exceeded a threshold, and a fit or a look-ahead costs O(k c) for c entries a column, whatever d is.
Dense columns cost O(k d), and A d² numbers instead of A d c.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model, constant_weights
from expectant.core.reductions import dot_row
from expectant.core.rules import at_least, number, or_none, whole
from expectant.core.vectors import dot
from expectant.core.verbs import (
    adapt_listed,
    add_expected,
    backed_up_action_value,
    backed_up_value,
    count_evicted,
    fit,
    function,
    index,
    next_predecessor,
    predecessor,
    rate,
    sample_next,
    size,
    value,
    with_predecessors,
)
from expectant.models.expectation import most
from expectant.models.sparse_columns import (
    CHUNK,
    EVICTED,
    STAMP,
    ColumnsPart,
    add_column,
    add_column_to,
    correct_column,
    dot_column,
    dot_traces,
    empty_columns,
    linked,
    move_traces,
    next_stamp,
    touch,
    traced,
    wipe,
)
from expectant.step_sizes import StepSize, adapts, as_step_size, step_size
from expectant.step_sizes.adaptive import AdaptiveListsPart, learn_rate, settle_rates


class SparsePart(NamedTuple):
    """``rewards`` (A, D) are the b_a; block a of ``columns`` is F_a."""

    rewards: np.ndarray
    columns: ColumnsPart
    step: object
    threshold: float


@function
def expected(model, state, action):
    """Add s̄(s, a) up in the scratch row; returns how many features it has."""
    stamp, count = next_stamp(model.columns), 0
    for n in range(size(state)):
        x = value(state, n)
        if x != 0.0:  # of a mean state most features are switched off
            count = add_column(model.columns, action, index(state, n), x, stamp, count)
    return count


@function
def value_of_expected(model, state, action, weights):
    """wᵀ F_a s, column by column; without a threshold in the order of the dense model's sum."""
    if model.threshold == 0.0:
        count = expected(model, state, action)
        total = dot_row(model.columns.work, 0, weights)
        wipe(model.columns, count)
        return total
    total = 0.0
    for n in range(size(state)):
        x = value(state, n)
        if x != 0.0:
            total += x * dot_column(model.columns, action, index(state, n), weights)
    return total


@function
def subtract_from(columns, next_state, alive, count):
    """Make s̄ in the scratch row the error s' − s̄; returns how many features that has."""
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
    """Put features whose error exceeds the threshold first; returns how many, and ‖error‖²."""
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
    """The linear model's gradient step, on entries that are there and those that come in."""
    state, action, columns = transition.state, transition.action, model.columns
    surprise = transition.reward - dot(state, model.rewards[action])
    count = expected(model, state, action)
    count = subtract_from(columns, transition.next_state, transition.alive, count)
    large, squares = put_large_first(columns, model.threshold, count)
    adapt_listed(model.step, columns, action, state, surprise)
    for n in range(size(state)):
        j, change = index(state, n), rate(model.step, action, state, n) * value(state, n)
        if change != 0.0:
            model.rewards[action, j] += change * surprise
            correct_column(columns, action, j, change, large)
    wipe(columns, count)
    return abs(surprise) + squares


@adapt_listed.register(AdaptiveListsPart)
def _(step, columns, action, state, surprise):
    """As for whole columns: the slope of α_j is x_j (Σ_i e_i h_ij + e_r h_rj), over j's entries.

    An entry that comes in afterwards has had no trace, which then begins with its first change.
    """
    rewards = step.reward_traces
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        slope = surprise * rewards[action, j] + dot_traces(columns, action, j)
        learn_rate(step, action, j, x, x * slope)
    settle_rates(step, action, state)
    for n in range(size(state)):
        j, x = index(state, n), value(state, n)
        used = step.rates[action, j] * step.shrunk[0]
        kept = max(1.0 - used * x * x, 0.0)
        rewards[action, j] = rewards[action, j] * kept + used * surprise * x
        move_traces(columns, action, j, kept, used * x)


@backed_up_value.register(SparsePart)
def _(model, state, action, weights, discount):
    """b(s, a, w) = b_aᵀ s + γ wᵀ F_a s: the bracket of LEVI's target."""
    future = value_of_expected(model, state, action, weights)
    return dot(state, model.rewards[action]) + discount * future


@function
def most_of_touched(columns, weights, count):
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
    count = expected(model, state, action)
    if model.threshold == 0.0:  # in the order of the dense model's sum
        future = most(weights, model.columns.work[0])
    else:
        future = most_of_touched(model.columns, weights, count)
    wipe(model.columns, count)
    return dot(state, model.rewards[action]) + discount * future


@add_expected.register(SparsePart)
def _(model, state, action, weights, amount):
    """w += amount · F_a s, column by column."""
    for n in range(size(state)):
        change = amount * value(state, n)
        if change != 0.0:
            add_column_to(model.columns, action, index(state, n), weights, change)


@next_predecessor.register(SparsePart)
def _(model, feature, link):
    columns = model.columns
    return columns.heads[feature] if link < 0 else columns.links[link // CHUNK, link % CHUNK]


@predecessor.register(SparsePart)
def _(model, feature, link):
    columns, q = model.columns, link // CHUNK
    return columns.owners[q] % columns.headers.shape[1], columns.values[q, link % CHUNK]


@with_predecessors.register(SparsePart)
def _(model):
    return model._replace(columns=linked(model.columns))


@sample_next.register(SparsePart)
def _(model, state, action, successor):
    """s̄ itself, which shrinks with the probability of having ended."""
    count = expected(model, state, action)
    for i in range(successor.values.shape[0]):
        successor.values[i] = model.columns.work[0, i]
    wipe(model.columns, count)
    return 1.0


@count_evicted.register(SparsePart)
def _(model):
    return int(model.columns.tally[EVICTED])


class SparseExpectation(Model):
    """A linear zero-terminal expectation model that keeps few entries of every column.

    An entry is kept from when its error first exceeds ``threshold``. A column has ``capacity`` of
    them; when it is full the smallest is evicted, which is counted and said. With ``threshold=0``
    and a capacity that is never reached the returns are those of the dense model to the last bit,
    at a cost that grows with d. It starts with s̄ = 0 and r = ``initial_reward`` everywhere (None:
    the agent's initial value).
    """

    memory_advice: ClassVar[str] = "a smaller capacity of SparseExpectation"
    predicts_means: ClassVar[bool] = True
    rolls_out: ClassVar[str] = "means"
    linear: ClassVar[bool] = True

    step: float | StepSize = parameter(step_size(), default=0.1)
    capacity: int = parameter(whole(1), default=128)
    threshold: float = parameter(at_least(0.0), default=0.03)
    initial_reward: float | None = parameter(or_none(number()), default=None, kw_only=True)

    def build(self, context: BuildContext) -> SparsePart:
        owner = "SparseExpectation: initial_reward"
        first = context.untried_value if self.initial_reward is None else self.initial_reward
        rewards = constant_weights(context.shape, context.width, first, owner)
        columns = empty_columns(context.actions, context.shape.size, self._room(context))
        return SparsePart(
            np.repeat(rewards[None], context.actions, axis=0),
            traced(columns) if adapts(self.step) else columns,
            as_step_size(self.step).build_listed(context),
            self.threshold,
        )

    def _room(self, context: BuildContext) -> int:
        """No column has more entries than there are features."""
        return min(self.capacity, context.shape.size)
