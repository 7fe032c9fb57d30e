"""Sparse matrices whose columns grow, stored as lists of (feature, value) entries.

Chunks of sixteen entries are handed out in order as columns grow, so that memory in use is
contiguous. Sums of columns use a dense scratch vector that is zero between sums, so that a sum
costs as much as it has entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import full, zeros
from expectant.core.reductions import dot_listed, padded_size
from expectant.core.verbs import function

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
    largest, size = -1, 0.0
    for t in range(large):
        i = columns.touched[t]
        if marks[i] != stamp:
            if columns.headers[block, j, COUNT] < columns.capacity:
                append_entry(columns, block, j, i, amount * work[0, i])
            elif abs(work[0, i]) > size:
                largest, size = i, abs(work[0, i])
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
        size = abs(values[header[1 + e // CHUNK], e % CHUNK])
        if size < least:
            position, least = e, size
    q = header[1 + position // CHUNK]
    unlink_entry(columns, q, position % CHUNK)
    write_entry(columns, q, position % CHUNK, i, value)
    columns.tally[EVICTED] += 1


def empty_columns(blocks: int, size: int, capacity: int, *, traced: bool) -> ColumnsPart:
    """Allocate ``blocks`` empty square matrices of ``size`` columns, with traces if ``traced``."""
    per_column, width = -(-capacity // CHUNK), padded_size(size)
    chunks = blocks * size * per_column
    return ColumnsPart(
        headers=zeros((blocks, size, padded_size(1 + per_column)), np.int32),
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
