"""The page of a sweep: a table of all cells, curves, sensitivity and the best, in one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from expectant.report.files import write_whole
from expectant.report.markup import Html, element, markup, script_json, scrolling, table
from expectant.report.summaries import number
from expectant.report.sweep_payload import sweep_data

Choice = Mapping[str, Any]
CHOICE = ("best setting", "value, 95 %", "no worse", "diverged")  # columns beside the agent's


@dataclass(frozen=True, eq=False)
class PageGroup:
    """One agent in one domain; ``settings`` are the columns that were varied for it."""

    agent: str
    label: str
    problem: str
    settings: Sequence[str]


@dataclass(frozen=True, eq=False)
class PageMeasure:
    """What cells are compared by: ``scores`` (cells, 3) has mean, low and high, NaN where a run
    diverged. ``choices`` are the best settings as plain data, made as ``stages`` say."""

    name: str
    meaning: str
    scores: np.ndarray
    choices: Sequence[Choice]
    stages: Sequence[str]


@dataclass(frozen=True, eq=False)
class SweepPage:
    """All cells of a sweep.

    ``columns`` maps the name of a setting to its value in every cell, None where a cell has it
    not; ``group_of`` is the position of every cell's group; ``curves`` (cells, 3, points) has
    mean, low and high at the ``positions`` (points,), NaN from where a run diverged on.
    """

    title: str
    subtitle: str
    notes: Sequence[str]
    ids: Sequence[str]
    columns: Mapping[str, Sequence[Any]]
    groups: Sequence[PageGroup]
    group_of: Sequence[int]
    runs: Sequence[int]
    diverged: Sequence[int]
    measures: Sequence[PageMeasure]
    curves: np.ndarray
    positions: np.ndarray
    counted: str
    quantity: str
    rules: Sequence[str]
    environment: Sequence[tuple[str, Any]]


def write_sweep_page(path: str | Path, document: SweepPage) -> Path:
    """Write the page as one self-contained HTML file, which can be opened without a network."""
    return write_whole(Path(path), sweep_page(document).encode())


def sweep_page(document: SweepPage) -> str:
    """The whole page as text, the same for the same data."""
    from plotly.offline import get_plotlyjs

    return Template(_part("page_template.html")).substitute(
        title=markup(document.title),
        style=_part("page.css") + _part("sweep_page.css"),
        header=_header(document),
        verdicts=_best(document),
        figures=markup([_curves(), _cells(document), _sensitivity(document), _heat(document)]),
        other_claims="",
        environment=_section("environment", "Environment", table(document.environment, "versions")),
        plotly=get_plotlyjs(),
        data=script_json(sweep_data(document)),
        script="".join(map(_part, ("sweep_table.js", "sweep_plots.js", "sweep_page.js"))),
    )


def _part(name: str) -> str:
    return files("expectant.report").joinpath(name).read_text(encoding="utf-8")


def _section(anchor: str, heading: str, *content: object) -> Html:
    return element("section", element("h2", heading), *content, id=anchor, class_="figure")


def _hint(text: str) -> Html:
    return element("p", text, class_="hint")


def _header(document: SweepPage) -> Html:
    notes = [element("p", note) for note in document.notes]
    subtitle = element("p", document.subtitle, class_="subtitle")
    return element("header", element("h1", document.title), subtitle, notes)


def _select(anchor: str, label: str, options: Sequence[object]) -> Html:
    """A choice among options, which stand for their positions."""
    listed = [element("option", text, value=place) for place, text in enumerate(options)]
    return element("label", f"{label} ", element("select", listed, id=anchor), class_="control")


def _best(document: SweepPage) -> Html:
    measures = [f"{found.name}: {found.meaning}" for found in document.measures]
    rules = element("ul", [element("li", rule) for rule in document.rules])
    tables = [
        element(
            "div",
            [_hint(f"{stage[0].upper()}{stage[1:]}.") for stage in found.stages],
            _choices(found.choices),
            class_="choices",
            data_measure=place,
        )
        for place, found in enumerate(document.measures)
    ]
    note = element("details", element("summary", "Rules of the choice"), rules)
    return _section("best", "Best settings", _select("measure", "by", measures), tables, note)


def _choices(found: Sequence[Choice]) -> Html:
    several = any(choice["problem"] for choice in found)
    names = ["agent", *(["in"] if several else []), *CHOICE]
    head = element("tr", [element("th", name, scope="col") for name in names])
    rows = element("tbody", [_choice(choice, several) for choice in found])
    return scrolling(element("table", element("thead", head), rows), "best settings")


def _choice(choice: Choice, several: bool) -> Html:
    settings = ", ".join(
        f"{name.removeprefix('agent.')} {number(value)}"
        for name, value in choice["settings"].items()
    )
    best = element("button", settings or choice["best"], type="button", class_="to-curve",
                   data_cell=choice["best"], title="show its curve")  # fmt: skip
    return element(
        "tr",
        element("th", choice["label"], scope="row"),
        element("td", choice["problem"]) if several else "",
        element("td", best if choice["best"] else "none: every setting diverged"),
        element("td", _score(choice["reported"]), class_="number"),
        element("td", f"{choice['no_worse']} of {choice['tried']}", class_="number"),
        element("td", _left_out(choice), class_="number"),
    )


def _score(score: Mapping[str, Any] | None) -> str:
    if score is None:
        return "–"
    if score["diverged"]:
        return f"{score['diverged']} of {score['runs']} runs diverged"
    between = f" ({number(score['low'])} to {number(score['high'])})" if score["low"] else ""
    return f"{number(score['mean'])}{between}, {score['runs']} runs"


def _left_out(choice: Choice) -> str:
    unfinished = f", {choice['unfinished']} unfinished" if choice["unfinished"] else ""
    return f"{choice['diverged']}{unfinished}"


def _curves() -> Html:
    return _section(
        "curves-of-cells",
        "Curves",
        _hint(
            "Rows of the table below, and fields of the heat map, add and remove curves. Bands are "
            "95 % t-intervals of the mean over runs. A curve ends where a run diverged."
        ),
        element("div", id="chosen", class_="legend", aria_live="polite"),
        element("div", id="curve-plot", class_="plot tall"),
    )


def _cells(document: SweepPage) -> Html:
    search = element("input", type="search", id="search", placeholder="in any column")
    return _section(
        "cells",
        "Cells",
        element("div",
            element("label", "Filter ", search, class_="control"),
            element("button", "Clear filters", type="button", id="clear-filters"),
            element("span", id="count", class_="quiet", role="status"), class_="controls"),
        _hint(
            "Under a number's name: 0.1, > 0.1, <= 0.1 or 0.01..0.1; under others a part of the "
            "text. Up and down move between rows, space adds a curve."
        ),
        element("div", element("table", id="cell-table", class_="cell-table"), id="cell-box",
                tabindex=0, role="region", aria_label="cells", class_="cell-box"),
    )  # fmt: skip


def _sensitivity(document: SweepPage) -> Html:
    problems = list(dict.fromkeys(group.problem for group in document.groups))
    return _section(
        "sensitivity",
        "Sensitivity",
        _select("problem", "in", [problem or "the only domain" for problem in problems]),
        _hint(
            "Lines: best over the other settings. Dotted: the others as in the best setting. "
            "A value with which everything diverged has a cross below. The axis leaves out means "
            "that are far below the others: double-click a plot to see all."
        ),
        element("div", id="sensitivity-legend", class_="legend"),
        element("div", id="sensitivity-plots", class_="plots columns-3"),
    )


def _heat(document: SweepPage) -> Html:
    names = [" · ".join(filter(None, (g.label, g.problem))) for g in document.groups]
    return _section(
        "heat",
        "Two settings",
        element("div", _select("heat-group", "of", names), _select("heat-first", "across", []),
                _select("heat-second", "up", []), class_="controls"),
        _hint("Best over the other settings. Crosses: all diverged. Click a field for its curve."),
        element("div", id="heat-plot", class_="plot tall"),
    )  # fmt: skip
