"""Run a study: curves, claims, figures and the page, all from the files of its folder."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from expectant.analysis.panel import Panel
from expectant.files import write_text
from expectant.lab.adaptation_rows import rows_of
from expectant.lab.claims import Verdict, judge_claims
from expectant.lab.engines.compute import Work, computed
from expectant.lab.request import Request
from expectant.lab.specs.spec import Experiment
from expectant.lab.store.cell_tables import write_cells
from expectant.lab.store.folder_layout import STUDY, check_layout, mark
from expectant.lab.store.results import (
    CURVES,
    check_settings,
    panels_of,
    read_curves,
    read_facts,
    settings_hashes,
    write_curves,
)
from expectant.lab.store.store import Store, versions
from expectant.lab.store.troubles import troubles_of, troubles_section
from expectant.lab.study import Study, find_study, read_study, word_for
from expectant.progress import say

if TYPE_CHECKING:
    from expectant.show import Section

NO_BREAK = "\u00a0"  # a space at which no line ends
LONG_BINS, WINDOW_BINS = 300, 20  # from how many bins on only the moves of the goal are drawn


def reproduce(
    request: Request, folder: Path, threads: int | None = None, place: Path | None = None
) -> list[Verdict]:
    """Compute what is missing in a folder, then write everything; returns the verdicts.

    ``place`` is where it is written, by default the folder itself, see :func:`place_for`. As soon
    as all that is drawn is there, everything is written for a first time, and again whenever there
    are so many more runs that verdicts are sharper: whoever stops it has a page. That is done while
    the next runs are under way. What is there already is not written again with fewer runs.
    """
    stages, drawn, target = stages_left(request, folder), set[str](), place or folder
    with ThreadPoolExecutor(1) as writer:
        written: Future[list[Verdict]] | None = None
        for most in stages:
            asked = request.at_stage(most)
            panels = compute_panels(asked, folder, threads, place, most)
            if written is not None:
                written.result()  # an error of the writer's is raised here
            new = tuple(name for name in asked.figures if name not in drawn)
            drawn.update(new)  # what is drawn does not change with more runs
            written = writer.submit(
                _write, replace(asked, figures=new), asked, target, panels, most == stages[-1]
            )
        assert written is not None, "there is a stage at least"
        return written.result()


def _write(
    new: Request, asked: Request, target: Path, panels: Sequence[Panel], last: bool
) -> list[Verdict]:
    """New figures, and all claims and the page of what was asked for."""
    if new.figures:
        say("drawing figures")
        write_figures(new, target, panels)
    say("judging claims, writing the page")
    verdicts = write_verdicts(asked, target, panels)
    if not last:
        say(f"{target / 'report.html'}: verdicts so far; going on with more runs")
    return verdicts


def stages_left(request: Request, folder: Path) -> list[int]:
    """The stages of a request from the last one on for which all runs are in the folder."""
    stages, store = request.stages(), Store(folder)
    index = store.index()
    for place in range(len(stages) - 1, 0, -1) if index else ():
        cells = Work(request.at_stage(stages[place]).cells(stages[place]), store).unique()
        left = (store.missing(cell, index.get(name, [])) for name, cell in cells.items())
        if next(itertools.chain.from_iterable(left), None) is None:
            return stages[place:]
    return stages


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
    request: Request,
    folder: Path,
    threads: int | None = None,
    place: Path | None = None,
    most: int | None = None,
) -> list[Panel]:
    """Compute what is missing; all curves, which are written as one table."""
    check_layout(folder)
    mark(place or folder, STUDY)
    cells = request.cells(most)
    work, curves = computed(cells, Store(folder), threads=threads, title=request.study.name)
    write_cells(work, place or folder)
    panels = panels_of(cells, curves)
    facts = {**request.facts(), "cells": settings_hashes(cells)}
    write_curves((place or folder) / CURVES, panels, facts)
    return panels


def agents_of(request: Request) -> dict[tuple[str, str], Any]:
    """The agents of all cells, by the panel (or figure) and name of their curves."""
    return {(cell.panel or cell.experiment, cell.agent_key): cell.agent for cell in request.cells()}


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
    """All verdicts; those on counted work once for every set that has its figure."""
    counts = {
        agent: count
        for claim in study.claims
        if claim.work is not None
        for agent, count in claim.work.counts().items()
    }
    shown = dict.fromkeys(panel.reading for panel in panels)
    work = dict.fromkeys(shown, counts) if counts else None
    return judge_claims(study.claims, panels, work, study.sizes)


def write_verdicts(request: Request, folder: Path, panels: Sequence[Panel]) -> list[Verdict]:
    """Claims and the page, from panels."""
    verdicts = verdicts_of(request.study, panels)
    write_claims(folder / "claims.json", verdicts, request)
    write_report(request, folder, panels, verdicts)
    return verdicts


def write_claims(path: Path, verdicts: Sequence[Verdict], request: Request) -> None:
    """The verdicts as JSON; a partial run says so in every entry."""
    entries = [verdict.to_dict() for verdict in verdicts]
    if request.warning:
        entries = [{**entry, "warning": request.warning} for entry in entries]
    write_text(path, json.dumps(entries, indent=2, ensure_ascii=False) + "\n")


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
    """One PNG and one SVG per figure."""
    from expectant.show import draw_panels, palette_of

    paths, palette = [], palette_of(panels)
    for figure in request.figures:
        title = f"Figure {figure}" if request.study.readings else request.study.title
        runs = f"n = {request.drawn(figure)}".replace(" ", NO_BREAK)
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
    seed = request.experiment(request.figures[0], request.study.sets[0]).seed
    environment = [*versions().items(), ("seed", seed), ("command", request.command())]
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
    """What a reader must know of the number of runs: that it is not all there will be."""
    if request.warning:
        return request.warning
    there = [(panel.runs, request.judged(panel.figure)) for panel in panels]
    if not request.later and all(runs >= wanted for runs, wanted in there):
        return ""
    fewest, most = min(runs for runs, _ in there), max(runs for runs, _ in there)
    return (
        f"verdicts so far, from {fewest} to {most} runs; `{request.command()}` goes on until all "
        f"are there"
    )


def _worlds(request: Request) -> Section:
    """Drawings of the domains that the study asks for, of those that are shown."""
    from expectant.show import Worlds, world_picture
    from expectant.show.wording import figure_name

    pictures = []
    for figure in request.study.worlds:
        if figure in request.figures:
            domain = request.experiment(figure, request.study.sets[0]).cells()[0].domain
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

    experiments = {name: request.experiment(figure, name) for name in request.study.sets_of(figure)}
    first = next(iter(experiments.values()))
    title = "" if first.title == request.study.title else first.title  # which the page begins with
    tables = [
        (f"reading “{name}”" if name else "", parameters(each))
        for name, each in experiments.items()
    ]
    return [
        Curves(figure, title, chart_of(shown_of(request, panels, figure))),
        Claims([entry for entry in found if entry["figure"] == figure]),
        Parameters(tables, first.notes, request.command(figure), request.study.place),
    ]


def parameters(experiment: Experiment) -> list[tuple[str, str]]:
    """Every setting of an experiment as (name, value)."""
    rows = [_length(experiment), ("runs", str(experiment.runs)), _points(experiment)]
    for cell in experiment.cells():
        where = f" ({cell.panel})" if cell.panel else ""
        rows.append((f"domain{where}", _settings(cell.domain)))
        rows.append((f"features{where}", _settings(cell.features)))
        rows.append((f"{cell.label}{where}", _settings(cell.agent)))
    return list(dict.fromkeys(rows))


def _length(experiment: Experiment) -> tuple[str, str]:
    if experiment.steps:
        return "steps", f"{experiment.steps:,}"
    return "episodes", f"{experiment.episodes:,}"


def _points(experiment: Experiment) -> tuple[str, str]:
    """What a point of a curve is."""
    unit = "steps" if experiment.steps else "episodes"
    if experiment.record is not None:
        record = experiment.record
        longer = f", each interval {record.growth:g} times the last" if record.growth > 1 else ""
        return record.found.title, f"every {record.every} {unit}{longer}"
    cell = experiment.cells()[0]
    return "bin", f"{cell.width} {unit}"


def _settings(described: Any) -> str:
    data = described.to_dict()
    kind = data.pop("kind")
    return f"{kind}: " + ", ".join(f"{key} = {value}" for key, value in data.items())
