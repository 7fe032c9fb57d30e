"""Run a study, and write the results: curves, claims, figures, report."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from expectant.analysis.adaptation import is_adaptation_test, reference_returns
from expectant.analysis.looks import Arm
from expectant.analysis.panel import Panel
from expectant.core.files import write_text
from expectant.engine.progress import say
from expectant.experiments.claims import Verdict, judge_claims, plan_more_runs
from expectant.experiments.config_file import Experiment, read_config
from expectant.experiments.curves import (
    CURVES,
    group_panels,
    read_curves,
    read_facts,
    settings_hashes,
    write_curves,
)
from expectant.experiments.executors import make_engine
from expectant.experiments.runner import Work, arm_of, write_trials
from expectant.experiments.store import (
    CONFIG,
    RUN,
    STUDY,
    SWEEP,
    Store,
    check_layout,
    mark_folder,
    require_kind,
    rerun_command,
    versions,
)
from expectant.experiments.study import (
    ABLATION,
    LOCA,
    QUICK_RUNS,
    Study,
    StudyConfig,
    read_study,
    study_word,
)
from expectant.experiments.study_report import adaptation_rows, write_report, write_study_page
from expectant.experiments.toml_tables import read_text
from expectant.experiments.trials import cost

LOCA_ROWS = "loca.json"


def reproduce(
    config: StudyConfig, folder: Path, threads: int | None = None, target: Path | None = None
) -> list[Verdict]:
    """Compute what is missing in the store of a folder, and write all results to ``target``."""
    target = target or folder
    check_layout(folder)
    mark_folder(folder, STUDY)
    mark_folder(target, STUDY)
    work = run_in_looks(config, Store(folder), threads, target)
    say("drawing figures and page")
    return _write_results(config, target, work)


def run_in_looks(config: StudyConfig, store: Store, threads: int | None, target: Path) -> Work:
    """Compute the runs that figures draw, those of the first look, then of undecided claims.

    A first page is written to ``target`` when the figures can be drawn, if more runs may follow.
    """
    looks, engine = config.looks, make_engine(threads=threads)
    work = Work([replace(trial, runs=0) for trial in config.trials], store)
    most = {arm_of(trial): trial.runs for trial in config.trials}

    def run_stage(stage: str, runs: Mapping[Arm, int], is_last: bool = False) -> None:
        work.extend(runs)
        pairs = zip(work.names, work.trials, strict=True)  # equal trials have one name
        later = {name: cost(trial) * (most[arm_of(trial)] - trial.runs) for name, trial in pairs}
        title, later_cost = f"{config.study.name}, {stage}", sum(later.values())
        work.run_tasks(engine, work.missing_tasks(), title, 0.0 if is_last else later_cost)
        work.raise_failure()

    main = tuple(name for name in config.figures if not name.startswith(ABLATION))
    if main and any(len(looks[name]) > 1 for name in main):
        run_stage("figures", {arm: config.drawn_runs(arm[0]) for arm in most if arm[0] in main})
        if work.computed:
            _write_results(replace(config, figures=main, provisional=True), target, work)
    run_stage("first look", {arm: looks[arm[0]][0] for arm in most})
    while more := plan_more_runs(config.study.claims, work.panels(), looks):
        run_stage("undecided claims", more, is_last=True)
    return work


def _write_results(config: StudyConfig, target: Path, work: Work) -> list[Verdict]:
    """Write the table of trials, curves, claims, figures and report; or only a first page."""
    trials = [trial for trial in work.trials if trial.experiment in config.figures]
    panels = [panel for panel in work.panels() if panel.figure in config.figures]
    write_trials(work, target)
    write_curves(target / CURVES, panels, trials, config.facts())
    verdicts = judge_claims(config.study.claims, panels, config.study.sizes, config.looks)
    if config.provisional:
        say(f"first page: {write_study_page(config, target, panels, verdicts)}")
        return verdicts
    _write_verdicts(config, target, verdicts)
    write_report(config, target, panels, verdicts)
    if config.study.name == LOCA:
        references = reference_returns(next(filter(is_adaptation_test, panels)))
        rows = adaptation_rows(panels, trials)
        data = {"references": references, "seed": trials[0].seed, "rows": rows}
        _write_json(target / LOCA_ROWS, data)
    return verdicts


def _write_verdicts(config: StudyConfig, folder: Path, verdicts: Sequence[Verdict]) -> None:
    warning = {"warning": config.warning} if config.warning else {}
    _write_json(folder / "claims.json", [{**v.to_dict(), **warning} for v in verdicts])


def _write_json(path: Path, data: object) -> None:
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def choose_target(config: StudyConfig, folder: Path) -> Path:
    """Return the folder, or a subfolder if the folder has results of more than this config.

    So neither a quick run nor a single figure ever replaces results that took longer.
    """
    if not (folder / CURVES).exists():
        return folder
    facts, computed = read_facts(folder / CURVES), settings_hashes(config.trials)
    if facts.get("study") != study_word(config.study.folder):
        return folder
    stored_runs = QUICK_RUNS if facts["quick"] else facts["runs"]
    has_fewer_runs = (config.asked_runs or math.inf) < (stored_runs or math.inf)
    if not has_fewer_runs and not set(facts["trials"]) - set(computed):
        return folder
    target = folder / config.subfolder
    say(f"{folder} has results of more than this; these go to {target}")
    return target


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
        config, command = _one_figure(experiment, folder), rerun_command(folder)
    else:
        asked: dict[str, Any] = {name: facts[name] for name in ("seed", "runs", "quick")}
        asked |= {name: tuple(facts[name]) for name in ("figures", "panels", "agents")}
        config = StudyConfig(read_study(facts["study"], trust), **asked)
        command = f"{config.command()} --out {quote(str(folder))}"
    return config, group_panels(config.trials, read_curves(path, config.trials, command))


def rewrite_report(folder: Path, *, trust: bool = False) -> list[Path]:
    """Judge the claims of a results folder again, from its curves; write figures and report.

    ``trust`` imports its modules.
    """
    if require_kind(folder, RUN, SWEEP, STUDY) == SWEEP:
        from expectant.experiments.sweep_report import report_sweep

        return report_sweep(folder, trust=trust)
    config, panels = read_stored(folder, trust)
    verdicts = judge_claims(config.study.claims, panels, config.study.sizes, config.looks)
    if verdicts:
        _write_verdicts(config, folder, verdicts)
    return write_report(config, folder, panels, verdicts)


# ------------------------------------------------------------------------ experiments of one config


def write_experiment(experiment: Experiment, work: Work) -> list[Panel]:
    """Write the curves, the figure and the report of a finished experiment."""
    folder, panels = work.folder, work.panels()
    names = {"name": experiment.name, "title": experiment.title}
    facts = {"config": read_text(folder / CONFIG), **names, "versions": versions()}
    write_curves(folder / CURVES, panels, work.trials, facts)
    write_report(_one_figure(experiment, folder), folder, panels, [])
    return panels


def _one_figure(experiment: Experiment, folder: Path) -> StudyConfig:
    """Return an experiment as a study of one figure."""
    study = Study(
        name=experiment.name,
        title=experiment.title,
        figures=(experiment.name,),
        experiments={experiment.name: experiment},
        command=rerun_command(folder),
    )
    return StudyConfig(study, study.figures)
