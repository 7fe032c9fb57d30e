"""Figures and report of a study, or of one experiment, from its curves and verdicts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from expectant import report
from expectant.analysis.adaptation import is_adaptation_test, score_adaptation
from expectant.analysis.looks import RULE
from expectant.analysis.panel import Panel
from expectant.experiments.claims import AT_SWITCHES, RULES, Verdict
from expectant.experiments.curves import CURVES
from expectant.experiments.grid import value_text
from expectant.experiments.runner import read_trials, stored_versions
from expectant.experiments.study import ABLATION, StudyConfig
from expectant.experiments.trials import Trial
from expectant.report.figure import FILES
from expectant.report.formatting import figure_name, format_two_digits
from expectant.report.terminal_tables import curve_rows

LONG_BINS, WINDOW_BINS = 300, 20  # from how many bins on only the moves of the goal are drawn


def write_report(
    config: StudyConfig, folder: Path, panels: Sequence[Panel], verdicts: Sequence[Verdict]
) -> list[Path]:
    """Write ``report.html``, whose charts are its own, and draw all figures."""
    page, names = write_study_page(config, folder, panels, verdicts), config.figures
    drawn = [path for figure in names for path in write_figures(config, folder, panels, figure)]
    return [*drawn, page]


def drawn_panels(panels: Sequence[Panel], figure: str, runs: int | None = None) -> list[Panel]:
    """Return the panels of a figure as they are drawn: long ones only around moves of the goal."""
    drawn: list[Panel] = []
    for panel in (panel.first_runs(runs) for panel in panels if panel.figure == figure):
        long = panel.first_episodes.size > LONG_BINS
        drawn += (panel.windows(WINDOW_BINS, WINDOW_BINS) if long else []) or [panel]
    return drawn


def close_up_panels(
    panels: Sequence[Panel], figure: str, runs: int | None, zoom: int | None
) -> list[Panel]:
    """Return the panels of a figure around the first move of the goal, none without a ``zoom``."""
    close_ups: list[Panel] = []
    for panel in panels if zoom else ():
        if panel.figure == figure:
            close_ups += panel.first_runs(runs).windows(*2 * [(zoom or 0) // panel.bin])[:1]
    return close_ups


def write_figures(
    config: StudyConfig, folder: Path, panels: Sequence[Panel], figure: str
) -> list[Path]:
    """Draw a figure under all interpretations, and under each with its close-ups."""
    runs, zoom = config.drawn_runs(figure), config.study.experiments[figure].zoom
    drawn, palette = drawn_panels(panels, figure, runs), report.palette_of(panels)
    everything = [*drawn, *close_up_panels(panels, figure, runs, zoom)]
    title, stem = config.warning * config.quick, folder / _figure_stem(config, figure)
    names = list(dict.fromkeys(panel.interpretation for panel in drawn))
    if len(names) == 1:
        return report.draw_panels(everything, title, stem, palette)
    paths = report.draw_panels(drawn, title, stem, palette)
    for name in names:
        chosen = [panel for panel in everything if panel.interpretation == name]
        paths += report.draw_panels(chosen, title, f"{stem}-{name}", palette)
    return paths


def _figure_stem(config: StudyConfig, figure: str) -> str:
    return f"figure-{figure}" if len(config.study.figures) > 1 else "figure"


def write_study_page(
    config: StudyConfig, folder: Path, panels: Sequence[Panel], verdicts: Sequence[Verdict]
) -> Path:
    """Write ``report.html``."""
    study, trials = config.study, config.trials
    order = [*study.figures, *(claim.figure for claim in study.claims)]
    ordered = sorted(verdicts, key=lambda verdict: (order.index(verdict.figure), verdict.id))
    entries, alerts = [verdict.to_dict() for verdict in ordered], _alerts(folder, trials)
    figures = [
        _figure_section(
            config, name, panels, [e for e in entries if e["figure"] == name], alerts[name]
        )
        for name in config.figures
    ]
    main = [section for section in figures if not section.figure.startswith(ABLATION)]
    ablations = [section for section in figures if section not in main]
    others = [entry for entry in entries if entry["figure"] not in config.figures]
    hint = f"experiments on {sum(bool(section.claims) for section in ablations)} explanations"
    means = ([], []) if study.claims else curve_rows(panels)
    paper_claims = sum(not claim.ours for claim in study.claims) if study.source else 0
    sections = [
        report.Header(
            study.title, "", study.notes, study.source, study.link,
            _header_facts(config, folder, panels), config.warning,
        ),
        report.Summary(entries, main, paper_claims),
        *_adaptation_tables(panels, trials),
        *main,
        report.Table(f"Mean {panels[0].quantity}", *means),
        report.Folded("Ablations", hint, ablations),
        report.Claims(others, "Discussion" if study.source else "Claims without a figure"),
        _rules(config, entries),
        report.Folded("Domains", "states, transitions and rewards", _show_worlds(config)),
        report.Environment({**stored_versions(folder), "seed": trials[0].seed}, config.command()),
    ]  # fmt: skip
    return report.write_page(folder / "report.html", sections, report.palette_of(panels))


def _header_facts(config: StudyConfig, folder: Path, panels: Sequence[Panel]) -> list[str]:
    """Return the date of the curves, the seed and the number of runs."""
    computed = datetime.fromtimestamp((folder / CURVES).stat().st_mtime, UTC)
    runs = sorted(curve.shape[0] for panel in panels for curve in panel.curves.values())
    counted = f"{runs[0]} to {runs[-1]}" if runs[0] < runs[-1] else str(runs[0])
    seed = f"seed {config.trials[0].seed}"
    date = f"{computed.day} {computed:%B %Y}"
    made = f"reproduced with expectant, {date}" if config.study.source else date
    return [made, seed, f"{counted} runs of every agent"]


def _rules(config: StudyConfig, entries: Sequence[Mapping[str, Any]]) -> report.Section:
    """Return the rules of verdicts and the meanings of the metrics of the claims."""
    judged = {entry["id"] for entry in entries}
    metrics = [m for claim in config.study.claims if claim.id in judged for m in claim.metrics]
    meanings = {metric.title: f"{metric.meaning}." for metric in metrics}
    looks = [RULE] if any(len(sizes) > 1 for sizes in config.looks.values()) else []
    return report.Rules([*RULES, *looks, AT_SWITCHES] if meanings else [], list(meanings.items()))


def _alerts(folder: Path, trials: Sequence[Trial]) -> dict[str, list[tuple[str, str]]]:
    """Return (trial, problem) of every figure."""
    alerts: dict[str, list[tuple[str, str]]] = {trial.experiment: [] for trial in trials}
    table = read_trials(folder)
    problems = [] if table is None else table["problem"].to_pylist()
    for trial, problem in zip(trials, problems, strict=False):
        if problem:
            who = ", ".join(filter(None, (trial.label, trial.panel, trial.interpretation)))
            alerts[trial.experiment].append((who, problem))
    return alerts


def _show_worlds(config: StudyConfig) -> list[report.Section]:
    """Show the pictures ``world-FIGURE.png`` in the folder of the study."""
    pictures = []
    for figure in config.figures:
        path = config.study.folder / f"world-{figure}.png"
        if path.is_file():
            domain = next(trial.domain for trial in config.trials if trial.experiment == figure)
            summary = (type(domain).__doc__ or "").splitlines()[0]
            pictures.append((f"{figure_name(figure)}: {summary}", path.read_bytes()))
    return [report.Worlds(pictures)] if pictures else []


def _figure_section(
    config: StudyConfig, figure: str, panels: Sequence[Panel], claims: Sequence[dict[str, Any]],
    alerts: Sequence[tuple[str, str]],
) -> report.Curves:  # fmt: skip
    """Return the section of a figure: its curves, the claims about it, and its parameters."""
    study, first, runs = config.study, config.study.experiments[figure], config.drawn_runs(figure)
    parameters: dict[str, list[str]] = {}
    for name in study.interpretations_of(figure):
        chosen = [t for t in config.trials if (t.experiment, t.interpretation) == (figure, name)]
        for parameter, value in _parameter_rows(chosen, runs):
            parameters.setdefault(parameter, []).append(value)
    close_ups = close_up_panels(panels, figure, runs, first.zoom)
    return report.Curves(
        figure,
        "" if first.title == study.title else first.title,  # which the page begins with
        report.chart_of(drawn_panels(panels, figure, runs)),
        claims,
        [f"mean of {runs} run{'s' * (runs > 1)} and 95 % bootstrap interval"],
        alerts,
        [f"{_figure_stem(config, figure)}.{kind}" for kind in FILES if not config.provisional],
        report.chart_of(close_ups) if close_ups else None,
        [(n, values if len({*values}) > 1 else values[:1]) for n, values in parameters.items()],
        first.notes,
        config.command(figure) if len(config.figures) > 1 else "",
    )


def _parameter_rows(trials: Sequence[Trial], runs: int) -> list[tuple[str, str]]:
    """Return every parameter of the trials of a figure as (name, value)."""
    first = trials[0]
    unit, record = "steps" if first.steps else "episodes", first.record
    rows = [(unit, f"{first.steps or first.episodes:,}"), ("runs", str(runs))]
    if record is None:
        rows.append(("bin", f"{first.width} {unit}"))
    else:
        longer = f", each interval {record.growth:g} times the last" if record.growth > 1 else ""
        rows.append((record.definition.title, f"every {record.every} {unit}{longer}"))
    for trial in trials:
        panel = f" ({trial.panel})" if trial.panel else ""
        rows.append((f"domain{panel}", _config_text(trial.domain)))
        rows.append((f"features{panel}", _config_text(trial.features)))
        rows.append((f"{trial.label}{panel}", _config_text(trial.agent)))
    return list(dict.fromkeys(rows))


def _config_text(component: Any) -> str:
    data = component.to_dict()
    kind = data.pop("kind")
    return f"{kind}: " + ", ".join(f"{key} = {_parameter_text(x)}" for key, x in data.items())


def _parameter_text(value: Any) -> str:
    """Format a parameter, a fixed step size as its number."""
    if not isinstance(value, dict):
        return str(value)
    if value.get("kind") == "fixed":
        bound = "" if value["bounded"] else ", unbounded"
        return f"{value['step']:g} (per {value['per']}{bound})".replace(" (per total)", "")
    return value_text(value).replace(",", ", ")


# ------------------------------------------------------------------------------------ local changes


def _adaptation_tables(panels: Sequence[Panel], trials: Sequence[Trial]) -> list[report.Section]:
    """Return verdicts on adaptation, where agents went through a local change, by figure."""
    tables: list[report.Section] = []
    for figure in dict.fromkeys(panel.figure for panel in panels if is_adaptation_test(panel)):
        chosen = [panel for panel in panels if panel.figure == figure]
        agents = {p.panel or p.figure: p.title or p.panel or figure_name(figure) for p in chosen}
        labels = {key: label for panel in chosen for key, label in panel.labels.items()}
        by_backups: dict[str, dict[str, tuple[str, str]]] = {}
        for row in adaptation_rows(chosen, trials):
            text = f"{format_two_digits(row['adaptation'])} (P1 {format_two_digits(row['P1'])})"
            by_backups.setdefault(row["backups"], {})[row["agent"]] = row["verdict"], text
        rows = [
            [labels[backups], *(cells.get(agent, "–") for agent in agents)]
            for backups, cells in by_backups.items()
        ]
        heading = f"Adaptation: {figure_name(figure)}"
        tables.append(report.Table(heading, ["backups", *agents.values()], rows))
    return tables


def adaptation_rows(panels: Sequence[Panel], trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return one row per curve of a test: names, settings, scores per run, means, verdict."""
    agents = {(trial.panel or trial.experiment, trial.agent_key): trial.agent for trial in trials}
    rows = []
    for panel in filter(is_adaptation_test, panels):
        for key, curves in panel.curves.items():
            name = panel.panel or panel.figure
            data = score_adaptation(panel, curves).as_data()
            settings = _changed_settings(agents[name, key])
            rows.append({"agent": name, "backups": key, "settings": settings, **data})
    return rows


def _changed_settings(agent: Any) -> str:
    """Write an agent without defaults and without its backups, which the row names."""
    settings = [
        f"{field.name}={getattr(agent, field.name)!r}"
        for field in dataclasses.fields(agent)
        if field.name != "backups" and getattr(agent, field.name) != field.default
    ]
    return f"{type(agent).__name__}({', '.join(settings)})"
