"""Run a study: curves, claims, figures and the page, all from the files of its folder."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.analysis.adaptation import (
    AFTER,
    BEFORE,
    LOCAL,
    Score,
    adaptation_verdict,
    is_test,
    references,
    score,
)
from expectant.analysis.curves import interval
from expectant.analysis.panel import Panel
from expectant.files import write_text
from expectant.lab.cells import Cell
from expectant.lab.claims import Verdict, judge_claims
from expectant.lab.engines.compute import computed
from expectant.lab.request import LOCA, Request
from expectant.lab.specs.spec import Experiment
from expectant.lab.store.cell_tables import troubles_of, troubles_section, version_rows, write_cells
from expectant.lab.store.folder import STUDY, check_layout, mark
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
from expectant.lab.study import Study, find_study, read_study, word_for
from expectant.progress import say

if TYPE_CHECKING:
    from expectant.show import Section

LOCA_ROWS = "loca.json"
NO_BREAK = "\u00a0"  # a space at which no line ends
LONG_BINS, WINDOW_BINS = 300, 20  # from how many bins on only the moves of the goal are drawn


def reproduce(
    request: Request, folder: Path, threads: int | None = None, place: Path | None = None
) -> list[Verdict]:
    """Compute what is missing in a folder, then write everything.

    ``place`` is where it is written, by default the folder itself, see :func:`place_for`. Unless
    there are results already, everything is written as soon as the runs to draw are there, and
    again with all runs that claims are judged by: an interrupted command leaves a page.
    """
    target = place or folder
    more = any(request.judged(name) > request.drawn(name) for name in request.figures)
    first = more and not (target / CURVES).exists()
    if first:
        panels = compute_panels(request, folder, threads, target, drawn=True)
        _write(request, target, panels)
        say(f"{target / 'report.html'}: verdicts so far; going on with more runs")
    panels = compute_panels(request, folder, threads, target)
    return _write(request, target, panels, figures=not first)  # which show the same runs


def _write(
    request: Request, target: Path, panels: Sequence[Panel], figures: bool = True
) -> list[Verdict]:
    """Write the figures, all claims and the page of what was asked for."""
    if figures:
        say("drawing figures")
        write_figures(request, target, panels)
    say("judging claims, writing the page")
    verdicts = verdicts_of(request.study, panels)
    warning = {"warning": request.warning} if request.warning else {}
    entries = [{**verdict.to_dict(), **warning} for verdict in verdicts]
    write_text(target / "claims.json", json.dumps(entries, indent=2, ensure_ascii=False) + "\n")
    write_report(request, target, panels, verdicts)
    if request.study.name == LOCA:
        rows = rows_of(panels, agents_of(request))
        known = references(next(filter(is_test, panels)))
        content = {"references": known, "seed": request.cells()[0].seed, "rows": rows}
        write_text(target / LOCA_ROWS, json.dumps(content, indent=2, ensure_ascii=False))
    return verdicts


def place_for(request: Request, folder: Path) -> Path:
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


def compute_panels(
    request: Request, folder: Path, threads: int | None, target: Path, *, drawn: bool = False
) -> list[Panel]:
    """Compute what is missing; write all curves as one table."""
    check_layout(folder)
    mark(folder, STUDY)
    mark(target, STUDY)
    cells = request.cells(drawn=drawn)
    work, curves = computed(cells, Store(folder), threads=threads, title=request.study.name)
    write_cells(work, target)
    panels = panels_of(cells, curves)
    write_curves(target / CURVES, panels, {**request.facts(), "cells": settings_hashes(cells)})
    return panels


def agents_of(request: Request) -> dict[tuple[str, str], Any]:
    """The agents of all cells, by the panel (or figure) and name of their curves."""
    return {(cell.panel or cell.experiment, cell.agent_key): cell.agent for cell in request.cells()}


def rows_of(panels: Sequence[Panel], agents: Mapping[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """One dictionary per curve of a test: names, scores per run, means, verdict.

    ``agents`` are the descriptions, by panel (or figure where that has one panel) and curve.
    """
    rows = []
    for panel in filter(is_test, panels):
        for key, curves in panel.curves.items():
            name = panel.panel or panel.figure
            described = agent_in_words(agents[name, key])
            found = score_as_data(score(panel, curves))
            rows.append({"agent": name, "backups": key, "settings": described, **found})
    return rows


def agent_in_words(description: Any) -> str:
    """An agent without its backups, which the row names, and without what has its default."""
    given = [
        f"{field.name}={getattr(description, field.name)!r}"
        for field in dataclasses.fields(description)
        if field.name != "backups" and getattr(description, field.name) != field.default
    ]
    return f"{type(description).__name__}({', '.join(given)})"


def score_as_data(found: Score) -> dict[str, Any]:
    """A score with its verdict, ready for JSON; NaN becomes None."""
    said, why = adaptation_verdict(found.learned, found.adapted)
    low, high = (float(x) for x in interval(found.adaptation)[1:])
    return {
        "phase1": _plain(found.ends[BEFORE]),
        "phase2": _plain(found.ends[LOCAL]),
        "phase3": _plain(found.ends[AFTER]),
        "P1": _number(found.learned),
        "adaptation": _number(found.adapted),
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


def read_stored(folder: Path, trust: bool = False) -> tuple[Request, list[Panel]]:
    """The request and the panels of a folder that ``reproduce`` has written."""
    path = folder / CURVES
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: run `expectant reproduce` first")
    check_layout(folder)
    facts = read_facts(path)
    study = read_study(find_study(facts["study"]), trust)
    request = Request(
        study, tuple(facts["figures"]), facts["seed"], facts["runs"], facts["quick"],
        tuple(facts.get("panels", ())), tuple(facts.get("agents", ())),
    )  # fmt: skip
    cells = request.cells()
    check_settings(path, cells, facts, f"{request.command()} --out {quote(str(folder))}")
    return request, panels_of(cells, read_curves(path, cells))


def verdicts_of(study: Study, panels: Sequence[Panel]) -> list[Verdict]:
    """Judge all claims of a study."""
    return judge_claims(study.claims, panels, study.sizes)


def shown_of(request: Request, panels: Sequence[Panel], figure: str) -> list[Panel]:
    """The panels of a figure as a request has them drawn."""
    zoom = request.study.experiments[figure].zoom
    return shown(panels, figure, request.drawn(figure), zoom)


def shown(
    panels: Sequence[Panel], figure: str, runs: int | None = None, zoom: int | None = None
) -> list[Panel]:
    """The panels of a figure as they are drawn: with so many runs, and where they are long only
    around the moves of the goal.

    With a ``zoom`` the panels of a reading come once more, so many episodes around the first move.
    """
    chosen = [panel.of_runs(runs) for panel in panels if panel.figure == figure]
    found = []
    for reading in dict.fromkeys(panel.reading for panel in chosen):
        own = [panel for panel in chosen if panel.reading == reading]
        found += [part for panel in own for part in _around_moves(panel)]
        for panel in own if zoom else []:
            found += panel.windows(*2 * [(zoom or 0) // panel.bin])[:1]
    return found


def _around_moves(panel: Panel) -> list[Panel]:
    long = panel.first_episodes.size > LONG_BINS
    return (panel.windows(WINDOW_BINS, WINDOW_BINS) if long else []) or [panel]


def write_figures(request: Request, folder: Path, panels: Sequence[Panel]) -> list[Path]:
    """Draw one PNG and one SVG per figure."""
    from expectant.show import draw_panels, palette_of

    paths, palette = [], palette_of(panels)
    for figure in request.figures:
        title = f"Figure {figure}" if request.study.readings else request.study.title
        there = min(panel.runs for panel in panels if panel.figure == figure)
        runs = f"n = {min(request.drawn(figure), there)}".replace(" ", NO_BREAK)
        title += f" ({request.warning or runs})"
        name = f"figure-{figure}" if len(request.study.figures) > 1 else "figure"
        paths += draw_panels(shown_of(request, panels, figure), title, folder / name, palette)
    return paths


def write_report(
    request: Request, folder: Path, panels: Sequence[Panel], verdicts: Sequence[Verdict]
) -> Path:
    """The page."""
    from expectant.show import Claims, Environment, Glance, Header, palette_of, write_page

    found = [verdict.to_dict() for verdict in verdicts]
    others = [entry for entry in found if entry["figure"] not in request.figures]
    seed = request.cells()[0].seed
    environment = [*version_rows(folder), ("seed", seed), ("command", request.command())]
    sections = [
        Header(request.study.title, _how_far(request, panels), request.study.notes),
        Glance(found),
        _worlds(request),
        *_adaptation(request, panels),
        *(part for figure in request.figures for part in _sections(request, figure, panels, found)),
        Claims(others, "Claims without a figure"),
        troubles_section(troubles_of(folder)),
        Environment(environment),
    ]
    return write_page(folder / "report.html", sections, palette_of(panels))


def _how_far(request: Request, panels: Sequence[Panel]) -> str:
    """Tell a reader that there will be more runs, if so."""
    if request.warning or all(panel.runs >= request.judged(panel.figure) for panel in panels):
        return request.warning
    return f"verdicts so far; `{request.command()}` goes on until all runs are there"


def _worlds(request: Request) -> Section:
    """Drawings of the domains that the study asks for, of those that are shown."""
    from expectant.show import Worlds, world_picture
    from expectant.show.wording import figure_name

    pictures = []
    for figure in request.study.worlds:
        if figure in request.figures:
            domain = next(cell.domain for cell in request.cells() if cell.experiment == figure)
            about = (type(domain).__doc__ or "").splitlines()[0]
            pictures.append((f"{figure_name(figure)}: {about}", world_picture(domain)))
    return Worlds(pictures)


def _adaptation(request: Request, panels: Sequence[Panel]) -> list[Section]:
    """Verdicts on adaptation, where agents went through a local change."""
    from expectant.show import Adaptation
    from expectant.show.wording import figure_name

    agents = agents_of(request)
    tests = {
        figure_name(figure): rows_of([p for p in panels if p.figure == figure], agents)
        for figure in request.figures
    }
    labels = {panel.panel or panel.figure: panel.title or panel.panel for panel in panels}
    named = {key: label or figure_name(key) for key, label in labels.items()}
    backups = {
        (panel.panel or panel.figure, key): label
        for panel in panels
        for key, label in panel.labels.items()
    }
    found = {figure: rows for figure, rows in tests.items() if rows}
    return [Adaptation(found, named, backups)] if found else []


def _sections(
    request: Request, figure: str, panels: Sequence[Panel], found: Sequence[dict[str, Any]]
) -> list[Section]:
    """A figure, the claims about it, and how it was made."""
    from expectant.show import Claims, Curves, Parameters, chart_of

    first = request.study.experiments[figure]
    title = "" if first.title == request.study.title else first.title  # which the page begins with
    own = [cell for cell in request.cells() if cell.experiment == figure]
    tables = [
        (
            f"reading “{name}”" if name else "",
            _parameters(request.experiment(figure, name), [c for c in own if c.reading == name]),
        )
        for name in request.study.sets_of(figure)
    ]
    return [
        Curves(figure, title, chart_of(shown_of(request, panels, figure))),
        Claims([entry for entry in found if entry["figure"] == figure]),
        Parameters(tables, first.notes, request.command(figure), request.study.place),
    ]


def _parameters(experiment: Experiment, cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """Every setting of an experiment as (name, value)."""
    unit, count = (
        ("steps", experiment.steps) if experiment.steps else ("episodes", experiment.episodes)
    )
    rows = [
        (unit, f"{count:,}"),
        ("runs", str(experiment.runs)),
        _points(experiment, cells[0], unit),
    ]
    for cell in cells:
        where = f" ({cell.panel})" if cell.panel else ""
        rows.append((f"domain{where}", _settings(cell.domain)))
        rows.append((f"features{where}", _settings(cell.features)))
        rows.append((f"{cell.label}{where}", _settings(cell.agent)))
    return list(dict.fromkeys(rows))


def _points(experiment: Experiment, cell: Cell, unit: str) -> tuple[str, str]:
    """What a point of a curve is."""
    record = experiment.record
    if record is None:
        return "bin", f"{cell.width} {unit}"
    longer = f", each interval {record.growth:g} times the last" if record.growth > 1 else ""
    return record.found.title, f"every {record.every} {unit}{longer}"


def _settings(described: Any) -> str:
    data = described.to_dict()
    kind = data.pop("kind")
    return f"{kind}: " + ", ".join(f"{key} = {value}" for key, value in data.items())
