"""What a choice goes by: one number of every run, the mean of some of its curve's bins."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.choosing.folder import Group, SweepFolder
from expectant.descriptions import near_miss

READERS = 4


@dataclass(frozen=True)
class Measure:
    """A name for the command line, and its meaning in words."""

    name: str
    meaning: str


MEASURES = {
    found.name: found
    for found in (
        Measure("mean", "mean over all bins of a curve"),
        Measure("final", "mean over the last quarter of the bins"),
        Measure("after-switch", "mean over the bins from the first move of the goal on"),
    )
}


def measure_named(name: str) -> Measure:
    """A measure by its name."""
    if name not in MEASURES:
        raise ValueError(f"--measure: unknown {name!r}" + near_miss(name, list(MEASURES)))
    return MEASURES[name]


def measured(folder: SweepFolder, measure: Measure) -> np.ndarray:
    """The number of every run of every cell, (cells, runs); NaN where a run diverged.

    Only the mean over all bins is in the table; for the others all curves are read.
    """
    if measure.name == "mean":
        return folder.values
    found = np.full_like(folder.values, np.nan)
    starts = first_bins(folder, measure)
    for row, curves in all_curves(folder):
        found[row] = curves[:, starts[row] :].mean(axis=1)
    return found


def first_bins(folder: SweepFolder, measure: Measure) -> dict[int, int]:
    """For every finished row of the table the bin from which on a measure takes the mean."""
    return {
        row: _first_bin(folder, measure, group, row)
        for group in folder.groups
        for row in group.rows.tolist()
    }


def _first_bin(folder: SweepFolder, measure: Measure, group: Group, row: int) -> int:
    _, bins = folder.bins
    if measure.name == "after-switch":
        return _after_switch(folder, group, row)
    return bins - max(1, bins // 4) if measure.name == "final" else 0


def _after_switch(folder: SweepFolder, group: Group, row: int) -> int:
    experiment, column = folder.experiment, folder.columns.get("domain.switch_every")
    every: Any = group.panel.domain.get("switch_every") if column is None else column[row]
    known = isinstance(every, int | float) and not isinstance(every, bool)
    width, bins = folder.bins
    start = -(-int(every) // width) if known and not experiment.steps else bins
    if start >= bins:
        raise ValueError(
            f"--measure after-switch: {folder.columns['cell'][row]!r} must have a goal that moves "
            f"before its last bin, got switch_every = {every!r}"
        )
    return start


def all_curves(folder: SweepFolder) -> Iterator[tuple[int, np.ndarray]]:
    """Every finished row of the table with its curves (runs, bins), read a few at a time."""
    rows = [row for group in folder.groups for row in group.rows.tolist()]
    names = folder.columns["hash"]
    with ThreadPoolExecutor(READERS) as pool:
        found = pool.map(lambda row: curves_of(folder, names[row]), rows)
        yield from zip(rows, found, strict=True)


def curves_of(folder: SweepFolder, name: str) -> np.ndarray:
    """The curves (runs, bins) of one cell, from its blocks, which are checked as they are read."""
    found = folder.store.curves(name, folder.index.get(name, []), folder.experiment.runs)
    if found is None:
        raise damaged(folder)
    return found


def damaged(folder: SweepFolder) -> ValueError:
    """The error for a block that cannot be used."""
    return ValueError(
        f"{folder.path}: blocks are missing or damaged; run `expectant sweep` again, which "
        "computes only those"
    )
