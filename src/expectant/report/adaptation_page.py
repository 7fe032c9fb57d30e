"""The page of the local-change adaptation test: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from expectant.report.files import write_whole
from expectant.report.markup import Html, element, markup, scrolling, table

SYMBOLS = {
    "adaptive": ("✓", "holds"),
    "not adaptive": ("✗", "fails"),
    "undecided": ("?", "undecided"),
}
Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class AdaptationPage:
    """``rows`` are the rows of the test as plain data; ``labels`` names agents; ``svg`` is the
    figure; ``text`` says in some paragraphs what is tested and how."""

    title: str
    subtitle: str
    text: Sequence[str]
    rows: Sequence[Row]
    labels: Mapping[str, str]
    svg: str
    environment: Sequence[tuple[str, Any]]


def write_adaptation_page(path: str | Path, document: AdaptationPage) -> Path:
    """Write the page in one piece."""
    return write_whole(Path(path), adaptation_page(document).encode())


def adaptation_page(document: AdaptationPage) -> str:
    """The whole page as text, the same for the same data."""
    style = files("expectant.report").joinpath("page.css").read_text(encoding="utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    body = element(
        "main",
        element("header", element("h1", document.title), _subtitle(document)),
        [element("p", paragraph) for paragraph in document.text],
        _section("verdicts", "Verdicts and adaptation at a glance", _matrix(document)),
        _section("curves", "Curves", element("div", _drawing(document.svg), class_="scrolling")),
        _section("runs", "Every run", _runs(document)),
        _section("settings", "Settings", _settings(document)),
        _section("environment", "Environment", table(document.environment, "environment")),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{markup(document.title)}</title>\n<style>\n{style}\n</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _subtitle(document: AdaptationPage) -> Html:
    return element("p", document.subtitle, class_="subtitle")


def _section(anchor: str, heading: str, content: Html) -> Html:
    return element("section", element("h2", heading), content, id=anchor)


def _drawing(svg: str) -> Html:
    """The figure as wide as the page, without the lines that only a file of its own needs."""
    _, _, content = svg.partition("<svg")
    return Html(f'<svg style="width:100%;height:auto"{content}')


def _badge(verdict: str) -> Html:
    symbol, look = SYMBOLS[verdict]
    mark = element("span", symbol, class_="symbol", aria_hidden="true")
    return element("span", mark, element("span", verdict), class_=f"badge {look}")


def _matrix(document: AdaptationPage) -> Html:
    """Agents by backup distributions."""
    agents = list(dict.fromkeys(row["agent"] for row in document.rows))
    backups = list(dict.fromkeys(row["backups"] for row in document.rows))
    found = {(row["agent"], row["backups"]): row for row in document.rows}
    head = element("tr", element("th", "backups", scope="col"), [
        element("th", document.labels[agent], scope="col", style="white-space:normal")
        for agent in agents
    ])  # fmt: skip
    lines = []
    for name in backups:
        cells = [_cell(found.get((agent, name)), document.labels[agent]) for agent in agents]
        lines.append(element("tr", element("th", name, scope="row"), cells))
    body = element("table", element("thead", head), element("tbody", lines))
    return scrolling(body, "verdicts at a glance")


def _cell(row: Row | None, label: str) -> Html:
    if row is None:
        return element("td", element("span", "–", class_="quiet"), data_label=label)
    scores = f"{_two(row['adaptation'])} (P1 {_two(row['P1'])})"
    content = _badge(row["verdict"]), element("div", scores, class_="hint")
    return element("td", content, data_label=label)


def _runs(document: AdaptationPage) -> Html:
    names = ("agent", "backups", "P1", "adaptation, 95 %", "adaptation of every run")
    head = element("tr", [element("th", name, scope="col") for name in names])
    lines = [_line(row, document.labels) for row in document.rows]
    body = element("table", element("thead", head), element("tbody", lines))
    return scrolling(body, "every run")


def _line(row: Row, labels: Mapping[str, str]) -> Html:
    between = f"{_two(row['adaptation_low'])} to {_two(row['adaptation_high'])}"
    seeds = ", ".join(_two(value) for value in row["adaptation_by_seed"])
    return element(
        "tr",
        element("th", labels[row["agent"]], scope="row"),
        element("td", row["backups"]),
        element("td", _two(row["P1"]), class_="number"),
        element("td", f"{_two(row['adaptation'])} ({between})", class_="number"),
        element("td", seeds),
    )


def _settings(document: AdaptationPage) -> Html:
    """What every agent was given; all its rows share it."""
    found = {document.labels[row["agent"]]: row["settings"] for row in document.rows}
    return table([(label, element("code", text)) for label, text in found.items()], "settings")


def _two(value: float | None) -> str:
    """Two digits after the point, with a true minus sign; a dash where there is no number."""
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
