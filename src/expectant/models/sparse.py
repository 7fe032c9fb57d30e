"""A linear zero-terminal expectation model with sparse columns.

Few entries of a column of F_a matter: the features that can follow feature j. An entry is stored
once its error has exceeded a threshold, so a fit or a look-ahead costs O(k c) for c entries per
column, and memory is O(A d c). Dense columns cost O(k d) and O(A d²).

Chunks of sixteen entries are handed out in order as columns grow, so that memory in use is
contiguous. Sums of columns use a dense scratch vector that is zero between sums, so that a sum
costs as much as it has entries.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core import tree, verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.memory import full, zeros
from expectant.core.reductions import dot_listed, dot_row, padded_size
from expectant.core.rules import at_least, number, or_none, whole
from expectant.core.vectors import dot
from expectant.core.verbs import function, index, rate, size, value
from expectant.models.expectation import initial_rewards, max_dot
from expectant.step_sizes import StepSize, as_step_size, step_size
from expectant.step_sizes.adaptive import AdaptivePart, adapt_rate, bound_rates

CHUNK = 16  # entries
NONE = -1
COUNT = 0  # position of the number of entries in a header; the numbers of chunks follow
STAMP, USED, EVICTED = 0, 1, 2  # positions in the tally


class ColumnsPart(NamedTuple):
    """Row j of ``headers`` (A, d, H) holds column j of block a: its number of entries, then the
    numbers of its chunks. Chunk q is row q of ``indices`` and ``values`` (Q, 16).

    A column has at most ``capacity`` entries. ``tally`` (3,) is the present stamp, the chunks in
    use, and the entries evicted. ``work`` (1, D) is scratch for sums; ``touched`` (D,) lists the
    features of the present sum, and ``marks`` (D,) has its stamp at those.

    Optional arrays, empty if not needed: for access by rows, the entries of each feature form a
    linked list in the order of their columns, from ``heads`` (d,) along ``links`` (Q, 16), where
    entry e of chunk q is 16 q + e and −1 is the end; ``owners`` (Q,) is the column a d + j of a
    chunk. ``traces`` (Q, 16) belong to adaptive step sizes.
    """

    headers: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    capacity: int
    tally: np.ndarray
    work: np.ndarray
    touched: np.ndarray
    marks: np.ndarray
    heads: np.ndarray
    links: np.ndarray
    owners: np.ndarray
    traces: np.ndarray


@function
def new_stamp(columns):
    """Return a stamp that no feature is marked with."""
    columns.tally[STAMP] += 1
    return columns.tally[STAMP]


@function
def touch(columns, i, stamp, count):
    """Add feature i to the ``count`` features of the present sum; returns the new count."""
    if columns.marks[i] == stamp:
        return count
    columns.marks[i] = stamp
    columns.touched[count] = i
    return count + 1


@function
def sum_column(columns, block, j, amount, stamp, count):
    """Add a multiple of a column to the present sum; returns the new number of features."""
    indices, values, work = columns.indices, columns.values, columns.work
    left = columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            i = indices[q, e]
            count = touch(columns, i, stamp, count)
            work[0, i] += amount * values[q, e]
        left -= CHUNK
    return count


@function
def clear_sum(columns, count):
    """Reset the scratch vector after a sum of ``count`` features."""
    for t in range(count):
        columns.work[0, columns.touched[t]] = 0.0


@function
def dot_column(columns, block, j, weights):
    """wᵀ times a column, in the order of its entries."""
    total = 0.0
    for c in range(-(-columns.headers[block, j, COUNT] // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        total += dot_listed(columns.values, columns.indices, q, weights)
    return total


@function
def add_column(columns, block, j, weights, amount):
    """w += amount times a column."""
    indices, values, left = columns.indices, columns.values, columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            weights[indices[q, e]] += amount * values[q, e]
        left -= CHUNK


@function
def dot_traces(columns, block, j):
    """Traces of a column times the present sum, in the order of its entries."""
    total, left = 0.0, columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            total += columns.traces[q, e] * columns.work[0, columns.indices[q, e]]
        left -= CHUNK
    return total


@function
def update_traces(columns, block, j, decay, amount):
    """h ← decay · h + amount times the present sum, for the traces h of a column."""
    traces, left = columns.traces, columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            error = columns.work[0, columns.indices[q, e]]
            traces[q, e] = traces[q, e] * decay + amount * error
        left -= CHUNK


@function
def update_column(columns, block, j, amount, large):
    """Add a multiple of the present sum to a column.

    Only the first ``large`` features of the sum become new entries. In a full column the largest of
    them replaces the smallest entry.
    """
    indices, values, work, marks = columns.indices, columns.values, columns.work, columns.marks
    stamp, left = new_stamp(columns), columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            i = indices[q, e]
            marks[i] = stamp
            values[q, e] += amount * work[0, i]
        left -= CHUNK
    largest, magnitude = -1, 0.0
    for t in range(large):
        i = columns.touched[t]
        if marks[i] != stamp:
            if columns.headers[block, j, COUNT] < columns.capacity:
                append_entry(columns, block, j, i, amount * work[0, i])
            elif abs(work[0, i]) > magnitude:
                largest, magnitude = i, abs(work[0, i])
    if largest >= 0:
        replace_smallest(columns, block, j, largest, amount * work[0, largest])


@function
def append_entry(columns, block, j, i, value):
    """Append an entry to a column that is not full."""
    header = columns.headers[block, j]
    count = header[COUNT]
    if count % CHUNK == 0:
        q = columns.tally[USED]
        header[1 + count // CHUNK] = q
        columns.tally[USED] += 1
        if columns.owners.shape[0] > 0:
            columns.owners[q] = block * columns.headers.shape[1] + j
    write_entry(columns, header[1 + count // CHUNK], count % CHUNK, i, value)
    header[COUNT] = count + 1


@function
def write_entry(columns, q, e, i, value):
    """Make entry e of chunk q one of feature i; its trace begins with its first change."""
    columns.indices[q, e] = i
    columns.values[q, e] = value
    if columns.traces.shape[0] > 0:
        columns.traces[q, e] = value
    if columns.heads.shape[0] > 0:
        link_entry(columns, q, e, i)


@function
def link_entry(columns, q, e, i):
    """Insert an entry into the list of its feature, ordered by column as in a dense model."""
    owner, before, link = columns.owners[q], NONE, columns.heads[i]
    while link != NONE and columns.owners[link // CHUNK] < owner:
        before, link = link, columns.links[link // CHUNK, link % CHUNK]
    columns.links[q, e] = link
    if before == NONE:
        columns.heads[i] = q * CHUNK + e
    else:
        columns.links[before // CHUNK, before % CHUNK] = q * CHUNK + e


@function
def unlink_entry(columns, q, e):
    """Remove an entry from the list of its feature."""
    heads, links, i, entry = columns.heads, columns.links, columns.indices[q, e], q * CHUNK + e
    if heads.shape[0] == 0:
        return
    if heads[i] == entry:
        heads[i] = links[q, e]
        return
    before = heads[i]
    while links[before // CHUNK, before % CHUNK] != entry:
        before = links[before // CHUNK, before % CHUNK]
    links[before // CHUNK, before % CHUNK] = links[q, e]


@function
def replace_smallest(columns, block, j, i, value):
    """Replace the entry nearest to zero by a new one."""
    values, header, position, least = columns.values, columns.headers[block, j], 0, np.inf
    for e in range(header[COUNT]):
        magnitude = abs(values[header[1 + e // CHUNK], e % CHUNK])
        if magnitude < least:
            position, least = e, magnitude
    q = header[1 + position // CHUNK]
    unlink_entry(columns, q, position % CHUNK)
    write_entry(columns, q, position % CHUNK, i, value)
    columns.tally[EVICTED] += 1


def empty_columns(blocks: int, columns: int, capacity: int, *, traced: bool) -> ColumnsPart:
    """Allocate ``blocks`` empty square matrices, with traces if ``traced``."""
    per_column, width = -(-capacity // CHUNK), padded_size(columns)
    chunks = blocks * columns * per_column
    return ColumnsPart(
        headers=zeros((blocks, columns, padded_size(1 + per_column)), np.int32),
        indices=zeros((chunks, CHUNK), np.int32),
        values=zeros((chunks, CHUNK)),
        capacity=capacity,
        tally=np.zeros(3, np.int64),
        work=zeros((1, width)),
        touched=zeros(width, np.int64),
        marks=zeros(width, np.int64),
        heads=zeros(0, np.int32),
        links=zeros((0, CHUNK), np.int32),
        owners=zeros(0, np.int32),
        traces=zeros((chunks if traced else 0, CHUNK)),
    )


def with_links(columns: ColumnsPart) -> ColumnsPart:
    """Add access by rows to empty columns."""
    size, chunks = columns.headers.shape[1], columns.indices.shape[0]
    return columns._replace(
        heads=full(size, NONE, np.int32),
        links=full((chunks, CHUNK), NONE, np.int32),
        owners=zeros(chunks, np.int32),
    )


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


@verbs.fit.register(SparsePart)
def _(model, transition):
    """The linear model's gradient step, on stored entries and new ones."""
    state, action, columns = transition.state, transition.action, model.columns
    reward_error = transition.reward - dot(state, model.rewards[action])
    count = sum_expected(model, state, action)
    count = subtract_expected(columns, transition.next_state, transition.alive, count)
    large, squares = put_large_first(columns, model.threshold, count)
    verbs.adapt_listed(model.step, columns, action, state, reward_error)
    for n in range(size(state)):
        j, change = index(state, n), rate(model.step, action, state, n) * value(state, n)
        if change != 0.0:
            model.rewards[action, j] += change * reward_error
            update_column(columns, action, j, change, large)
    clear_sum(columns, count)
    return abs(reward_error) + squares


@verbs.adapt_listed.register(AdaptivePart)
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


@verbs.backed_up_value.register(SparsePart)
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


@verbs.backed_up_action_value.register(SparsePart)
def _(model, state, action, weights, discount):
    """r + γ max_a' w_a'ᵀ s̄: the invalid target (Sorg & Singh 2010), the maximum of a mean."""
    count = sum_expected(model, state, action)
    if model.threshold == 0.0:
        future = max_dot(weights, model.columns.work[0])
    else:
        future = max_touched_dot(model.columns, weights, count)
    clear_sum(model.columns, count)
    return dot(state, model.rewards[action]) + discount * future


@verbs.add_expected.register(SparsePart)
def _(model, state, action, weights, amount):
    """w += amount · F_a s, column by column."""
    for n in range(size(state)):
        change = amount * value(state, n)
        if change != 0.0:
            add_column(model.columns, action, index(state, n), weights, change)


@verbs.next_predecessor.register(SparsePart)
def _(model, feature, link):
    columns = model.columns
    return columns.heads[feature] if link < 0 else columns.links[link // CHUNK, link % CHUNK]


@verbs.predecessor.register(SparsePart)
def _(model, feature, link):
    columns, q = model.columns, link // CHUNK
    return columns.owners[q] % columns.headers.shape[1], columns.values[q, link % CHUNK]


@verbs.sample_next.register(SparsePart)
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
