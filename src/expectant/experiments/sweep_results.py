"""Results of a sweep: groups of trials among which the best setting is chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.panel import Panel, Unavailable
from expectant.engine.progress import say
from expectant.experiments.config_file import Experiment, read_config
from expectant.experiments.curves import QUANTITIES, panel_axes
from expectant.experiments.grid import agent_label, value_text
from expectant.experiments.metrics import Metric
from expectant.experiments.runner import Work, read_trials, trials_hash
from expectant.experiments.store import CONFIG, RUN, SWEEP, Store, require_kind, table_metadata
from expectant.experiments.toml_tables import parse_toml, read_text
from expectant.experiments.trials import Trial

READERS = 4


@dataclass(frozen=True, eq=False)
class Group:
    """One agent in one domain, in every setting that was tried.

    ``rows`` are the positions of its finished trials in the table, ``settings`` the columns that
    differ among them. The trials with fewer runs than asked for are ``unfinished`` and not chosen.
    """

    agent: str
    label: str
    problem: str
    rows: np.ndarray
    settings: dict[str, list[Any]]
    unfinished: np.ndarray


@dataclass(frozen=True, eq=False)
class SweepFolder:
    """A finished sweep: its config, its store and its table of trials."""

    path: Path
    experiment: Experiment
    store: Store
    table: Any
    _axes: dict[Any, dict[str, Any]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """Every column of the table but the list of values."""
        names = [name for name in self.table.column_names if name != "values"]
        return {name: self.table[name].to_pylist() for name in names}

    @cached_property
    def values(self) -> np.ndarray:
        """The mean of every run's curve, (trials, runs); also NaN where a trial is unfinished."""
        means = np.full((self.table.num_rows, self.experiment.runs), np.nan)
        for row, values in enumerate(self.table["values"].to_pylist()):
            if len(values) == self.experiment.runs:
                means[row] = values
        return means

    @cached_property
    def groups(self) -> list[Group]:
        """Every agent in every domain, in the order of the table."""
        columns, members = self.columns, dict[tuple[str, str], list[int]]()
        for row, names in enumerate(zip(columns["base_panel"], columns["base_agent"], strict=True)):
            members.setdefault(names, []).append(row)
        problems: dict[tuple[str, str, str], list[int]] = {}
        for (panel, agent), rows in members.items():
            around = self._varied("domain.", rows)
            for row in rows:
                varied = [f"{name}={value_text(columns[name][row])}" for name in around]
                problem = " ".join(filter(None, [panel, *varied]))
                problems.setdefault((panel, agent, problem), []).append(row)
        return [self._make_group(*names, rows) for names, rows in problems.items()]

    def _make_group(self, panel: str, agent: str, problem: str, tried: list[int]) -> Group:
        tables = next(each.agents for each in self.experiment.panels if each.name == panel)
        finished = [row for row in tried if self.columns["runs"][row] == self.experiment.runs]
        names = [*self._varied("features.", tried), *self._varied("agent.", tried)]
        settings = {name: [self.columns[name][row] for row in finished] for name in names}
        unfinished = np.setdiff1d(tried, finished)
        label = agent_label(agent, tables[agent])
        return Group(agent, label, problem, np.array(finished, int), settings, unfinished)

    def _varied(self, prefix: str, rows: list[int]) -> list[str]:
        """Return the settings that differ among rows."""
        columns = {name: c for name, c in self.columns.items() if name.startswith(prefix)}
        return [n for n, c in columns.items() if len({value_text(c[row]) for row in rows}) > 1]

    @property
    def quantity(self) -> str:
        experiment = self.experiment
        if experiment.record is not None:
            return experiment.record.definition.title
        return QUANTITIES.get(experiment.curve) or ("reward" if experiment.steps else "return")

    def panel(self, row: int, curves: np.ndarray) -> Panel:
        """Return the curves (runs, bins) of a row's trial as a panel without exact solutions."""
        trial = self.trial(row, self.experiment.runs)
        key = trial.panel, trial.base_agent, trial.agent.discount
        if key not in self._axes:
            switches = not trial.steps and trial.record is None
            self._axes[key] = {
                "bin": trial.width,
                "switch_every": trial.domain.switch_every if switches else None,
                "optimum": math.nan,
                **({} if trial.record is None else panel_axes([trial])),
            }
        axes = self._axes[key]
        return Panel(self.experiment.name, "", "", curves={"": curves}, labels={"": ""}, **axes)

    @cached_property
    def trials(self) -> dict[str, Trial]:
        """The trials of the config by id."""
        return {trial.id: trial for trial in self.experiment.trials()}

    def trial(self, row: int, runs: int) -> Trial:
        """Return the trial of a row, with ``runs`` runs."""
        return replace(self.trials[self.columns["trial"][row]], runs=runs)

    def curves(self, row: int) -> np.ndarray:
        """Read the curves (runs, bins) of a row's trial."""
        return self.store.curves(self.columns["hash"][row], self.experiment.runs)

    def all_curves(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield every finished row with its curves (runs, bins), read a few at a time."""
        rows = [row for group in self.groups for row in group.rows.tolist()]
        with ThreadPoolExecutor(READERS) as pool:
            yield from zip(rows, pool.map(self.curves, rows), strict=True)

    def compute_metric(self, metric: Metric) -> np.ndarray:
        """Compute a metric of every run of every trial, (trials, runs); NaN where a run diverged.

        Only the mean over all bins is in the table; for the others all curves are read.
        """
        if metric.name == "mean":
            return self.values
        values = np.full_like(self.values, np.nan)
        for row, curves in self.all_curves():
            values[row] = self.metric_of_row(metric, row, curves)
        return values

    def metric_of_row(self, metric: Metric, row: int, curves: np.ndarray) -> np.ndarray:
        """Compute a metric (runs,) of the curves (runs, bins) of one row."""
        if metric.needs_optimum:
            raise ValueError(
                f"--metric {metric.name}: compares with acting ε-greedily on q*, "
                "which sweeps do not keep"
            )
        try:
            return metric.of(self.panel(row, curves), curves)
        except Unavailable as reason:
            trial = self.columns["trial"][row]
            raise ValueError(f"--metric {metric.name}: {trial!r}: {reason}") from None


def read_folder(path: Path, *, trust: bool = False) -> SweepFolder:
    """Read the sweep in a folder; with ``trust``, classes that its config names are imported.

    Without a table of all trials that belongs to the config, one is made from the batches.
    """
    require_kind(path, SWEEP, RUN)  # a run of a grid has trials to choose among, too
    data, store = parse_toml(read_text(path / CONFIG), str(path / CONFIG)), Store(path)
    title = data.get("title", data.get("name", path.resolve().name))
    experiment = replace(read_config(path / CONFIG, trust=trust), title=title)
    table = read_trials(path)
    if table is None or table_metadata(table).get("trials_of") != trials_hash(data):
        say(f"{path}: the sweep is not finished; trials that lack runs are left out")
        table = Work(experiment.trials(), store).table()
    return SweepFolder(path, experiment, store, table)
