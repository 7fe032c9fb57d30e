"""Fresh runs of the settings that were chosen, computed on demand into the sweep's own store.

They are the runs after those of the sweep, so they have other seeds. A sweep that later asks for
more runs finds them there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from expectant.lab.cells import Cell, cell_hash
from expectant.lab.choosing.scores import values_of
from expectant.lab.choosing.sweep_folder import SweepFolder
from expectant.lab.engines.compute import compute
from expectant.lab.measures import Measure
from expectant.lab.specs.spec import parse_toml, read_text
from expectant.lab.store.facts import commit
from expectant.lab.store.folder import opened
from expectant.lab.store.folder_layout import SPEC
from expectant.lab.store.store import Store


def fresh_values(
    folder: SweepFolder, rows: Sequence[int], measure: Measure, runs: int, threads: int | None
) -> list[np.ndarray]:
    """The numbers (runs,) of so many fresh runs of each of these rows."""
    start = folder.experiment.runs
    cells = [cell_of(folder, row, start + runs) for row in rows]
    text = read_text(folder.path / SPEC)
    store = Store(folder.path, {"spec": folder.spec_hash, "commit": commit()})
    with opened(folder.path, text, parse_toml(text, SPEC)):
        curves = compute(cells, store, threads=threads, title="fresh runs")
    pairs = zip(rows, curves, strict=True)
    return [values_of(folder, measure, row, curve[start:]) for row, curve in pairs]


def cell_of(folder: SweepFolder, row: int, runs: int) -> Cell:
    """The cell of a row with another number of runs, if it still is what its runs are of."""
    cell = folder.cell(row, runs)
    if cell_hash(cell) != folder.columns["hash"][row]:
        raise ValueError(
            f"--confirm: the code or the spec of {cell.id!r} has changed since its runs in "
            f"{folder.path}; run `expectant run` again first"
        )
    return cell
