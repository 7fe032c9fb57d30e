"""Adaptive search: Optuna chooses which settings of a sweep are worth trying.

Every agent in every domain is searched for itself. The trials are asked for in batches of a fixed
size from a seeded sampler, so the same command asks for the same ones, and those that are in the
store already cost nothing: that is how an interrupted search goes on.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from expectant.engine.job import cores
from expectant.extras import need
from expectant.files import write_text
from expectant.lab.cells import Cell
from expectant.lab.engines.compute import Work, engine_named
from expectant.lab.engines.tasks import Kernels
from expectant.lab.specs.grid import Axis, PanelSpec, chosen, word
from expectant.lab.specs.spec import Experiment, parse_toml
from expectant.lab.store.cell_tables import run_values, write_cells
from expectant.lab.store.folder import SWEEP, opened
from expectant.lab.store.store import Store
from expectant.lab.store.timings import Session, Timings
from expectant.lab.sweep import Outcome
from expectant.seeds import one_word

BATCH = 4  # trials that are asked for at once, whatever the engine
DIGITS = 4  # of a number drawn from a range, so that ids stay readable
SEARCH = "search.json"


@dataclass(frozen=True)
class Space:
    """One agent in one domain: what is searched, and the settings that are given."""

    panel: PanelSpec
    agent: str
    axes: Sequence[Axis]
    given: Mapping[tuple[str, ...], Any]


@dataclass(frozen=True)
class Searched(Outcome):
    """What a search has done, and every trial, the best of each agent first."""

    trials: list[dict[str, Any]]

    def as_data(self) -> dict[str, Any]:
        return {**super().as_data(), "trials": self.trials}

    def text(self) -> str:
        best: dict[tuple[str, str], str] = {}
        for trial in self.trials:
            if trial["value"] is not None:
                line = f"best: {trial['cell']}: {trial['value']:.3f}"
                best.setdefault((trial["panel"], trial["agent"]), line)
        return "\n".join([super().text(), *best.values()])


def spaces(experiment: Experiment) -> Iterator[Space]:
    """Everything that is searched for itself: the settings of a domain are not for choosing."""
    for panel in experiment.panels:
        for agent in panel.agents:
            axes = panel.axes_for(agent)
            fixed = [axis for axis in axes if any(path[0] == "domain" for path in axis.paths)]
            free = [axis for axis in axes if axis not in fixed]
            for rows in itertools.product(*(axis.rows for axis in fixed)):
                yield Space(panel, agent, free, chosen(fixed, rows))


def run_search(
    experiment: Experiment,
    text: str,
    folder: Path,
    trials: int,
    *,
    threads: int | None = None,
    engine: str = "threads",
    address: str | None = None,
    compiled: bool | None = None,
    accept_versions: bool = False,
) -> Searched:
    """Try so many settings of every agent, and write the trials beside the results."""
    need("--search optuna", "optuna")
    data = parse_toml(text, experiment.name)
    kernels = Kernels(compiled)
    compute = engine_named(engine, threads, address, kernels)
    session, found = Session(threads or cores()), []
    with opened(folder, text, data, kind=SWEEP):
        store, timings = Store(folder, accept_versions), Timings(folder)
        total = Work([], store)

        def values_of(cells: Sequence[Cell]) -> list[float | None]:
            """The mean value of each cell, computed if need be; None where it failed."""
            work = Work(cells, store)
            part = Session(session.threads)
            work.do(compute, kernels, work.missing(), timings, part, experiment.name)
            _add(total, work, session, part)
            return _scores(work, experiment.of_errors)

        for space in spaces(experiment):
            found += _searched(experiment, space, trials, values_of)
        write_cells(total, folder, data)
        rank = partial(_rank, less=experiment.of_errors)
        found.sort(key=lambda trial: (trial["panel"], trial["agent"], -rank(trial["value"])))
        write_text(folder / SEARCH, json.dumps(found, indent=1) + "\n")
    return Searched(folder, total, session, found)


def _searched(
    experiment: Experiment, space: Space, trials: int, values_of: Any
) -> list[dict[str, Any]]:
    """One search; settings that are asked for again are listed once."""
    from optuna.trial import TrialState

    study = create_study(experiment.seed, less=experiment.of_errors)
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, trials if space.axes else 1, BATCH):
        asked = [study.ask() for _ in range(min(BATCH, trials - start))]
        settings = [{**space.given, **_drawn(trial, space.axes)} for trial in asked]
        cells = [experiment.cell(space.panel, space.agent, chosen) for chosen in settings]
        for trial, cell, value in zip(asked, cells, values_of(cells), strict=True):
            state = None if value is not None else TrialState.FAIL
            study.tell(trial, value, state)
            known = None if value is None or math.isinf(value) else value
            entry = {"panel": cell.panel, "agent": space.agent, "cell": cell.id, "value": known}
            found.setdefault(cell.id, entry)
    return list(found.values())


def _drawn(trial: Any, axes: Sequence[Axis]) -> dict[tuple[str, ...], Any]:
    """The settings that a trial suggests."""
    settings: dict[tuple[str, ...], Any] = {}
    for axis in axes:
        if axis.range is None:
            rows = {" ".join(map(word, row)): row for row in axis.rows}
            row = rows[trial.suggest_categorical(axis.where, list(rows))]
            settings.update(zip(axis.paths, row, strict=True))
            continue
        low, high, log = axis.range.low, axis.range.high, axis.range.log
        if axis.range.whole:
            value: float = trial.suggest_int(axis.where, low, high, log=log)
        else:
            drawn = trial.suggest_float(axis.where, float(low), float(high), log=log)
            value = min(max(float(f"{drawn:.{DIGITS}g}"), float(low)), float(high))
        settings[axis.paths[0]] = value
    return settings


def _scores(work: Work, of_errors: bool) -> list[float | None]:
    """The mean value over runs of every cell, the worst there is where one diverged."""
    values = run_values(work)
    scores: list[float | None] = []
    for name, cell in zip(work.names, work.cells, strict=True):
        if cell.id in work.failed:
            scores.append(None)
            continue
        means = [ended.mean for run, ended in values[name].items() if run < cell.runs]
        mean = float(np.mean(means))
        scores.append((math.inf if of_errors else -math.inf) if math.isnan(mean) else mean)
    return scores


def _add(total: Work, work: Work, session: Session, part: Session) -> None:
    """Count one batch."""
    known = set(total.names)
    new = {name: cell for name, cell in zip(work.names, work.cells, strict=True) if name}
    total.cells = [*total.cells, *(cell for name, cell in new.items() if name not in known)]
    total.names += [name for name in new if name not in known]
    total.failed.update(work.failed)
    total.found += work.found
    total.computed += work.computed
    for name in ("seconds", "compiling", "runs"):
        setattr(session, name, getattr(session, name) + getattr(part, name))


def _rank(value: float | None, less: bool) -> float:
    """What a trial is worth, the more the better."""
    return -math.inf if value is None else -value if less else value


def create_study(seed: int, *, less: bool = False, pruner: Any = None) -> Any:
    """An Optuna study with a seeded sampler; ``less`` if smaller values are better."""
    need("a search", "optuna")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=one_word(seed))
    directions = optuna.study.StudyDirection
    direction = directions.MINIMIZE if less else directions.MAXIMIZE
    return optuna.create_study(direction=direction, sampler=sampler, pruner=pruner)
