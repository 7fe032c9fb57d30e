"""Write the figures and the page of a results folder, for the first time or again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import interval
from expectant.analysis.panel import Panel
from expectant.lab.reproduce import read_stored, verdicts_of, write_figures, write_report
from expectant.lab.request import Request
from expectant.lab.specs.spec import Experiment, read_config, read_text
from expectant.lab.store.cell_tables import Trouble
from expectant.lab.store.folder import RUN, SPEC, STUDY, SWEEP, again, need_kind, place_of, versions
from expectant.lab.store.results import (
    CURVES,
    check_settings,
    panels_of,
    read_curves,
    read_facts,
    settings_hashes,
    write_curves,
)
from expectant.lab.store.timings import step_nanoseconds
from expectant.lab.study import study_of
from expectant.lab.sweep import Outcome

Times = Mapping[tuple[str, str], float]  # nanoseconds a step, by panel and agent


def write_experiment(experiment: Experiment, outcome: Outcome) -> list[Panel]:
    """Write the curves, the figure and the page of a finished experiment."""
    folder, panels = outcome.folder, outcome.panels()
    facts = {
        "spec": read_text(folder / SPEC), "name": experiment.name, "title": experiment.title,
        "versions": versions(), "cells": settings_hashes(outcome.work.cells),
    }  # fmt: skip
    write_curves(folder / CURVES, panels, facts)
    _write(_request(experiment, folder), folder, panels)
    return panels


def write_sweep(folder: Path) -> Path | None:
    """Write the page of a sweep, if anything of it is finished."""
    from expectant.lab.choosing.choice_page import report_sweep
    from expectant.lab.choosing.sweep_folder import read_folder

    if not any(len(group.rows) for group in read_folder(folder, trust=True).groups):
        return None
    return report_sweep(folder, trust=True)


def report_again(folder: Path, *, trust: bool = False) -> list[Path]:
    """Write the figures and the page of any results folder again; ``trust`` imports its modules."""
    kind = need_kind(folder, RUN, SWEEP, STUDY)
    if kind == SWEEP:
        from expectant.lab.choosing.choice_figures import draw_sweep
        from expectant.lab.choosing.choice_page import report_sweep

        return [*draw_sweep(folder, trust=trust), report_sweep(folder, trust=trust)]
    request, panels = _read_run(folder, trust) if kind == RUN else read_stored(folder, trust)
    return _write(request, folder, panels)


def _write(request: Request, folder: Path, panels: Sequence[Panel]) -> list[Path]:
    figures = write_figures(request, folder, panels)
    return [*figures, write_report(request, folder, panels, verdicts_of(request.study, panels))]


def _request(experiment: Experiment, folder: Path) -> Request:
    """Ask for an experiment as for a study of one figure."""
    study = study_of(experiment, again("run", folder), place_of(folder))
    return Request(study, (experiment.name,))


def _read_run(folder: Path, trust: bool) -> tuple[Request, list[Panel]]:
    """Read the request and the curves of an experiment's folder."""
    facts = read_facts(folder / CURVES)  # a spec without a name has that of its file
    names = {key: facts[key] for key in ("name", "title") if key in facts}
    experiment = replace(read_config(folder / SPEC, trust=trust), **names)
    request = _request(experiment, folder)
    cells = request.cells()
    check_settings(folder / CURVES, cells, facts, again("run", folder))
    return request, panels_of(cells, read_curves(folder / CURVES, cells))


def times_of(outcome: Outcome) -> Times:
    """The time of a step of every agent, where it was measured."""
    cells = outcome.work.cells
    times = step_nanoseconds(outcome.work.names, outcome.folder)
    return {(c.panel, c.agent_key): time for c, time in zip(cells, times, strict=True)}


def summary(
    panels: Sequence[Panel], times: Times, troubles: Sequence[Trouble] = ()
) -> list[dict[str, Any]]:
    """Mean returns with intervals, the time of a step and what went wrong, as plain data."""
    rows, known = [], {(found.panel, found.agent): found for found in troubles}
    for panel in panels:
        for agent, curve in panel.curves.items():
            time = times.get((panel.panel, agent), float("nan"))
            diverged = int(np.isnan(curve).any(axis=1).sum())
            numbers = [None] * 3 if diverged else [float(x) for x in interval(curve.mean(axis=1))]
            trouble = known.get((panel.panel, agent))
            rows.append(
                {
                    "panel": panel.panel,
                    "agent": agent,
                    "runs": curve.shape[0],
                    "diverged": diverged,
                    "divergence": trouble.divergence if trouble else "",
                    "evicted": trouble.evicted if trouble else 0,
                    **dict(zip(("mean_return", "low", "high"), numbers, strict=True)),
                    "optimum": None if np.isnan(panel.optimum) else panel.optimum,
                    "step_nanoseconds": None if np.isnan(time) else time,
                }
            )
    return rows
