"""Run a study and write its results: trials, curves, claims, figures and report."""

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
    group_panels,
    read_curves,
    read_facts,
    settings_hashes,
    write_curves,
)
from expectant.experiments.runner import Trouble, compute, write_trials
from expectant.experiments.store import (
    CONFIG,
    RUN,
    STUDY,
    SWEEP,
    Store,
    check_layout,
    folder_note,
    mark_folder,
    require_kind,
    rerun_command,
    step_nanoseconds,
    versions,
)
from expectant.experiments.study import Study, find_study, read_study, study_of, study_word
from expectant.experiments.study_config import LOCA, StudyConfig
from expectant.experiments.study_report import adaptation_rows, write_report
from expectant.experiments.sweep import Outcome
from expectant.experiments.toml_tables import read_text

LOCA_ROWS = "loca.json"
Times = Mapping[tuple[str, str], float]  # nanoseconds a step, by panel and agent


def reproduce(
    config: StudyConfig, folder: Path, threads: int | None = None, target: Path | None = None
) -> list[Verdict]:
    """Compute what is missing in the store of a folder, then write all results to ``target``."""
    target = target or folder
    check_layout(folder)
    mark_folder(folder, STUDY)
    mark_folder(target, STUDY)
    trials = config.trials()
    work = compute(trials, Store(folder), threads=threads, title=config.study.name)
    write_trials(work, target)
    panels = group_panels(trials, work.curves())
    write_curves(target / CURVES, panels, {**config.facts(), "trials": settings_hashes(trials)})
    say("judging claims, drawing figures, writing the report")
    verdicts = judge_study(config.study, panels)
    warning = {"warning": config.warning} if config.warning else {}
    _write_json(target / "claims.json", [{**v.to_dict(), **warning} for v in verdicts])
    write_report(config, target, panels, verdicts)
    if config.study.name == LOCA:
        references = reference_returns(next(filter(is_adaptation_test, panels)))
        rows = adaptation_rows(panels, trials)
        data = {"references": references, "seed": trials[0].seed, "rows": rows}
        _write_json(target / LOCA_ROWS, data)
    return verdicts


def _write_json(path: Path, data: object) -> None:
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def choose_target(config: StudyConfig, folder: Path) -> Path:
    """Return the folder, or a subfolder if the folder has results of more than this config.

    So neither a quick run nor a single figure ever replaces results that took longer.
    """
    if not (folder / CURVES).exists():
        return folder
    facts = read_facts(folder / CURVES)
    if facts.get("study") != study_word(config.study.folder) or not config.is_less_than(facts):
        return folder
    target = folder / config.subfolder
    say(f"{folder} has results of more than this; these go to {target}")
    return target


def judge_study(study: Study, panels: Sequence[Panel]) -> list[Verdict]:
    """Judge all claims of a study."""
    return judge_claims(study.claims, panels, study.sizes)


def read_stored(folder: Path, trust: bool = False) -> tuple[StudyConfig, list[Panel]]:
    """Read the config and the panels that ``reproduce``, or ``run``, has written to a folder."""
    path = folder / CURVES
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: run `expectant reproduce` first")
    check_layout(folder)
    facts = read_facts(path)
    if "config" in facts:
        names = {key: facts[key] for key in ("name", "title") if key in facts}
        experiment = replace(read_config(folder / CONFIG, trust=trust), **names)
        config, command = _one_figure(experiment, folder), rerun_command("run", folder)
    else:
        study = read_study(find_study(facts["study"]), trust)
        config = StudyConfig(
            study, tuple(facts["figures"]), facts["seed"], facts["runs"], facts["quick"],
            tuple(facts["panels"]), tuple(facts["agents"]),
        )  # fmt: skip
        command = f"{config.command()} --out {quote(str(folder))}"
    trials = config.trials()
    check_settings(path, trials, facts, command)
    return config, group_panels(trials, read_curves(path, trials))


def rewrite_report(folder: Path, *, trust: bool = False) -> list[Path]:
    """Write figures and report of a results folder again; ``trust`` imports its modules."""
    if require_kind(folder, RUN, SWEEP, STUDY) == SWEEP:
        from expectant.experiments.sweep_report import draw_sweep, report_sweep

        return [*draw_sweep(folder, trust=trust), report_sweep(folder, trust=trust)]
    config, panels = read_stored(folder, trust)
    return write_report(config, folder, panels, judge_study(config.study, panels))


# ------------------------------------------------------------------------ experiments of one config


def write_experiment(experiment: Experiment, outcome: Outcome) -> list[Panel]:
    """Write the curves, the figure and the report of a finished experiment."""
    folder, panels = outcome.folder, outcome.panels()
    facts = {
        "config": read_text(folder / CONFIG), "name": experiment.name, "title": experiment.title,
        "versions": versions(), "trials": settings_hashes(outcome.work.trials),
    }  # fmt: skip
    write_curves(folder / CURVES, panels, facts)
    write_report(_one_figure(experiment, folder), folder, panels, [])
    return panels


def write_sweep(folder: Path) -> Path | None:
    """Write the report of a sweep, if any trial is finished."""
    from expectant.experiments.sweep_report import report_sweep
    from expectant.experiments.sweep_results import read_folder

    if not any(len(group.rows) for group in read_folder(folder, trust=True).groups):
        return None
    return report_sweep(folder, trust=True)


def _one_figure(experiment: Experiment, folder: Path) -> StudyConfig:
    """Return an experiment as a study of one figure."""
    study = study_of(experiment, rerun_command("run", folder), folder_note(folder))
    return StudyConfig(study, (experiment.name,))


def step_times(outcome: Outcome) -> Times:
    """Return the time of a step of every agent, where it was measured."""
    trials = outcome.work.trials
    times = step_nanoseconds(outcome.work.names, outcome.folder)
    return {(t.panel, t.agent_key): time for t, time in zip(trials, times, strict=True)}


def summarise(
    panels: Sequence[Panel], times: Times, troubles: Sequence[Trouble] = ()
) -> list[dict[str, Any]]:
    """Return mean returns with intervals, step times and troubles, as plain data."""
    rows, troubles_by_name = [], {(trouble.panel, trouble.agent): trouble for trouble in troubles}
    for panel in panels:
        for agent, curve in panel.curves.items():
            time = times.get((panel.panel, agent), float("nan"))
            diverged = int(np.isnan(curve).any(axis=1).sum())
            numbers = [None] * 3 if diverged else [float(x) for x in interval(curve.mean(axis=1))]
            trouble = troubles_by_name.get((panel.panel, agent))
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
