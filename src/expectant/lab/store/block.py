"""One block of runs as a file: a table of every point, and what it says about itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from expectant.lab.cells import Cell
from expectant.lab.store.facts import versions
from expectant.lab.store.sealing import opened_table

KEY = b"expectant"  # of the facts in a file's metadata


class Block(NamedTuple):
    """Some consecutive runs: ``curves`` (runs, bins), ``diverged`` (runs,), and the mean
    ``lengths`` of episodes (runs, bins) if they are recorded.

    Of every run, or of none, how many entries of its model were ``evicted`` and the sentence why it
    diverged, which only the first that did has, or "".
    """

    curves: np.ndarray
    diverged: np.ndarray
    lengths: np.ndarray | None = None
    evicted: Sequence[int] = ()
    divergence: Sequence[str] = ()


class Facts(NamedTuple):
    """What the end of a block's file says: its cell, its runs, the mean of every run's values.

    ``evicted`` and ``divergence`` are as in a block; files that were written before these were kept
    do not say. ``described`` has the settings of the cell, as data.
    """

    cell: str
    first: int
    shape: tuple[int, int]
    means: list[float]
    diverged: list[bool]
    evicted: list[int]
    divergence: list[str]
    described: Mapping[str, object]

    def is_of(self, identity: Mapping[str, object]) -> bool:
        """Whether the settings are those that decide the numbers of a cell."""
        known = {key: self.described.get(key) for key in identity}
        return known == identity or _text(known) == _text(identity)  # a NaN equals its own text


class Span(NamedTuple):
    """Consecutive runs: the first, and how many."""

    first: int
    size: int

    @property
    def runs(self) -> range:
        return range(self.first, self.first + self.size)


def facts_about(
    name: str, first: int, block: Block, cell: Cell, more: Mapping[str, Any]
) -> dict[str, Any]:
    """All that is written into the file of a block."""
    runs = len(block.curves)
    return {
        "cell": cell.id,
        "name": name,
        "first": first,
        "shape": list(block.curves.shape),
        "means": block.curves.mean(axis=1).tolist(),
        "diverged": block.diverged.tolist(),
        "evicted": list(block.evicted) or [0] * runs,
        "divergence": list(block.divergence) or [""] * runs,
        **cell.identity(),
        **more,
        **versions(),
    }


def table_of(block: Block, cell: Cell, facts: Mapping[str, Any]) -> Any:
    """A block as an Arrow table, with its facts."""
    import pyarrow as arrow

    first, (runs, bins) = facts["first"], block.curves.shape
    rows = runs * bins
    firsts = np.arange(bins) * cell.width if cell.record is None else cell.firsts
    lengths = arrow.nulls(rows, arrow.float64())
    if block.lengths is not None:
        lengths = arrow.array(block.lengths.ravel())
    table = arrow.table(
        {
            "cell": arrow.repeat(cell.id, rows),
            "run": np.repeat(np.arange(first, first + runs, dtype=np.int32), bins),
            "bin": np.tile(np.arange(bins, dtype=np.int32), runs),
            "first": np.tile(firsts.astype(np.int64), runs),
            "value": block.curves.ravel(),
            "length": lengths,
            "diverged": np.repeat(block.diverged, bins),
        }
    )
    return table.replace_schema_metadata(metadata_of(facts))


def renamed(content: bytes, cell: Cell) -> tuple[Any, Facts]:
    """The table in a file with another id for its cell."""
    import pyarrow as arrow

    table = opened_table(content)
    facts = {**json.loads(table.schema.metadata[KEY]), "cell": cell.id}
    table = table.set_column(0, "cell", arrow.repeat(cell.id, table.num_rows))
    return table.replace_schema_metadata(metadata_of(facts)), facts_from(facts)


def curves_in(content: bytes, facts: Facts) -> np.ndarray:
    """The curves (runs, bins) in the bytes of a file."""
    return opened_table(content, ["value"])["value"].to_numpy().reshape(facts.shape)


def block_in(content: bytes, facts: Facts) -> Block:
    """The block in the bytes of a file."""
    table = opened_table(content)
    diverged = table["diverged"].to_numpy().reshape(facts.shape)[:, 0]
    lengths = table["length"]
    extra = None if lengths.null_count else lengths.to_numpy().reshape(facts.shape)
    values = table["value"].to_numpy().reshape(facts.shape)
    return Block(values, diverged, extra, facts.evicted, facts.divergence)


def facts_in(content: bytes, name: str, span: Span) -> Facts | None:
    """What the bytes of a file say; None if they are those of another block."""
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(arrow.BufferReader(content))
        found = json.loads(metadata.metadata[KEY])
        facts = facts_from(found)
        runs, bins = facts.shape
        ours = (found["name"], facts.first, runs) == (name, *span)
    except (KeyError, TypeError, ValueError, arrow.ArrowException):
        return None
    return facts if ours and metadata.num_rows == runs * bins else None


def facts_from(found: Mapping[str, Any]) -> Facts:
    """The facts that were written, checked for being there."""
    runs, bins = found["shape"]
    return Facts(
        found["cell"], found["first"], (runs, bins), found["means"], found["diverged"],
        found.get("evicted", [0] * runs), found.get("divergence", [""] * runs), found,
    )  # fmt: skip


def metadata_of(facts: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Facts as the metadata of a table."""
    return {KEY: _text(facts).encode()}


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True)
