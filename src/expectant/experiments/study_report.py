"""The figures and the page of a study, or of one experiment, from its curves and verdicts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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
from expectant.experiments.study_config import StudyConfig
from expectant.experiments.trial_table import troubles_of, troubles_section, version_rows
from expectant.experiments.trials import Trial

if TYPE_CHECKING:
    from expectant.report import Section

NO_BREAK = "\u00a0"  # a space at which no line ends
LONG_BINS, WINDOW_BINS = 300, 20  # from how many bins on only the moves of the goal are drawn
Drawn = Mapping[str, Sequence[Panel]]  # the panels of every figure as they are drawn


def write_results(
    request: StudyConfig, folder: Path, panels: Sequence[Panel], verdicts: Sequence[Verdict]
) -> list[Path]:
    """Draw all figures and write the page."""
    drawn = {
        figure: shown(panels, figure, request.drawn(figure), request.study.experiments[figure].zoom)
        for figure in request.figures
    }
    return [
        *_write_figures(request, folder, panels, drawn),
        _write_page(request, folder, panels, drawn, verdicts),
    ]


def shown(
    panels: Sequence[Panel], figure: str, runs: int | None = None, zoom: int | None = None
) -> list[Panel]:
    """The panels of a figure as they are drawn: with so many runs, and where they are long only
    around the moves of the goal.

    With a ``zoom`` the panels of an interpretation come once more, around the first move.
    """
    chosen = [panel.first_runs(runs) for panel in panels if panel.figure == figure]
    found = []
    for interpretation in dict.fromkeys(panel.interpretation for panel in chosen):
        own = [panel for panel in chosen if panel.interpretation == interpretation]
        for panel in own:
            long = panel.first_episodes.size > LONG_BINS
            found += (panel.windows(WINDOW_BINS, WINDOW_BINS) if long else []) or [panel]
        for panel in own if zoom else []:
            found += panel.windows(*2 * [(zoom or 0) // panel.bin])[:1]
    return found


def _write_figures(
    request: StudyConfig, folder: Path, panels: Sequence[Panel], drawn: Drawn
) -> list[Path]:
    """Draw one PNG and one SVG per figure."""
    from expectant.report import draw_panels, palette_of

    paths, palette = [], palette_of(panels)
    for figure, own in drawn.items():
        title = f"Figure {figure}" if request.study.details else request.study.title
        there = min(panel.runs for panel in panels if panel.figure == figure)
        runs = f"n = {min(request.drawn(figure), there)}".replace(" ", NO_BREAK)
        title += f" ({request.warning or runs})"
        name = f"figure-{figure}" if len(request.study.figures) > 1 else "figure"
        paths += draw_panels(own, title, folder / name, palette)
    return paths


def _write_page(
    request: StudyConfig,
    folder: Path,
    panels: Sequence[Panel],
    drawn: Drawn,
    verdicts: Sequence[Verdict],
) -> Path:
    from expectant.report import Claims, Environment, Glance, Header, palette_of, write_page

    trials, found = request.trials(), [verdict.to_dict() for verdict in verdicts]
    others = [entry for entry in found if entry["figure"] not in request.figures]
    environment = [
        *version_rows(folder), ("seed", trials[0].seed), ("command", request.command()),
    ]  # fmt: skip
    sections = [
        Header(request.study.title, request.warning, request.study.notes),
        Glance(found),
        _worlds(request, trials),
        *_adaptation(panels, trials),
        *(
            section
            for figure, own in drawn.items()
            for section in _figure_sections(request, figure, own, trials, found)
        ),
        Claims(others, "Claims without a figure"),
        troubles_section(troubles_of(folder)),
        Environment(environment),
    ]
    return write_page(folder / "report.html", sections, palette_of(panels))


def _worlds(request: StudyConfig, trials: Sequence[Trial]) -> Section:
    """Drawings of the domains that the study asks for, of those that are shown."""
    from expectant.report import Worlds, world_picture
    from expectant.report.formatting import figure_name

    pictures = []
    for figure in request.study.worlds:
        if figure in request.figures:
            domain = next(trial.domain for trial in trials if trial.experiment == figure)
            about = (type(domain).__doc__ or "").splitlines()[0]
            pictures.append((f"{figure_name(figure)}: {about}", world_picture(domain)))
    return Worlds(pictures)


def _figure_sections(
    request: StudyConfig,
    figure: str,
    drawn: Sequence[Panel],
    trials: Sequence[Trial],
    found: Sequence[dict[str, Any]],
) -> list[Section]:
    """A figure, the claims about it, and how it was made."""
    from expectant.report import Claims, Curves, Parameters, chart_of

    first = request.study.experiments[figure]
    title = "" if first.title == request.study.title else first.title  # which the page begins with
    tables = [
        (
            f"interpretation “{name}”" if name else "",
            _parameters(
                [c for c in trials if (c.experiment, c.interpretation) == (figure, name)],
                request.drawn(figure),
            ),
        )
        for name in request.study.interpretations_of(figure)
    ]
    return [
        Curves(figure, title, chart_of(drawn)),
        Claims([entry for entry in found if entry["figure"] == figure]),
        Parameters(tables, first.notes, request.command(figure), request.study.place),
    ]


def _parameters(trials: Sequence[Trial], runs: int) -> list[tuple[str, str]]:
    """Every setting of the trials of a figure as (name, value)."""
    first = trials[0]
    unit, record = "steps" if first.steps else "episodes", first.record
    rows = [(unit, f"{first.steps or first.episodes:,}"), ("runs", str(runs))]
    if record is None:
        rows.append(("bin", f"{first.width} {unit}"))
    else:
        longer = f", each interval {record.growth:g} times the last" if record.growth > 1 else ""
        rows.append((record.found.title, f"every {record.every} {unit}{longer}"))
    for trial in trials:
        where = f" ({trial.panel})" if trial.panel else ""
        rows.append((f"domain{where}", _settings(trial.domain)))
        rows.append((f"features{where}", _settings(trial.features)))
        rows.append((f"{trial.label}{where}", _settings(trial.agent)))
    return list(dict.fromkeys(rows))


def _settings(described: Any) -> str:
    data = described.to_dict()
    kind = data.pop("kind")
    return f"{kind}: " + ", ".join(f"{key} = {_written(value)}" for key, value in data.items())


def _written(value: Any) -> str:
    """A setting in one word, if it can be; a fixed step size begins with its number."""
    if not isinstance(value, dict):
        return str(value)
    if value.get("kind") == "fixed":
        bound = "" if value["bounded"] else ", unbounded"
        return f"{value['step']:g} (per {value['per']}{bound})".replace(" (per total)", "")
    return value_text(value)


# ------------------------------------------------------------------------------------ local changes


def _adaptation(panels: Sequence[Panel], trials: Sequence[Trial]) -> list[Section]:
    """Verdicts on adaptation, where agents went through a local change."""
    from expectant.report import Adaptation
    from expectant.report.formatting import figure_name

    figures = dict.fromkeys(panel.figure for panel in panels if is_adaptation_test(panel))
    tests = {
        figure_name(figure): rows_of([p for p in panels if p.figure == figure], trials)
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


def rows_of(panels: Sequence[Panel], trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """One dictionary per curve of a test: names, settings, scores per run, means, verdict."""
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
    """An agent without its backups, which the row names, and without what has its default."""
    given = [
        f"{field.name}={getattr(agent, field.name)!r}"
        for field in dataclasses.fields(agent)
        if field.name != "backups" and getattr(agent, field.name) != field.default
    ]
    return f"{type(agent).__name__}({', '.join(given)})"


def score_as_data(found: Score) -> dict[str, Any]:
    """A score with its verdict, ready for JSON; NaN becomes None."""
    said, why = adaptation_verdict(found.mean_first, found.mean_adaptation)
    low, high = (float(end) for end in interval(found.adaptation)[1:])
    return {
        "phase1": _plain(found.ends[BEFORE]),
        "phase2": _plain(found.ends[LOCAL]),
        "phase3": _plain(found.ends[AFTER]),
        "P1": _number(found.mean_first),
        "adaptation": _number(found.mean_adaptation),
        "adaptation_low": _number(low),
        "adaptation_high": _number(high),
        "adaptation_by_seed": _plain(found.adaptation),
        "adapted_seeds": found.adapted_runs,
        "verdict": said,
        "why": why,
    }


def _plain(values: np.ndarray) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None
