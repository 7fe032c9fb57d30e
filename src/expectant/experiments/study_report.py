"""Figures and report of a study, or of one experiment, from its curves and verdicts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from expectant.analysis.adaptation import (
    AFTER,
    BEFORE,
    LOCAL,
    Score,
    adaptation_verdict,
    is_adaptation_test,
    score_adaptation,
)
from expectant.analysis.curves import interval
from expectant.analysis.panel import Panel
from expectant.experiments.claims import Verdict
from expectant.experiments.grid import value_text
from expectant.experiments.runner import troubles_of, troubles_section, version_rows
from expectant.experiments.study import StudyConfig
from expectant.experiments.trials import Trial

if TYPE_CHECKING:
    from expectant.report import Section

NO_BREAK = "\u00a0"  # a space at which no line ends
LONG_BINS, WINDOW_BINS = 300, 20  # from how many bins on only the moves of the goal are drawn
Drawn = Mapping[str, Sequence[Panel]]  # the panels of every figure as they are drawn


def write_report(
    config: StudyConfig, folder: Path, panels: Sequence[Panel], verdicts: Sequence[Verdict]
) -> list[Path]:
    """Draw all figures and write ``report.html``."""
    experiments = config.study.experiments
    drawn = {
        figure: select_panels(panels, figure, config.drawn_runs(figure), experiments[figure].zoom)
        for figure in config.figures
    }
    return [
        *_write_figures(config, folder, panels, drawn),
        _write_page(config, folder, panels, drawn, verdicts),
    ]


def select_panels(
    panels: Sequence[Panel], figure: str, runs: int | None = None, zoom: int | None = None
) -> list[Panel]:
    """Return the panels of a figure as they are drawn: long ones only around moves of the goal.

    With a ``zoom`` the panels of an interpretation come once more, around the first move.
    """
    chosen = [panel.first_runs(runs) for panel in panels if panel.figure == figure]
    selected = []
    for interpretation in dict.fromkeys(panel.interpretation for panel in chosen):
        group = [panel for panel in chosen if panel.interpretation == interpretation]
        for panel in group:
            long = panel.first_episodes.size > LONG_BINS
            selected += (panel.windows(WINDOW_BINS, WINDOW_BINS) if long else []) or [panel]
        for panel in group if zoom else []:
            selected += panel.windows(*2 * [(zoom or 0) // panel.bin])[:1]
    return selected


def _write_figures(
    config: StudyConfig, folder: Path, panels: Sequence[Panel], drawn: Drawn
) -> list[Path]:
    """Draw one PNG and one SVG per figure."""
    from expectant.report import draw_panels, palette_of

    paths, palette = [], palette_of(panels)
    for figure, figure_panels in drawn.items():
        title = f"Figure {figure}" if config.study.details else config.study.title
        available = min(panel.runs for panel in panels if panel.figure == figure)
        runs = f"n = {min(config.drawn_runs(figure), available)}".replace(" ", NO_BREAK)
        title += f" ({config.warning or runs})"
        name = f"figure-{figure}" if len(config.study.figures) > 1 else "figure"
        paths += draw_panels(figure_panels, title, folder / name, palette)
    return paths


def _write_page(
    config: StudyConfig,
    folder: Path,
    panels: Sequence[Panel],
    drawn: Drawn,
    verdicts: Sequence[Verdict],
) -> Path:
    from expectant.report import Claims, Environment, Glance, Header, palette_of, write_page

    trials, entries = config.trials, [verdict.to_dict() for verdict in verdicts]
    others = [entry for entry in entries if entry["figure"] not in config.figures]
    environment = [
        *version_rows(folder), ("seed", trials[0].seed), ("command", config.command()),
    ]  # fmt: skip
    sections = [
        Header(config.study.title, config.warning, config.study.notes),
        Glance(entries),
        _draw_worlds(config, trials),
        *_adaptation_section(panels, trials),
        *(
            section
            for figure, figure_panels in drawn.items()
            for section in _figure_sections(config, figure, figure_panels, trials, entries)
        ),
        Claims(others, "Claims without a figure"),
        troubles_section(troubles_of(folder)),
        Environment(environment),
    ]
    return write_page(folder / "report.html", sections, palette_of(panels))


def _draw_worlds(config: StudyConfig, trials: Sequence[Trial]) -> Section:
    """Draw the domains of the figures in ``worlds``."""
    from expectant.report import Worlds, world_picture
    from expectant.report.formatting import figure_name

    pictures = []
    for figure in config.study.worlds:
        if figure in config.figures:
            domain = next(trial.domain for trial in trials if trial.experiment == figure)
            summary = (type(domain).__doc__ or "").splitlines()[0]
            pictures.append((f"{figure_name(figure)}: {summary}", world_picture(domain)))
    return Worlds(pictures)


def _figure_sections(
    config: StudyConfig,
    figure: str,
    drawn: Sequence[Panel],
    trials: Sequence[Trial],
    entries: Sequence[dict[str, Any]],
) -> list[Section]:
    """Return the sections of a figure: its curves, the claims about it, and its parameters."""
    from expectant.report import Claims, Curves, Parameters, chart_of

    first = config.study.experiments[figure]
    title = "" if first.title == config.study.title else first.title  # which the page begins with
    tables = [
        (
            f"interpretation “{name}”" if name else "",
            _parameter_rows(
                [t for t in trials if (t.experiment, t.interpretation) == (figure, name)],
                config.drawn_runs(figure),
            ),
        )
        for name in config.study.interpretations_of(figure)
    ]
    return [
        Curves(figure, title, chart_of(drawn)),
        Claims([entry for entry in entries if entry["figure"] == figure]),
        Parameters(tables, first.notes, config.command(figure), config.study.folder_note),
    ]


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
    return value_text(value)


# ------------------------------------------------------------------------------------ local changes


def _adaptation_section(panels: Sequence[Panel], trials: Sequence[Trial]) -> list[Section]:
    """Return verdicts on adaptation, where agents went through a local change."""
    from expectant.report import Adaptation
    from expectant.report.formatting import figure_name

    figures = dict.fromkeys(panel.figure for panel in panels if is_adaptation_test(panel))
    tests = {
        figure_name(figure): adaptation_rows([p for p in panels if p.figure == figure], trials)
        for figure in figures
    }
    names = {
        panel.panel or panel.figure: panel.title or panel.panel or figure_name(panel.figure)
        for panel in panels
    }
    backups = {
        (panel.panel or panel.figure, key): label
        for panel in panels
        for key, label in panel.labels.items()
    }
    return [Adaptation(tests, names, backups)] if tests else []


def adaptation_rows(panels: Sequence[Panel], trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return one row per curve of a test: names, settings, scores per run, means, verdict."""
    agents = {(trial.panel or trial.experiment, trial.agent_key): trial.agent for trial in trials}
    rows = []
    for panel in filter(is_adaptation_test, panels):
        for key, curves in panel.curves.items():
            name = panel.panel or panel.figure
            data = score_as_data(score_adaptation(panel, curves))
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


def score_as_data(score: Score) -> dict[str, Any]:
    """Return a score with its verdict, ready for JSON; NaN becomes None."""

    def plain(value: float) -> float | None:
        return round(float(value), 6) if math.isfinite(value) else None

    verdict, why = adaptation_verdict(score.mean_first, score.mean_adaptation)
    low, high = (float(end) for end in interval(score.adaptation)[1:])
    return {
        "phase1": [plain(value) for value in score.ends[BEFORE]],
        "phase2": [plain(value) for value in score.ends[LOCAL]],
        "phase3": [plain(value) for value in score.ends[AFTER]],
        "P1": plain(score.mean_first),
        "adaptation": plain(score.mean_adaptation),
        "adaptation_low": plain(low),
        "adaptation_high": plain(high),
        "adaptation_by_seed": [plain(value) for value in score.adaptation],
        "adapted_seeds": score.adapted_runs,
        "verdict": verdict,
        "why": why,
    }
