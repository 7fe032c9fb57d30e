"""The folder of a sweep as groups of cells among which a choice is made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.panel import Panel, Unavailable
from expectant.lab.cells import Cell
from expectant.lab.engines.compute import Work
from expectant.lab.measures import Measure
from expectant.lab.specs.grid import PanelSpec, word
from expectant.lab.specs.spec import (
    Describer,
    Experiment,
    parse_toml,
    read_config,
    read_text,
    spec_hash,
)
from expectant.lab.store.cell_tables import CELLS, cell_table, is_of_spec, read_cells
from expectant.lab.store.folder import RUN, SPEC, SWEEP, need_kind
from expectant.lab.store.results import QUANTITIES, axes_of_panel
from expectant.lab.store.store import Span, Store
from expectant.parts import Agent, Domain, Features
from expectant.progress import say

CHOSEN = ("features.", "agent.")  # settings that are for choosing; those of the domain are not
READERS = 4


@dataclass(frozen=True, eq=False)
class Group:
    """One agent in one domain, in every setting that was tried.

    ``rows`` are the positions of its finished cells in the table, ``settings`` the columns that
    differ among them. The cells with fewer runs than asked for are ``unfinished`` and not chosen.
    """

    agent: str
    label: str
    problem: str
    rows: np.ndarray
    settings: dict[str, list[Any]]
    unfinished: np.ndarray


@dataclass(frozen=True, eq=False)
class SweepFolder:
    """A finished sweep: its spec, its store and its table of cells."""

    path: Path
    experiment: Experiment
    store: Store
    table: Any

    @cached_property
    def index(self) -> dict[str, list[Span]]:
        """The blocks that are there."""
        return self.store.index()

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """Every column of the table but the list of values."""
        names = [name for name in self.table.column_names if name != "values"]
        return {name: self.table[name].to_pylist() for name in names}

    @property
    def settings(self) -> list[str]:
        """The columns of the table that are settings."""
        return [name for name in self.columns if name.startswith(("domain.", *CHOSEN))]

    @cached_property
    def values(self) -> np.ndarray:
        """The mean of every run's curve, (cells, runs); NaN as well where a cell is unfinished."""
        found = np.full((self.table.num_rows, self.experiment.runs), np.nan)
        for row, values in enumerate(self.table["values"].to_pylist()):
            if len(values) == self.experiment.runs:
                found[row] = values
        return found

    @cached_property
    def groups(self) -> list[Group]:
        """Every agent in every domain, in the order of the table."""
        return list(_groups(self))

    @property
    def width(self) -> int:
        """How many episodes, or steps, a bin of a curve has."""
        experiment = self.experiment
        return -(-experiment.steps // experiment.bins) if experiment.steps else experiment.bin

    @property
    def quantity(self) -> str:
        """What the curves are of."""
        experiment = self.experiment
        if experiment.record is not None:
            return experiment.record.found.title
        return QUANTITIES.get(experiment.curve) or ("reward" if experiment.steps else "return")

    def positions(self, row: int) -> np.ndarray:
        """Where the points of a curve in the row of a finished cell stand; a bin in its middle."""
        if self.experiment.record is not None:
            return np.asarray(self.axes(row)["points"])
        length = self.experiment.steps or self.experiment.episodes
        return (np.arange(-(-length // self.width)) + 0.5) * self.width

    def axes(self, row: int) -> dict[str, Any]:
        """Where and of what looks are in the row of a finished cell; nothing without looks."""
        if self.experiment.record is None:
            return {}
        varied = [name for name in self.columns if name.startswith("domain.")]
        named = ("base_panel", "base_agent", "agent.discount", *varied)
        key = tuple(word(self.columns[name][row]) for name in named if name in self.columns)
        if key not in self._axes:
            self._axes[key] = axes_of_panel([self.cell(row, self.experiment.runs)])
        return self._axes[key]

    @cached_property
    def _axes(self) -> dict[Any, dict[str, Any]]:
        return {}

    def cell(self, row: int, runs: int) -> Cell:
        """The cell of a row, with so many runs, from what its first block says about it."""
        columns, describe = self.columns, Describer()
        name = columns["hash"][row]
        spans = self.index.get(name)
        facts = self.store.facts_of(name, spans[0]) if spans else None
        if facts is None:
            raise self.damaged()
        described: Mapping[str, Any] = facts.described
        return Cell(
            experiment=self.experiment.name,
            panel=columns["panel"][row],
            reading="",
            agent_key=columns["agent"][row],
            label=columns["label"][row],
            base_panel=columns["base_panel"][row],
            base_agent=columns["base_agent"][row],
            domain=describe(Domain, "domain", described["domain"]),
            features=describe(Features, "features", described["features"]),
            agent=describe(Agent, "agents", described["agent"]),
            **{**self.experiment.common(), "runs": runs},
        )

    def damaged(self) -> ValueError:
        """The error for a block that cannot be used."""
        return ValueError(
            f"{self.path}: blocks are missing or damaged; run `expectant run` again, which "
            "computes only those"
        )

    def switch_every(self, row: int) -> int | None:
        """After how many episodes the goal moves in the cell of a row; None: never."""
        column = self.columns.get("domain.switch_every")
        panels = {panel.name: panel for panel in self.experiment.panels}
        panel = panels[self.columns["base_panel"][row]]
        every: Any = panel.domain.get("switch_every") if column is None else column[row]
        known = isinstance(every, int | float) and not isinstance(every, bool)
        return int(every) if known else None

    @property
    def cells_hash(self) -> str:
        """Which cells the results are of, and how many runs of each: more come while it is run."""
        return spec_hash({name: self.columns[name] for name in ("cell", "hash", "runs")})

    @property
    def spec_hash(self) -> str:
        """Which spec the results belong to."""
        return spec_hash(parse_toml(read_text(self.path / SPEC), SPEC))


def read_folder(path: Path, *, trust: bool = False) -> SweepFolder:
    """The sweep in a folder; with ``trust``, classes that its spec names are imported.

    Without a table of all cells that belongs to the spec, one is made from the blocks.
    """
    need_kind(path, SWEEP, RUN)  # a run of a grid has cells to choose among, too
    given, store = parse_toml(read_text(path / SPEC), str(path / SPEC)), Store(path)
    title = given.get("title", given.get("name", path.resolve().name))
    experiment = replace(read_config(path / SPEC, trust=trust), title=title)
    table = read_cells(path) if (path / CELLS).exists() else None
    if table is None or not is_of_spec(table, given):
        say(f"{path}: the sweep is not finished; cells that lack runs are left out")
        table = cell_table(Work(experiment.cells(), store))
    if table.num_rows == 0:
        raise ValueError(f"{path}: the sweep has no cells")
    return SweepFolder(path, experiment, store, table)


def _groups(folder: SweepFolder) -> Iterable[Group]:
    panels = {panel.name: panel for panel in folder.experiment.panels}
    columns = folder.columns
    members: dict[tuple[str, str], list[int]] = {}
    for row, named in enumerate(zip(columns["base_panel"], columns["base_agent"], strict=True)):
        panel, agent = named
        if panel not in panels or agent not in panels[panel].agents:
            cell = columns["cell"][row]
            raise ValueError(f"{folder.path / CELLS}: {cell!r} is not in the spec beside it")
        members.setdefault(named, []).append(row)
    domain = [name for name in columns if name.startswith("domain.")]
    for (name, agent), rows in members.items():
        varied = _varied(columns, domain, rows)
        parts: dict[str, list[int]] = {}
        for row in rows:
            around = [f"{key}={word(columns[key][row])}" for key in varied]
            parts.setdefault(" ".join(filter(None, [name, *around])), []).append(row)
        for problem, some in parts.items():
            yield _group(folder, panels[name], agent, problem, some)


def _group(
    folder: SweepFolder, panel: PanelSpec, agent: str, problem: str, rows: Sequence[int]
) -> Group:
    columns = folder.columns
    finished = [row for row in rows if columns["runs"][row] == folder.experiment.runs]
    unfinished = np.setdiff1d(rows, finished)
    chosen = [name for name in columns if name.startswith(CHOSEN)]
    settings = {
        name: [columns[name][row] for row in finished] for name in _varied(columns, chosen, rows)
    }
    label = str(panel.agents[agent].get("label", agent))
    return Group(agent, label, problem, np.array(finished, int), settings, unfinished)


def _varied(columns: dict[str, list[Any]], names: Iterable[str], rows: Sequence[int]) -> list[str]:
    """The columns that are not the same in all these rows."""
    return [name for name in names if len({word(columns[name][row]) for row in rows}) > 1]


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
