"""Run a study: curves, claims, figures and the page, all from the files of its folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from expectant.analysis.panel import Panel
from expectant.files import write_text
from expectant.lab.cells import Cell
from expectant.lab.claims import Verdict, evaluate
from expectant.lab.engines.compute import computed
from expectant.lab.local_change import rows_of
from expectant.lab.specs.expansion import PanelSpec
from expectant.lab.specs.spec import Experiment
from expectant.lab.store.results import CURVES, panels_of, read_curves, read_facts, write_curves
from expectant.lab.store.store import Store, versions
from expectant.lab.store.table import write_cells
from expectant.lab.study import Study, find_study, read_study, word_for
from expectant.progress import say

if TYPE_CHECKING:
    from expectant.show import Section

QUICK_RUNS = 5
STAGE = 100  # runs after which verdicts are written on the way
UNLIMITED = 2**62
LONG_BINS, WINDOW_BINS = 300, 20  # from how many bins on only the moves of the goal are drawn


@dataclass(frozen=True)
class Request:
    """What was asked for; it is written beside the results.

    Only some ``panels`` (a figure without panels goes by its own name) and ``agents`` of them may
    be asked for, by name; none named means all.
    """

    study: Study
    figures: tuple[str, ...]
    seed: int | None = None
    runs: int | None = None
    quick: bool = False
    panels: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    def experiment(self, figure: str, named_set: str) -> Experiment:
        """A figure under a named set, with the seed and number of runs asked for."""
        experiment = self.study.experiment(figure, named_set)
        if self.seed is not None:
            experiment = replace(experiment, seed=self.seed)
        if self.panels or self.agents:
            experiment = replace(experiment, panels=tuple(self._kept(experiment)))
        runs = QUICK_RUNS if self.quick else self.runs
        return experiment if runs is None else replace(experiment, runs=runs)

    def _kept(self, experiment: Experiment) -> Iterator[PanelSpec]:
        for panel in experiment.panels:
            if not self.panels or (panel.name or experiment.name) in self.panels:
                wanted = self.agents or tuple(panel.agents)
                agents = {key: table for key, table in panel.agents.items() if key in wanted}
                if agents:
                    yield replace(panel, agents=agents)

    def cells(self, most: int | None = None) -> list[Cell]:
        """Everything to compute, in the order in which it is shown.

        Of every cell as many runs as claims are judged by, but no more than ``most``, if those are
        not fewer than are drawn.
        """
        found = []
        for figure in self.figures:
            for named_set in self.study.sets_of(figure):
                experiment = self.experiment(figure, named_set)
                runs = max(experiment.runs, min(self.judged(figure), most or UNLIMITED))
                found += replace(experiment, runs=runs).cells(named_set)
        return found

    def drawn(self, figure: str) -> int:
        """How many runs of a figure are drawn."""
        asked = QUICK_RUNS if self.quick else self.runs
        return asked or self.study.experiments[figure].runs

    def shown(self, panels: Sequence[Panel], figure: str) -> list[Panel]:
        """The panels of a figure as they are drawn."""
        return shown(panels, figure, self.drawn(figure), self.study.experiments[figure].zoom)

    def judged(self, figure: str) -> int:
        """How many runs claims about a figure are judged by."""
        if self.quick or self.runs is not None:
            return self.drawn(figure)
        return max(self.study.claim_runs.get(figure, 0), self.drawn(figure))

    def stages(self) -> list[int]:
        """The most runs of a cell after which everything is written, the last one's in the end."""
        drawn = max(map(self.drawn, self.figures), default=0)
        judged = max(map(self.judged, self.figures), default=0)
        if all(self.judged(figure) == self.drawn(figure) for figure in self.figures):
            return [judged]
        return sorted({1, judged, *([STAGE] if drawn < STAGE < judged else [])})

    def command(self, figure: str | None = None) -> str:
        """The command that makes the results, or one figure of them, again."""
        words = [self.study.command]
        figures = self.figures if figure is None else (figure,)
        if self.panels or self.agents:  # which only `loca` asks for
            words = ["expectant loca", *(f"--agent {name}" for name in self.panels)]
            words += [f"--backups {name}" for name in self.agents]
        elif figures != self.study.figures:
            words += [f"--figure {name}" for name in figures]
        if self.quick:
            words.append("--quick")
        elif self.runs is not None:
            words.append(f"--runs {self.runs}")
        if self.seed:
            words.append(f"--seed {self.seed}")
        return " ".join(words)

    @property
    def warning(self) -> str:
        """What a reader must know if this was not the whole thing."""
        if self.quick:
            return f"quick run: {QUICK_RUNS} runs of everything, verdicts are provisional"
        return "" if self.runs is None else f"{self.runs} runs of everything"

    @property
    def part(self) -> str:
        """A name for what is asked for of the whole study, such as "quick" or "figure-5a"."""
        figures = self.figures if self.figures != self.study.figures else ()
        words = [
            *(f"figure-{name}" for name in figures if not self.panels),
            *self.panels,
            *self.agents,
            *(["quick"] if self.quick else [] if self.runs is None else [f"runs-{self.runs}"]),
        ]
        return "-".join(words) or "again"

    def is_less_than(self, facts: Mapping[str, Any]) -> bool:
        """Whether results with such facts have figures, rows or runs that this does not ask for."""
        before = _runs(facts["quick"], facts["runs"])
        fewer = any(
            getattr(self, name) and set(facts.get(name) or ["all"]) - set(getattr(self, name))
            for name in ("panels", "agents")
        )
        figures = bool(set(facts["figures"]) - set(self.figures))
        return figures or fewer or before > _runs(self.quick, self.runs)

    def facts(self) -> dict[str, Any]:
        return {
            "study": word_for(self.study.folder),
            "figures": list(self.figures),
            "seed": self.seed,
            "runs": self.runs,
            "quick": self.quick,
            "panels": list(self.panels),
            "agents": list(self.agents),
            "versions": versions(),
        }


def reproduce(
    request: Request, folder: Path, threads: int | None = None, place: Path | None = None
) -> list[Verdict]:
    """Compute what is missing in a folder, then write everything; returns the verdicts.

    ``place`` is where it is written, by default the folder itself, see :func:`place_for`. As soon
    as all that is drawn is there, everything is written for a first time, and again whenever there
    are so many more runs that verdicts are sharper: whoever stops it has a page.
    """
    stages, verdicts = request.stages(), list[Verdict]()
    target = place or folder
    for most in stages:
        panels = compute_panels(request, folder, threads, place, most)
        if most == stages[0]:  # what is drawn does not change with more runs
            write_figures(request, target, panels)
        verdicts = write_verdicts(request, target, panels)
        if most != stages[-1]:
            say(f"{target / 'report.html'}: verdicts so far; going on with more runs")
    return verdicts


def _runs(quick: bool, runs: int | None) -> float:
    """How many runs were asked for; without a number as many as there can be."""
    return QUICK_RUNS if quick else math.inf if runs is None else runs


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
    cells = request.cells(most)
    work, curves = computed(cells, Store(folder), threads=threads, title=request.study.name)
    write_cells(work, place or folder)
    panels = panels_of(cells, curves)
    write_curves((place or folder) / CURVES, panels, request.facts())
    return panels


def agents_of(request: Request) -> dict[tuple[str, str], Any]:
    """The agents of all cells, by the panel (or figure) and name of their curves."""
    return {(cell.panel or cell.experiment, cell.agent_key): cell.agent for cell in request.cells()}


def check_layout(folder: Path) -> None:
    """Refuse a folder of an earlier version, whose files would be overwritten by others."""
    path = folder / CURVES
    if path.exists() and not {"study", "spec"} & set(read_facts(path)):
        raise ValueError(
            f"{folder}: was written by an earlier version, in another layout; nothing in it was "
            "changed: move it away, or compute it again with --out elsewhere"
        )


def stored(folder: Path, trust: bool = False) -> tuple[Request, list[Panel]]:
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
    sizes = {name: experiment.runs for name, experiment in study.experiments.items()}
    return evaluate(study.claims, panels, work, sizes)


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
        title += f" ({request.warning or f'n = {request.drawn(figure)}'})"
        name = f"figure-{figure}" if len(request.study.figures) > 1 else "figure"
        paths += draw_panels(request.shown(panels, figure), title, folder / name, palette)
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
        Environment(environment),
    ]
    return write_page(folder / "report.html", sections, palette_of(panels))


def _how_far(request: Request, panels: Sequence[Panel]) -> str:
    """What a reader must know of the number of runs: that it is not all there will be."""
    if request.warning:
        return request.warning
    there = [(panel.runs, request.judged(panel.figure)) for panel in panels]
    if all(runs >= wanted for runs, wanted in there):
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

    rows = rows_of(panels, agents_of(request))
    labels = {panel.panel or panel.figure: panel.title or panel.panel for panel in panels}
    named = {key: label or key for key, label in labels.items()}
    return [Adaptation(rows, named)] if rows else []


def _sections(
    request: Request, figure: str, panels: Sequence[Panel], found: Sequence[dict[str, Any]]
) -> list[Section]:
    """A figure, the claims about it, and how it was made."""
    from expectant.show import Claims, Curves, Parameters, chart_of

    experiments = {name: request.experiment(figure, name) for name in request.study.sets_of(figure)}
    first = next(iter(experiments.values()))
    tables = [
        (f"reading “{name}”" if name else "", parameters(each))
        for name, each in experiments.items()
    ]
    return [
        Curves(figure, first.title, chart_of(request.shown(panels, figure))),
        Claims([entry for entry in found if entry["figure"] == figure]),
        Parameters(tables, first.notes, request.command(figure)),
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
