"""All cells of a results folder as one table: their settings and what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.lab.cells import Cell
from expectant.lab.engines.compute import Work
from expectant.lab.specs.grid import dotted, leaves, word
from expectant.lab.specs.spec import cells_hash
from expectant.lab.store.sealed_tables import StoreError, read_table, write_table

CELLS = "cells.parquet"
KEY = b"expectant"  # of what the table says about itself, in its metadata


class Ended(NamedTuple):
    """One run: the mean of its values, whether it diverged and why, and what its model evicted."""

    mean: float
    diverged: bool
    evicted: int
    divergence: str


def cell_table(work: Work) -> Any:
    """One row per cell, as an Arrow table.

    ``cell``, ``hash``, ``panel``, ``agent``, the names of those two in the spec (``base_panel``,
    ``base_agent``) and ``label``; a column for every setting that is not
    the same everywhere, such as ``domain.slip`` or ``agent.value_step``; ``runs`` that are there,
    how many ``diverged``, why the first of them did (``divergence``), how many entries their models
    ``evicted``, their ``mean`` (NaN if one diverged) and the list of ``values``: the mean of every
    run's curve.
    """
    import pyarrow as arrow

    values = run_values(work)
    found = [values.get(name, {}) for name in work.names]
    kept = [
        [runs[run] for run in sorted(runs) if run < cell.runs]
        for runs, cell in zip(found, work.cells, strict=True)
    ]
    values_of = [[run.mean for run in runs] for runs in kept]
    means = [float(np.mean(values)) if values else float("nan") for values in values_of]
    columns: dict[str, Any] = {
        "cell": [cell.id for cell in work.cells],
        "hash": work.names,
        "panel": [cell.panel for cell in work.cells],
        "agent": [cell.agent_key for cell in work.cells],
        "base_panel": [cell.base_panel for cell in work.cells],
        "base_agent": [cell.base_agent for cell in work.cells],
        "label": [cell.label for cell in work.cells],
        **settings_columns(work.cells),
        "runs": [len(runs) for runs in kept],
        "diverged": [sum(run.diverged for run in runs) for runs in kept],
        "divergence": [next((r.divergence for r in runs if r.divergence), "") for runs in kept],
        "evicted": [sum(run.evicted for run in runs) for runs in kept],
        "mean": means,
        "values": arrow.array(values_of, _list_of_numbers()),
    }
    return arrow.table(columns)


def write_cells(work: Work, folder: Path, spec: Mapping[str, Any] | None = None) -> Path:
    """Write the table of all cells beside their blocks; it says which ``spec`` asked for them."""
    path, table = folder / CELLS, cell_table(work)
    if spec is not None:
        told = json.dumps({"cells_of": cells_hash(spec)}).encode()
        table = table.replace_schema_metadata({KEY: told})
    write_table(table, path)
    return path


def is_of_spec(table: Any, spec: Mapping[str, Any], stored: set[str]) -> bool:
    """Whether the cells of a table are those of a spec, and of the blocks that are ``stored``.

    They are not where the spec has been changed since, or the code by which others were computed.
    Blocks may have been deleted, but for a table that does not say which spec it is of.
    """
    told = json.loads((table.schema.metadata or {}).get(KEY, b"{}")).get("cells_of")
    known = set(filter(None, table["hash"].to_pylist()))
    if told is None:
        return stored == known
    return told == cells_hash(spec) and stored <= known


def read_cells(folder: Path) -> Any:
    """The table that a sweep has written, as an Arrow table."""
    path = folder / CELLS
    again = "run `expectant run` again, which writes it anew"
    try:
        table = read_table(path, again)
        if "base_agent" not in table.column_names:
            raise StoreError(f"{path} was written by an earlier version: {again}")
        return table
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} does not exist: `expectant run` writes it at its end"
        ) from None


def run_values(work: Work) -> dict[str, dict[int, Ended]]:
    """For every cell by name and every run: what came of it.

    Blocks that the work has not checked yet are checked now.
    """
    index = work.store.index()
    values: dict[str, dict[int, Ended]] = {}
    for name in work.unique():
        for span in index.get(name, []):
            facts = work.facts.get((name, span)) or work.store.facts_of(name, span)
            if facts is not None:
                told = facts.means, facts.diverged, facts.evicted, facts.divergence
                runs = map(Ended, *told)
                values.setdefault(name, {}).update(zip(span.runs, runs, strict=True))
    return values


def settings_columns(cells: Sequence[Cell]) -> dict[str, list[Any]]:
    """A column for every setting that differs between cells; None where a cell has it not."""
    rows = [_settings(cell) for cell in cells]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: _one_type(column)
        for name, column in columns.items()
        if len({word(value) for value in column}) > 1
    }


def _settings(cell: Cell) -> dict[str, Any]:
    parts = {"domain": cell.domain, "features": cell.features, "agent": cell.agent}
    return {
        dotted(path): value
        for part, described in parts.items()
        for path, value in leaves(described.to_dict(), (part,))
    }


def _one_type(column: list[Any]) -> list[Any]:
    """Numbers or truth values as they are if there is nothing else, otherwise words."""
    kinds = {type(value) for value in column if value is not None}
    if kinds <= {int, float}:
        whole = kinds <= {int}
        return [value if value is None or whole else float(value) for value in column]
    if kinds in ({bool}, {str}):
        return column
    return [None if value is None else word(value) for value in column]


def _list_of_numbers() -> Any:
    import pyarrow as arrow

    return arrow.list_(arrow.float64())
