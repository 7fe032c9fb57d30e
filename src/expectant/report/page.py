"""The interactive page: one HTML file that needs nothing else, the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from expectant.analysis.panel import Panel
from expectant.report.document import FigureSection, PaperReport
from expectant.report.files import write_whole
from expectant.report.markup import Html, element, markup, script_json, slug, table
from expectant.report.payload import constants, figure_data, legend, plot_anchor
from expectant.report.style import tell_apart
from expectant.report.summaries import ValueRange, agents_of, arranged, number, panel_heading
from expectant.report.verdicts import Verdict, by_claim, evidence, figure_name, matrix

OTHER_CLAIMS = "other-claims"


def write_page(path: str | Path, document: PaperReport) -> Path:
    """Write the report as one self-contained HTML file, which can be opened without a network."""
    return write_whole(Path(path), page(document).encode())


def page(document: PaperReport) -> str:
    """The whole page as text."""
    from plotly.offline import get_plotlyjs

    tell_apart(agents_of(panel for section in document.figures for panel in section.panels))
    anchors = figure_anchors(document.figures)
    sections, figures = [], []
    for section in document.figures:
        claims = [v for v in document.verdicts if str(v["figure"]) == section.figure]
        content, data = _figure_section(section, claims, anchors[section.figure])
        sections.append(content)
        figures.append(data)
    return Template(_part("page_template.html")).substitute(
        title=markup(document.title),
        style=_part("page.css"),
        header=_header(document),
        verdicts=_glance(document, anchors),
        figures=markup(sections),
        other_claims=_other_claims(document, anchors),
        environment=_environment(document),
        plotly=get_plotlyjs(),
        data=script_json({"look": constants(), "figures": figures}),
        script=_part("page.js"),
    )


def _part(name: str) -> str:
    return files("expectant.report").joinpath(name).read_text(encoding="utf-8")


def figure_anchors(sections: Sequence[FigureSection]) -> dict[str, str]:
    """The address of each figure within the page; every figure may have one section only."""
    anchors: dict[str, str] = {}
    for section in sections:
        if section.figure in anchors:
            raise ValueError(f"write_page: figure {section.figure!r} has more than one section")
        anchor = f"figure-{slug(section.figure)}"
        taken = anchor in anchors.values()
        anchors[section.figure] = f"{anchor}-{len(anchors) + 1}" if taken else anchor
    return anchors


def _header(document: PaperReport) -> Html:
    subtitle = element("p", document.subtitle, class_="subtitle") if document.subtitle else ""
    return element("header", element("h1", document.title), subtitle)


def _glance(document: PaperReport, anchors: dict[str, str]) -> Html:
    if not document.verdicts:
        return Html("")
    content = matrix(document.verdicts, lambda figure: anchors.get(figure, OTHER_CLAIMS))
    heading = element("h2", "Verdicts at a glance")
    return element("section", heading, content, id="verdicts")


def _figure_section(
    section: FigureSection, verdicts: Sequence[Verdict], anchor: str
) -> tuple[Html, dict[str, Any]]:
    panels, columns = arranged(section.panels)
    data, covered = figure_data(panels, anchor)
    back = element("a", "↑ verdicts", href="#verdicts", class_="back") if verdicts else ""
    name = element("span", figure_name(section.figure), class_="figure-name")
    content = element(
        "section",
        element("div", element("h2", name, " ", section.title), back, class_="figure-head"),
        _plots(panels, columns, anchor, covered) if panels else "",
        _claims(verdicts),
        _parameters(section),
        _command(section.command),
        id=anchor,
        class_="figure",
    )
    return content, data


def _plots(panels: Sequence[Panel], columns: int, anchor: str, covered: ValueRange) -> Html:
    plots = [
        element(
            "figure",
            element("figcaption", panel_heading(panel, panels)),
            element("div", id=plot_anchor(anchor, place), class_="plot"),
        )
        for place, panel in enumerate(panels)
    ]
    hint = "Click a name to hide its curve and band, double-click to show it alone."
    if covered.left_out is not None:
        hint += (
            f" The axis leaves out a few extreme values (up to {number(covered.left_out)}):"
            " double-click a plot to see all."
        )
    return element(
        "div",
        legend(panels, anchor),
        element("p", hint, class_="hint"),
        element("div", plots, class_=f"plots columns-{columns}"),
        class_="drawing",
    )


def _claims(verdicts: Sequence[Verdict]) -> Html:
    if not verdicts:
        return Html("")
    heading = element("h3", "Claims")
    return element("div", heading, [evidence(claim) for claim in by_claim(verdicts)])


def _parameters(section: FigureSection) -> Html:
    if not (section.tables or section.readings):
        return Html("")
    tables = [
        element("div", element("h4", heading), table(rows, heading))
        for heading, rows in section.tables
    ]
    notes = [element("li", note) for note in section.readings]
    readings = element("div", element("h4", "Readings"), element("ul", notes)) if notes else ""
    summary = element("summary", "Parameters and readings")
    return element("details", summary, element("div", tables, class_="tables"), readings)


def _command(command: str) -> Html:
    if not command:
        return Html("")
    label = element("span", "Make it again:", class_="quiet")
    return element("div", label, element("pre", element("code", command)), class_="command")


def _other_claims(document: PaperReport, anchors: dict[str, str]) -> Html:
    verdicts = [v for v in document.verdicts if str(v["figure"]) not in anchors]
    if not verdicts:
        return Html("")
    claims = [evidence(claim) for claim in by_claim(verdicts)]
    return element("section", element("h2", "Claims without a figure"), claims, id=OTHER_CLAIMS)


def _environment(document: PaperReport) -> Html:
    if not document.environment:
        return Html("")
    content = table(document.environment, "environment")
    return element("section", element("h2", "Environment"), content, id="environment")
