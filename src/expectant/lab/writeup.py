"""Run one spec, and draw or write up any results folder again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import interval
from expectant.analysis.panel import Panel
from expectant.lab.engines.compute import Work, computed, step_times
from expectant.lab.reproduce import read_stored, verdicts_of, write_figures, write_report
from expectant.lab.request import Request
from expectant.lab.specs.spec import Experiment, parse_toml, read_spec, spec_hash
from expectant.lab.store.cell_tables import write_cells
from expectant.lab.store.facts import commit, versions
from expectant.lab.store.folder import again, opened, place_of
from expectant.lab.store.folder_layout import LOCA, RUN, SPEC, STUDY, SWEEP, need_kind
from expectant.lab.store.results import (
    CURVES,
    check_settings,
    panels_of,
    read_curves,
    read_facts,
    settings_hashes,
    write_curves,
)
from expectant.lab.store.store import Store
from expectant.lab.store.troubles import Trouble
from expectant.lab.study import study_of
from expectant.lab.sweep import tidy


def request_for_spec(experiment: Experiment, folder: Path) -> Request:
    """A spec as a study of one figure, whose results are in a folder."""
    study = study_of(experiment, again("run", folder), place_of(folder))
    return Request(study, (experiment.name,))


def run_experiment(
    experiment: Experiment, text: str, folder: Path, threads: int | None
) -> list[Panel]:
    """Compute what is missing, then write the curves, the spec, the figure and the page."""
    data = parse_toml(text, experiment.name)
    cells = experiment.cells()
    with opened(folder, text, data, kind=RUN):
        store = Store(folder, {"spec": spec_hash(data), "commit": commit()})
        tidy(store, set(Work(cells, store).names))
        work, curves = computed(cells, store, threads=threads, title=experiment.name)
        write_cells(work, folder, data)
        panels = panels_of(cells, curves)
        facts = {"spec": text, "name": experiment.name, "title": experiment.title}
        more = {"versions": versions(), "cells": settings_hashes(cells)}
        write_curves(folder / CURVES, panels, {**facts, **more})
        request = request_for_spec(experiment, folder)
        write_figures(request, folder, panels)
        write_report(request, folder, panels, [])
    return panels


def times(experiment: Experiment, folder: Path) -> dict[tuple[str, str], float]:
    """Nanoseconds a step by panel and agent, where they were measured."""
    cells = experiment.cells()
    found = step_times(cells, Store(folder))
    return {(c.panel, c.agent_key): time for c, time in zip(cells, found, strict=True)}


def summary(
    panels: Sequence[Panel],
    times: Mapping[tuple[str, str], float],
    troubles: Sequence[Trouble] = (),
) -> list[dict[str, Any]]:
    """Mean returns with intervals, the time of a step and what went wrong, as plain data."""
    rows, known = [], {(found.panel, found.agent): found for found in troubles}
    for panel in panels:
        for agent, curve in panel.curves.items():
            time = times.get((panel.panel, agent), float("nan"))
            mean, low, high = (float(x) for x in interval(curve.mean(axis=1)))
            diverged = int(np.isnan(curve).any(axis=1).sum())
            trouble = known.get((panel.panel, agent))
            rows.append(
                {
                    "panel": panel.panel,
                    "agent": agent,
                    "runs": curve.shape[0],
                    "diverged": diverged,
                    "divergence": trouble.divergence if trouble else "",
                    "evicted": trouble.evicted if trouble else 0,
                    "mean_return": mean if diverged == 0 else None,
                    "low": low if diverged == 0 else None,
                    "high": high if diverged == 0 else None,
                    "optimum": panel.optimum if panel.optimum == panel.optimum else None,
                    "step_nanoseconds": None if np.isnan(time) else time,
                }
            )
    return rows


def draw_again(folder: Path, *, trust: bool = False) -> list[Path]:
    """The figures of a results folder; with ``trust``, classes that its spec names are imported."""
    kind = need_kind(folder, RUN, SWEEP, STUDY, LOCA)
    if kind == SWEEP:
        from expectant.lab.choosing.best_command import draw_sweep

        return draw_sweep(folder, trust=trust)
    request, panels = _stored_run(folder, trust) if kind == RUN else read_stored(folder, trust)
    return write_figures(request, folder, panels)


def report_again(folder: Path, *, trust: bool = False) -> Path:
    """The page of a results folder, on the same terms."""
    kind = need_kind(folder, RUN, SWEEP, STUDY, LOCA)
    if kind == SWEEP:
        from expectant.lab.choosing.choice_page import report_sweep

        return report_sweep(folder, trust=trust)
    request, panels = _stored_run(folder, trust) if kind == RUN else read_stored(folder, trust)
    return write_report(request, folder, panels, verdicts_of(request.study, panels))


def _stored_run(folder: Path, trust: bool) -> tuple[Request, list[Panel]]:
    """What was asked for in a folder of `run`, and what came out."""
    facts = read_facts(folder / CURVES)  # a spec without a name has that of its file
    names = {key: facts[key] for key in ("name", "title") if key in facts}
    experiment = replace(read_spec(folder / SPEC, trust=trust), **names)
    cells = experiment.cells()
    check_settings(folder / CURVES, cells, facts, again("run", folder))
    return request_for_spec(experiment, folder), panels_of(
        cells, read_curves(folder / CURVES, cells)
    )
