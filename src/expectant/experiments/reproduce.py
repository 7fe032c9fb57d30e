"""Run a study, or read what was run: files, trials, curves, claims, page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from expectant.analysis.adaptation import is_adaptation_test, reference_returns
from expectant.analysis.curves import interval
from expectant.analysis.panel import Panel
from expectant.core.files import write_text
from expectant.engine.progress import say
from expectant.experiments.claims import Verdict, judge_claims
from expectant.experiments.config_file import Experiment, read_config
from expectant.experiments.curves import (
    CURVES,
    check_settings,
    panels_of,
    read_curves,
    read_facts,
    settings_hashes,
    write_curves,
)
from expectant.experiments.results_folder import (
    CONFIG,
    RUN,
    STUDY,
    SWEEP,
    check_layout,
    folder_note,
    mark_folder,
    require_kind,
    rerun_command,
    versions,
)
from expectant.experiments.runner import compute
from expectant.experiments.store import Store
from expectant.experiments.study import Study, find_study, read_study, study_of, word_for
from expectant.experiments.study_config import LOCA, StudyConfig
from expectant.experiments.study_report import rows_of, write_results
from expectant.experiments.sweep import Outcome
from expectant.experiments.timings import step_nanoseconds
from expectant.experiments.toml_tables import read_text
from expectant.experiments.trial_table import Trouble, write_trials

LOCA_ROWS = "loca.json"
Times = Mapping[tuple[str, str], float]  # nanoseconds a step, by panel and agent


def reproduce(
    request: StudyConfig, folder: Path, threads: int | None = None, place: Path | None = None
) -> list[Verdict]:
    """Compute what is missing in a folder, then write everything.

    ``place`` is where it is written, by default the folder itself, see :func:`place_for`.
    """
    target = place or folder
    check_layout(folder)
    mark_folder(folder, STUDY)
    mark_folder(target, STUDY)
    trials = request.trials()
    work = compute(trials, Store(folder), threads=threads, title=request.study.name)
    write_trials(work, target)
    panels = panels_of(trials, work.curves())
    write_curves(target / CURVES, panels, {**request.facts(), "trials": settings_hashes(trials)})
    say("judging claims, drawing figures, writing the page")
    verdicts = verdicts_of(request.study, panels)
    warning = {"warning": request.warning} if request.warning else {}
    _write_json(target / "claims.json", [{**found.to_dict(), **warning} for found in verdicts])
    write_results(request, target, panels, verdicts)
    if request.study.name == LOCA:
        known = reference_returns(next(filter(is_adaptation_test, panels)))
        rows = rows_of(panels, trials)
        _write_json(target / LOCA_ROWS, {"references": known, "seed": trials[0].seed, "rows": rows})
    return verdicts


def _write_json(path: Path, data: object) -> None:
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def place_for(request: StudyConfig, folder: Path) -> Path:
    """Where to write: the folder, or one within it if results of more than this are there.

    So neither a quick run nor a single figure ever replaces what took longer.
    """
    if not (folder / CURVES).exists():
        return folder
    facts = read_facts(folder / CURVES)
    if facts.get("study") != word_for(request.study.folder) or not request.is_less_than(facts):
        return folder
    place = folder / request.part
    say(f"{folder} has results of more than this; these go to {place}")
    return place


def verdicts_of(study: Study, panels: Sequence[Panel]) -> list[Verdict]:
    """Judge all claims of a study."""
    return judge_claims(study.claims, panels, study.sizes)


def read_stored(folder: Path, trust: bool = False) -> tuple[StudyConfig, list[Panel]]:
    """The request and the panels of a folder that ``reproduce``, or ``run``, has written."""
    path = folder / CURVES
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: run `expectant reproduce` first")
    check_layout(folder)
    facts = read_facts(path)
    if "spec" in facts:
        names = {key: facts[key] for key in ("name", "title") if key in facts}
        experiment = replace(read_config(folder / CONFIG, trust=trust), **names)
        request, command = _request(experiment, folder), rerun_command("run", folder)
    else:
        study = read_study(find_study(facts["study"]), trust)
        request = StudyConfig(
            study, tuple(facts["figures"]), facts["seed"], facts["runs"], facts["quick"],
            tuple(facts.get("panels", ())), tuple(facts.get("agents", ())),
        )  # fmt: skip
        command = f"{request.command()} --out {quote(str(folder))}"
    trials = request.trials()
    check_settings(path, trials, facts, command)
    return request, panels_of(trials, read_curves(path, trials))


def report_again(folder: Path, *, trust: bool = False) -> list[Path]:
    """Write the figures and the page of any results folder again; ``trust`` imports its modules."""
    if require_kind(folder, RUN, SWEEP, STUDY) == SWEEP:
        from expectant.experiments.sweep_report import draw_sweep, report_sweep

        return [*draw_sweep(folder, trust=trust), report_sweep(folder, trust=trust)]
    request, panels = read_stored(folder, trust)
    return write_results(request, folder, panels, verdicts_of(request.study, panels))


# ------------------------------------------------------------------------ experiments of one config


def write_experiment(experiment: Experiment, outcome: Outcome) -> list[Panel]:
    """Write the curves, the figure and the page of a finished experiment."""
    folder, panels = outcome.folder, outcome.panels()
    facts = {
        "spec": read_text(folder / CONFIG), "name": experiment.name, "title": experiment.title,
        "versions": versions(), "trials": settings_hashes(outcome.work.trials),
    }  # fmt: skip
    write_curves(folder / CURVES, panels, facts)
    write_results(_request(experiment, folder), folder, panels, [])
    return panels


def write_sweep(folder: Path) -> Path | None:
    """Write the page of a sweep, if anything of it is finished."""
    from expectant.experiments.sweep_report import report_sweep
    from expectant.experiments.sweep_results import read_folder

    if not any(len(group.rows) for group in read_folder(folder, trust=True).groups):
        return None
    return report_sweep(folder, trust=True)


def _request(experiment: Experiment, folder: Path) -> StudyConfig:
    """Ask for an experiment as for a study of one figure."""
    study = study_of(experiment, rerun_command("run", folder), folder_note(folder))
    return StudyConfig(study, (experiment.name,))


def times_of(outcome: Outcome) -> Times:
    """The time of a step of every agent, where it was measured."""
    trials = outcome.work.trials
    times = step_nanoseconds(outcome.work.names, outcome.folder)
    return {(c.panel, c.agent_key): time for c, time in zip(trials, times, strict=True)}


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
