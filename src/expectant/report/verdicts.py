"""Verdicts as HTML: a matrix of claims and readings, and the evidence for each claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from expectant.report.markup import Html, element, scrolling, slug
from expectant.report.summaries import number

Verdict = Mapping[str, Any]
# Symbol and class; the word is always written too, so nothing depends on colour or on the symbol.
LOOKS = {
    "holds": ("✓", "holds"),
    "does not hold": ("✗", "fails"),
    "undecided": ("?", "undecided"),
}
PLURALS = {"holds": "hold", "does not hold": "do not hold"}


def figure_name(figure: str) -> str:
    """What a figure is called: "Figure 5a", or its own name if it does not start with a digit."""
    return f"Figure {figure}" if figure[:1].isdigit() else figure[:1].upper() + figure[1:]


def readings_of(verdicts: Sequence[Verdict]) -> list[str]:
    return list(dict.fromkeys(str(verdict["reading"]) for verdict in verdicts))


def by_claim(verdicts: Sequence[Verdict]) -> list[list[Verdict]]:
    """The verdicts on each claim together, in order of appearance."""
    claims: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        claims.setdefault((str(verdict["figure"]), str(verdict["id"])), []).append(verdict)
    return list(claims.values())


def badge(verdict: str) -> Html:
    """A verdict as symbol and word."""
    symbol, look = LOOKS.get(verdict, ("·", "undecided"))
    symbol_html = element("span", symbol, class_="symbol", aria_hidden="true")
    return element("span", symbol_html, element("span", verdict), class_=f"badge {look}")


def claim_anchor(verdict: Verdict) -> str:
    return f"claim-{slug(verdict['figure'])}-{slug(verdict['id'])}"


def matrix(verdicts: Sequence[Verdict], figure_anchor: Callable[[str], str]) -> Html:
    """Claims by readings at a glance; a claim leads to its figure, a verdict to its evidence."""
    readings = readings_of(verdicts)
    head = element("tr", element("th", "claim", scope="col"), *_columns(readings))
    rows: list[Html] = []
    previous = None
    for claim in by_claim(verdicts):
        figure = str(claim[0]["figure"])
        if figure != previous:
            rows.append(_figure_row(figure, figure_anchor(figure), len(readings) + 1))
        previous = figure
        rows.append(_claim_row(claim, readings, figure_anchor(figure)))
    body = element("table", element("thead", head), element("tbody", rows), class_="matrix")
    return element("div", _totals(verdicts), scrolling(body, "verdicts at a glance"))


def _columns(readings: Sequence[str]) -> list[Html]:
    return [
        element("th", element("span", "reading ", class_="quiet"), reading, scope="col")
        for reading in readings
    ]


def _figure_row(figure: str, anchor: str, width: int) -> Html:
    link = element("a", figure_name(figure), href=f"#{anchor}")
    return element("tr", element("th", link, colspan=width, scope="colgroup"), class_="group")


def _claim_row(claim: Sequence[Verdict], readings: Sequence[str], anchor: str) -> Html:
    first = claim[0]
    name = element(
        "a",
        element("span", first["id"], class_="claim-id"),
        element("span", first["claim"]),
        href=f"#{anchor}",
        class_="claim-link",
    )
    cells = [
        _cell([v for v in claim if str(v["reading"]) == reading], reading) for reading in readings
    ]
    return element("tr", element("th", name, scope="row"), cells)


def _cell(verdicts: Sequence[Verdict], reading: str) -> Html:
    # On a narrow screen the style sheet writes the label in front, as there are no columns then.
    if not verdicts:
        return element("td", element("span", "not tested", class_="quiet"), data_label=reading)
    links = [
        element("a", badge(str(v["verdict"])), href=f"#{claim_anchor(v)}", class_="to-evidence")
        for v in verdicts
    ]
    return element("td", links, data_label=reading)


def _totals(verdicts: Sequence[Verdict]) -> Html:
    """How many claims of each verdict, reading by reading."""
    lines = []
    for reading in readings_of(verdicts):
        found = [str(v["verdict"]) for v in verdicts if str(v["reading"]) == reading]
        kinds = [*LOOKS, *sorted(set(found) - set(LOOKS))]
        counts = [_count(found.count(kind), kind) for kind in kinds if kind in found]
        name = element("span", f"reading {reading}: ", class_="quiet")
        lines.append(element("li", name, ", ".join(counts)))
    return element("ul", lines, class_="totals")


def _count(number_of: int, kind: str) -> str:
    return f"{number_of} {kind if number_of == 1 else PLURALS.get(kind, kind)}"


def evidence(claim: Sequence[Verdict]) -> Html:
    """One claim with its verdicts, statistics, intervals and rules."""
    first = claim[0]
    title = element("h4", element("span", first["id"], class_="claim-id"), first["claim"])
    shared = len({str(v.get("rule", "")) for v in claim}) == 1
    rule = _rule(first) if shared else Html("")
    rows = [_evidence_row(verdict, shared) for verdict in claim]
    head = element("tr", [element("th", name, scope="col") for name in _HEADS])
    body = element("table", element("thead", head), element("tbody", rows), class_="evidence")
    box = scrolling(body, f"evidence for claim {first['id']}")
    return element("article", title, rule, box, class_="claim", id=claim_anchor(first))


_HEADS = ("reading", "verdict", "statistic", "95 % interval", "detail")


def _rule(verdict: Verdict) -> Html:
    text = str(verdict.get("rule") or "")
    if not text:
        return Html("")
    return element("p", element("span", "Rule: ", class_="quiet"), text, class_="rule")


def _evidence_row(verdict: Verdict, rule_is_shared: bool) -> Html:
    low, high = verdict.get("low"), verdict.get("high")
    interval = "–" if low is None and high is None else f"[{number(low)}, {number(high)}]"
    own_rule = Html("") if rule_is_shared else _rule(verdict)
    return element(
        "tr",
        element("th", verdict["reading"], scope="row"),
        element("td", badge(str(verdict["verdict"]))),
        element("td", number(verdict.get("statistic")), class_="number", data_label="statistic"),
        element("td", interval, class_="number", data_label="95 % interval"),
        element("td", own_rule, verdict.get("detail") or "", class_="detail"),
    )
