"""What a choice goes by: one number of every run, by a measure of its curve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from expectant.analysis.comparison import Unavailable
from expectant.analysis.panel import Panel
from expectant.lab.choosing.sweep_folder import SweepFolder
from expectant.lab.measures import Measure

READERS = 4


def measured(folder: SweepFolder, measure: Measure) -> np.ndarray:
    """The number of every run of every cell, (cells, runs); NaN where a run diverged.

    Only the mean over all bins is in the table; for the others all curves are read.
    """
    if measure.name == "mean":
        return folder.values
    found = np.full_like(folder.values, np.nan)
    for row, curves in all_curves(folder):
        found[row] = values_of(folder, measure, row, curves)
    return found


def values_of(folder: SweepFolder, measure: Measure, row: int, curves: np.ndarray) -> np.ndarray:
    """What a measure makes of the curves (runs, bins) of one row of the table: (runs,)."""
    if measure.needs_optimum:
        raise ValueError(
            f"--measure {measure.name}: compares with acting ε-greedily on q*, "
            "which sweeps do not keep"
        )
    experiment = folder.experiment
    by_bins = not experiment.steps and experiment.record is None
    every = folder.switch_every(row) if by_bins else None
    axes = {"optimum": math.nan, **folder.axes(row)}
    panel = Panel(
        experiment.name, "", "", folder.width, every, curves={"": curves}, labels={"": ""}, **axes
    )
    try:
        return measure.of(panel, curves)
    except Unavailable as reason:
        cell = folder.columns["cell"][row]
        raise ValueError(f"--measure {measure.name}: {cell!r}: {reason}") from None


def all_curves(folder: SweepFolder) -> Iterator[tuple[int, np.ndarray]]:
    """Every finished row of the table with its curves (runs, bins), read a few at a time."""
    rows = [row for group in folder.groups for row in group.rows.tolist()]
    names = folder.columns["hash"]
    with ThreadPoolExecutor(READERS) as pool:
        found = pool.map(lambda row: curves_of_cell(folder, names[row]), rows)
        yield from zip(rows, found, strict=True)


def curves_of_cell(folder: SweepFolder, name: str) -> np.ndarray:
    """The curves (runs, bins) of one cell, from its blocks, which are checked as they are read."""
    found = folder.store.curves(name, folder.index.get(name, []), folder.experiment.runs)
    if found is None:
        raise folder.damaged()
    return found
