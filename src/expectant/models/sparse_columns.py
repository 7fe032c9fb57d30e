"""Matrices whose columns are short lists of entries, and sums of such columns.

An entry is a feature and a value. A column has its entries in chunks of sixteen, which are handed
out one after another as columns grow: what is in use lies close together, however many columns
there could be. Vectors that columns are added up in are dense, and zero outside of a sum, so that
a sum costs as much as it has entries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import full, zeros
from expectant.core.reductions import dot_listed, padded_size
from expectant.core.verbs import function

CHUNK = 16  # entries
NONE = -1
COUNT = 0  # where a header has the number of entries; the numbers of chunks follow
STAMP, USED, EVICTED = 0, 1, 2  # places in the tally


class ColumnsPart(NamedTuple):
    """Column j of block a begins with its header, a row of ``headers`` (A, d, H): the number of its
    entries and those of its chunks. Chunk q is row q of ``indices`` and ``values`` (Q, 16).

    A column has at most ``room`` entries. ``tally`` (3,) has the present stamp, how many chunks are
    in use, and how many entries were evicted. ``work`` (1, D) is for sums; ``touched`` (D,) are the
    features in the present one, ``marks`` (D,) the stamps of those that have had their turn.

    To be read by rows too, entries of a feature are linked: ``heads`` (d,) has the first of every
    feature and ``links`` (Q, 16) the next after each, as chunk · 16 + place, −1: none, in the order
    of their columns; ``owners``
    (Q,) is the column that has a chunk, block · d + j. Step sizes that adapt keep a trace of every
    entry in ``traces`` (Q, 16). Without need for them these have no entries.
    """

    headers: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    room: int
    tally: np.ndarray
    work: np.ndarray
    touched: np.ndarray
    marks: np.ndarray
    heads: np.ndarray
    links: np.ndarray
    owners: np.ndarray
    traces: np.ndarray


@function
def next_stamp(columns):
    """A stamp that no feature has yet."""
    columns.tally[STAMP] += 1
    return columns.tally[STAMP]


@function
def touch(columns, i, stamp, count):
    """Note that feature i is in the present sum of so many; returns how many there are now."""
    if columns.marks[i] == stamp:
        return count
    columns.marks[i] = stamp
    columns.touched[count] = i
    return count + 1


@function
def add_column(columns, block, j, amount, stamp, count):
    """Add a multiple of a column to the present sum; returns how many features are in it now."""
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
def wipe(columns, count):
    """Make a sum of so many features zero again."""
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
def add_column_to(columns, block, j, weights, amount):
    """w += amount times a column."""
    indices, values, left = columns.indices, columns.values, columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            weights[indices[q, e]] += amount * values[q, e]
        left -= CHUNK


@function
def dot_traces(columns, block, j):
    """The traces of a column's entries times the present sum, in the order of its entries."""
    total, left = 0.0, columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            total += columns.traces[q, e] * columns.work[0, columns.indices[q, e]]
        left -= CHUNK
    return total


@function
def move_traces(columns, block, j, kept, amount):
    """Let the traces of a column's entries fade and add a multiple of the present sum."""
    traces, left = columns.traces, columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            error = columns.work[0, columns.indices[q, e]]
            traces[q, e] = traces[q, e] * kept + amount * error
        left -= CHUNK


@function
def correct_column(columns, block, j, amount, large):
    """Add a multiple of the present sum to the entries of a column.

    The first ``large`` features of the sum come into the column if they are not in it. Where it is
    full, the one of them that is largest takes the place of the smallest entry.
    """
    indices, values, work, marks = columns.indices, columns.values, columns.work, columns.marks
    stamp, left = next_stamp(columns), columns.headers[block, j, COUNT]
    for c in range(-(-left // CHUNK)):
        q = columns.headers[block, j, 1 + c]
        for e in range(min(left, CHUNK)):
            i = indices[q, e]
            marks[i] = stamp
            values[q, e] += amount * work[0, i]
        left -= CHUNK
    left_out, most = -1, 0.0
    for t in range(large):
        i = columns.touched[t]
        if marks[i] != stamp:
            if columns.headers[block, j, COUNT] < columns.room:
                append(columns, block, j, i, amount * work[0, i])
            elif abs(work[0, i]) > most:
                left_out, most = i, abs(work[0, i])
    if left_out >= 0:
        evict(columns, block, j, left_out, amount * work[0, left_out])


@function
def append(columns, block, j, i, value):
    """A new entry in a column that is not full, in a new chunk if the last one is."""
    header = columns.headers[block, j]
    count = header[COUNT]
    if count % CHUNK == 0:
        q = columns.tally[USED]
        header[1 + count // CHUNK] = q
        columns.tally[USED] += 1
        if columns.owners.shape[0] > 0:
            columns.owners[q] = block * columns.headers.shape[1] + j
    put_entry(columns, header[1 + count // CHUNK], count % CHUNK, i, value)
    header[COUNT] = count + 1


@function
def put_entry(columns, q, e, i, value):
    """Let a place in a chunk be an entry of feature i, whose trace begins with its first change."""
    columns.indices[q, e] = i
    columns.values[q, e] = value
    if columns.traces.shape[0] > 0:
        columns.traces[q, e] = value
    if columns.heads.shape[0] > 0:
        link_entry(columns, q, e, i)


@function
def link_entry(columns, q, e, i):
    """Put an entry into the list of its feature, whose order is that of a dense model's columns."""
    own, before, link = columns.owners[q], NONE, columns.heads[i]
    while link != NONE and columns.owners[link // CHUNK] < own:
        before, link = link, columns.links[link // CHUNK, link % CHUNK]
    columns.links[q, e] = link
    if before == NONE:
        columns.heads[i] = q * CHUNK + e
    else:
        columns.links[before // CHUNK, before % CHUNK] = q * CHUNK + e


@function
def unlink(columns, q, e):
    """Take an entry out of the list of its feature."""
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
def evict(columns, block, j, i, value):
    """Put a new entry in the place of the one that is nearest to zero."""
    values, header, place, least = columns.values, columns.headers[block, j], 0, np.inf
    for e in range(header[COUNT]):
        size = abs(values[header[1 + e // CHUNK], e % CHUNK])
        if size < least:
            place, least = e, size
    q = header[1 + place // CHUNK]
    unlink(columns, q, place % CHUNK)
    put_entry(columns, q, place % CHUNK, i, value)
    columns.tally[EVICTED] += 1


def chunks_for(entries: int) -> int:
    """How many chunks a column of so many entries has."""
    return -(-entries // CHUNK)


def empty_columns(blocks: int, size: int, room: int) -> ColumnsPart:
    """``blocks`` square matrices of ``size`` columns, none of which has an entry."""
    chunks, width = blocks * size * chunks_for(room), padded_size(size)
    return ColumnsPart(
        zeros((blocks, size, padded_size(1 + chunks_for(room))), np.int32),
        zeros((chunks, CHUNK), np.int32),
        zeros((chunks, CHUNK)),
        room,
        np.zeros(3, np.int64),
        zeros((1, width)),
        zeros(width, np.int64),
        zeros(width, np.int64),
        *_links(0, 0),
        zeros((0, CHUNK)),
    )


def _links(size: int, chunks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    heads, links = full(size, NONE, np.int32), full((chunks, CHUNK), NONE, np.int32)
    return heads, links, zeros(chunks, np.int32)


def linked(columns: ColumnsPart) -> ColumnsPart:
    """The same columns, which have no entries yet, to be read by rows too."""
    size, chunks = columns.headers.shape[1], columns.indices.shape[0]
    heads, links, owners = _links(size, chunks)
    return columns._replace(heads=heads, links=links, owners=owners)


def traced(columns: ColumnsPart) -> ColumnsPart:
    """The same columns, which have no entries yet, with a trace of every entry."""
    return columns._replace(traces=zeros(columns.values.shape))


def written_out(columns: ColumnsPart, block: int) -> np.ndarray:
    """A matrix (d, d) written out, column j in row j (plain Python only)."""
    size = columns.headers.shape[1]
    rows = np.zeros((size, size))
    for j in range(size):
        for e in range(columns.headers[block, j, COUNT]):
            q = columns.headers[block, j, 1 + e // CHUNK]
            rows[j, columns.indices[q, e % CHUNK]] = columns.values[q, e % CHUNK]
    return rows
