"""Run a study, or vary its open details, and write the results: curves, claims, figures, report.

``vary_interpretations`` changes one detail at a time, from each interpretation. The effect of a
change is the difference of a claim's number, paired run by run with the unchanged interpretation,
with Holm's correction. A changed verdict may be due to chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.adaptation import is_adaptation_test, reference_returns
from expectant.analysis.looks import Arm
from expectant.analysis.panel import Panel, Unavailable
from expectant.analysis.verdicts import LEVEL, Finding, holm_correction
from expectant.core.files import write_text
from expectant.engine.progress import OverallProgress, say
from expectant.experiments.claims import Claim, Verdict, judge_claims, plan_more_runs
from expectant.experiments.config_file import Experiment, read_config
from expectant.experiments.curves import (
    CURVES,
    group_panels,
    read_curves,
    read_facts,
    settings_hashes,
    write_curves,
)
from expectant.experiments.engines import Kernels, make_engine
from expectant.experiments.runner import Work, arm_of, compute, write_trials
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
    Detail,
    DetailChoice,
    Study,
    StudyConfig,
    read_study,
    study_word,
)
from expectant.experiments.study_report import adaptation_rows, write_report, write_study_page
from expectant.experiments.toml_tables import read_text
from expectant.experiments.trials import Trial, cost

LOCA_ROWS, VARIANTS = "loca.json", "interpretations.json"


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
    looks, kernels = config.looks, Kernels()
    work = Work([replace(trial, runs=0) for trial in config.trials], store)
    engine = make_engine("threads", threads, None, kernels)
    most = {arm_of(trial): trial.runs for trial in config.trials}

    def run_stage(stage: str, runs: Mapping[Arm, int]) -> None:
        overall.stage = stage
        work.extend(runs)
        work.run_tasks(engine, kernels, work.missing(), overall)
        work.raise_failure()

    with OverallProgress(config.study.name, _cost_left(work, most)) as overall:
        main = tuple(name for name in config.figures if not name.startswith(ABLATION))
        if main and any(len(looks[name]) > 1 for name in main):
            run_stage("figures", {a: config.drawn_runs(a[0]) for a in most if a[0] in main})
            if work.computed:
                with overall.exclude_time():
                    _write_first_page(replace(config, figures=main, provisional=True), target, work)
        run_stage("first look", {arm: looks[arm[0]][0] for arm in most})
        while more := plan_more_runs(config.study.claims, work.panels(), looks):
            overall.total = overall.done + _cost_left(work, {arm: most[arm] for arm in more})
            run_stage("undecided claims", more)
    return work


def _write_first_page(config: StudyConfig, target: Path, work: Work) -> None:
    trials = [trial for trial in work.trials if trial.experiment in config.figures]
    panels = [panel for panel in work.panels() if panel.figure in config.figures]
    verdicts = judge_claims(config.study.claims, panels, config.study.sizes, config.looks)
    write_trials(work, target)
    write_curves(target / CURVES, panels, trials, config.facts())
    say(f"first page: {write_study_page(config, target, panels, verdicts)}")


def _cost_left(work: Work, runs: Mapping[Arm, int]) -> float:
    """Return the cost of the runs that trials lack, equal ones counted once."""
    left: dict[str, float] = {}
    for name, trial in zip(work.names, work.trials, strict=True):
        missing = runs.get(arm_of(trial), 0) - len(work.runs[name])
        left[name] = max(left.get(name, 0.0), cost(trial) * missing)
    return sum(left.values())


def _write_results(config: StudyConfig, target: Path, work: Work) -> list[Verdict]:
    """Write the table of trials, curves, claims, figures and report."""
    trials, panels = work.trials, work.panels()
    write_trials(work, target)
    write_curves(target / CURVES, panels, trials, config.facts())
    verdicts = judge_claims(config.study.claims, panels, config.study.sizes, config.looks)
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


# --------------------------------------------------------------------------- one detail at a time


class Variant(NamedTuple):
    """An interpretation with at most one detail changed."""

    interpretation: str
    detail: Detail | None = None
    choice: DetailChoice | None = None

    @property
    def name(self) -> str:
        if self.detail is None or self.choice is None:
            return self.interpretation
        return f"{self.interpretation}, {self.detail.name}: {self.choice.name}"

    def trials(self, config: StudyConfig) -> list[Trial]:
        """Return the trials of figures that the changed detail concerns."""
        changed = {self.detail.name: self.choice} if self.detail and self.choice else None
        return [
            trial
            for figure in config.figures
            if self.interpretation in config.study.interpretations_of(figure)
            if self.detail is None or self.detail.concerns(figure)
            for trial in config.experiment(figure, self.interpretation, changed).trials(self.name)
        ]


def list_variants(study: Study) -> list[Variant]:
    """Return each interpretation unchanged, then with every other choice of every detail."""
    variants = []
    for interpretation in study.interpretations:
        variants.append(Variant(interpretation))
        variants += [
            Variant(interpretation, detail, choice)
            for detail in study.details
            for choice in detail.choices
            if choice is not detail.choice_in(interpretation)
        ]
    return variants


def vary_interpretations(
    config: StudyConfig, folder: Path, threads: int | None = None
) -> list[dict[str, Any]]:
    """Run every variant, judge the claims and write interpretations.json; one row per variant.

    A row has the verdicts by claim, the changed ones, and by how much the numbers of every claim
    moved. Claims on the cost of a decision, which no detail changes, are left out.
    """
    study, variants = config.study, list_variants(config.study)
    claims = [claim for claim in study.claims if claim.clauses]
    if not claims or not any(variant.detail for variant in variants):
        raise ValueError(f"{study.name}: nothing to vary, no detail has a second choice")
    trials = [trial for variant in variants for trial in variant.trials(config)]
    work = compute(trials, Store(folder), threads=threads, title="one detail at a time")
    panels: dict[str, list[Panel]] = {variant.name: [] for variant in variants}
    for panel in group_panels(trials, work.curves()):
        panels[panel.interpretation].append(panel)
    rows: list[dict[str, Any]] = []
    unchanged: dict[str, dict[int, str]] = {}  # verdicts
    for variant in variants:
        now, before = panels[variant.name], panels[variant.interpretation]
        judged = judge_claims(claims, now, study.sizes)
        verdicts = {verdict.id: str(verdict.verdict) for verdict in judged}
        first = unchanged.setdefault(variant.interpretation, verdicts)
        moved = {claim.id: find_differences(claim, now, before) for claim in claims}
        rows.append(
            {
                "interpretation": variant.interpretation,
                "detail": variant.detail.name if variant.detail else None,
                "choice": variant.choice.name if variant.choice else None,
                "runs": min((verdict.runs for verdict in judged if verdict.runs), default=0),
                "verdicts": verdicts,
                "changed": [id for id, verdict in verdicts.items() if first[id] != verdict],
                "moved": {id: p for id, p in moved.items() if p} if variant.detail else {},
            }
        )
    mark_what_matters(rows)
    _write_json(folder / VARIANTS, rows)
    return rows


def find_differences(
    claim: Claim, panels: Sequence[Panel], unchanged: Sequence[Panel]
) -> list[dict[str, Any]]:
    """Return the difference of every part of a claim between panels, paired by run.

    Figures that a detail does not concern have no difference. The part that has moved the most
    margins comes first. A difference is clear if its interval is without zero; ``p`` is the p-value
    of its being within the margin, on either side.
    """
    figures = {panel.figure for panel in panels}
    groups = [[panel for panel in both if panel.figure in figures] for both in (panels, unchanged)]
    findings = list[Finding]()
    for clause in claim.clauses:
        try:
            parts = [replace(claim, clauses=(clause,)).parts(group) for group in groups]
        except Unavailable:
            continue
        findings += [clause.find(new, old) for (_, new), (_, old) in zip(*parts, strict=True)]
    rows = []
    for found in sorted(findings, key=_margins_moved, reverse=True):
        numbers = {"difference": found.effect, "low": found.low, "high": found.high}
        slack = found.statement.slack
        rows.append(
            {
                "part": found.label,
                **{k: float(f"{x:.6g}") if abs(x) < math.inf else None for k, x in numbers.items()},
                "margin": found.statement.margin,
                "clear": found.low > slack or found.high < -slack,
                "p": float(f"{min(1.0, 2.0 * found.p_fails):.3g}"),
            }
        )
    return rows


def _margins_moved(found: Finding) -> float:
    return abs(found.effect) / max(found.statement.margin, found.statement.slack)


def mark_what_matters(rows: Sequence[dict[str, Any]]) -> None:
    """Mark differences beyond the margin.

    With Holm's correction over all parts of all claims under all changes of an interpretation.
    """
    for interpretation in {row["interpretation"] for row in rows}:
        moved_rows = [row["moved"] for row in rows if row["interpretation"] == interpretation]
        parts = [part for row in moved_rows for claim in row.values() for part in claim]
        p_values = holm_correction(np.array([part["p"] for part in parts]))
        for part, p_value in zip(parts, p_values, strict=True):
            part["matters"] = bool(p_value <= 1.0 - LEVEL)
