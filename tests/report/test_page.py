"""The page as text: deterministic, escaped, complete."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from expectant.analysis.curves import interval
from expectant.report import FigureSection, PaperReport, write_page
from expectant.report.page import page

EVIL = "<script>alert(1)</script>"


class Outline(HTMLParser):
    """Tags, addresses and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attributes)
        self.ids.extend(value for name, value in attributes if name == "id" and value)
        if tag == "a":
            self.links.append(found["href"] or "")
        assert not {"src", "srcset", "onclick", "onload"} & set(found)


def _data(text: str) -> dict[str, Any]:
    found = re.search(r'id="curves">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_same_report_same_bytes(report: PaperReport, tmp_path: Path) -> None:
    first = write_page(tmp_path / "first.html", report)
    second = write_page(str(tmp_path / "new" / "second.html"), report)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size < 7_000_000
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["second.html"]


def test_order_and_addresses(report: PaperReport) -> None:
    outline = Outline(page(report))
    sections = [i for i in outline.ids if re.fullmatch(r"verdicts|figure-\w+|[oe]\w+(-\w+)?", i)]
    assert sections == [
        "verdicts",
        *[f"figure-{figure}" for figure in ("1", "3", "4a", "4b", "5a", "5b")],
        "other-claims",
        "environment",
    ]
    assert len(outline.ids) == len(set(outline.ids))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
    assert outline.tags.count("script") == 3


def test_curves_are_in_the_page(report: PaperReport) -> None:
    figures = _data(page(report))["figures"]
    assert [len(figure["panels"]) for figure in figures] == [1, 1, 3, 1, 2, 2]
    panel = figures[4]["panels"][0]
    drawn = report.figures[4].panels[0]
    assert panel["switches"] == [500, 1000, 1500]
    assert panel["optimum"] == 13.92
    means = drawn.curves["q_learning"].mean(axis=0)
    np.testing.assert_allclose(panel["curves"][0]["mean"], means, rtol=1e-4)
    for curve, (agent, returns) in zip(panel["curves"], drawn.curves.items(), strict=True):
        assert figures[4]["agents"][curve["agent"]]["label"] == drawn.labels[agent]
        expected = interval(returns)
        for name, numbers in zip(("mean", "low", "high"), expected, strict=True):
            np.testing.assert_allclose(curve[name], numbers, rtol=1e-4)
        assert (np.array(curve["low"]) < np.array(curve["high"])).all()


def test_diverged_bins_are_null_and_counted(make_panel: Any) -> None:
    section = FigureSection("5a", "", [make_panel(diverged=2)])
    text = page(PaperReport("t", figures=[section]))
    assert _data(text)["figures"][0]["panels"][0]["curves"][2]["high"][20:] == [None] * 20
    assert "Look-ahead (Algorithm 1) (2 of 30 runs diverged)" in text


def test_everything_from_outside_is_escaped(make_panel: Any) -> None:
    panel = make_panel(EVIL, (EVIL, "lookahead"), panel=EVIL, reading=EVIL)
    panel.labels["lookahead"] = EVIL
    other = replace(panel, reading="other", panel=f'"{EVIL}')
    keys = ("id", "figure", "reading", "claim", "verdict", "statistic", "low", "high", "rule")
    verdict = dict.fromkeys((*keys, "detail"), EVIL)
    section = FigureSection(
        EVIL, EVIL, [panel, other], [(EVIL, [(EVIL, EVIL)])], [EVIL, f"'{EVIL}"], EVIL
    )
    document = PaperReport(
        EVIL, EVIL, [verdict, verdict | {"figure": f'"{EVIL}'}], [section], [(EVIL, EVIL)]
    )
    text = page(document)
    outline = Outline(text)
    assert outline.tags.count("script") == 3
    assert EVIL not in text
    assert _data(text)["figures"][0]["agents"][1]["label"] == EVIL
    assert all(re.fullmatch(r"#[a-z0-9-]+", link) for link in outline.links)


def test_rules_and_readings_are_written_where_there_are_any(report: PaperReport) -> None:
    text = page(report)
    assert "Rule: </span>holds if the interval of the paired difference" in text
    assert text.count("<h4>Readings</h4>") == 6
    assert "<li>k in figure 5: 5 (table) under text, 3 (text) under code</li>" in text
    bare = FigureSection("2", "", [], tables=[("Corridor", [("cells", 9)])])
    assert "<h4>Readings</h4>" not in page(PaperReport("t", figures=[bare]))


def test_verdicts_are_told_in_words(report: PaperReport) -> None:
    text = page(report)
    for word in ("holds", "does not hold", "undecided"):
        assert f"<span>{word}</span>" in text
    assert "10 hold, 4 do not hold, 4 undecided" in text


def test_the_interval_of_a_verdict_is_written_from_low_to_high(report: PaperReport) -> None:
    verdict = dict(report.verdicts[0], statistic=0.25, low=-1.5, high=2.75)
    text = page(replace(report, verdicts=[verdict]))
    assert ">0.25</td>" in text
    assert "[−1.5, 2.75]" in text


def test_missing_verdicts_and_numbers(report: PaperReport) -> None:
    bare = {"id": 1, "figure": "1", "reading": "text", "claim": "c", "verdict": "undecided"}
    odd = bare | {"reading": "code", "id": 2, "verdict": "strange", "statistic": float("nan")}
    text = page(replace(report, verdicts=[bare, odd]))
    assert text.count("not tested") == 2
    assert "<span>strange</span>" in text
    assert "1 undecided" in text


def test_a_figure_without_panels_and_an_empty_report() -> None:
    assert "Figure 2" in page(PaperReport("t", figures=[FigureSection("2", "nothing", [])]))
    assert Outline(page(PaperReport("t"))).tags.count("section") == 0


def test_figures_of_similar_names_have_their_own_addresses() -> None:
    sections = [FigureSection(name, "", []) for name in ("5 a", "5-a")]
    outline = Outline(page(PaperReport("t", figures=sections)))
    assert [i for i in outline.ids if i.startswith("figure")] == ["figure-5-a", "figure-5-a-2"]


def test_a_figure_twice_is_an_error() -> None:
    sections = [FigureSection("1", "", []), FigureSection("1", "", [])]
    with pytest.raises(ValueError, match="figure '1' has more than one section"):
        page(PaperReport("t", figures=sections))
