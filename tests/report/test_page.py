"""The page as text: deterministic, escaped, complete."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report.conftest import Report

from expectant.analysis.curves import interval
from expectant.report import (
    Claims,
    Curves,
    Environment,
    Glance,
    Header,
    Palette,
    Parameters,
    Section,
    chart_of,
    palette_of,
    write_page,
)
from expectant.report.page import page

EVIL = "<script>alert(1)</script>"
NOBODY = Palette({})


class Outline(HTMLParser):
    """Tags, addresses and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        assert not [name for name in found if name.startswith("on") or name in ("src", "style")]
        self.tags.append(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if tag == "a" else []


def _data(text: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def _charts(text: str) -> list[dict[str, Any]]:
    return [section for section in _data(text)["sections"] if section["kind"] == "curves"]


def _page(*sections: Section, palette: Palette = NOBODY) -> str:
    return page([Header("t"), *sections], palette)


def test_same_report_same_bytes(report: Report, tmp_path: Path) -> None:
    first = write_page(tmp_path / "first.html", report.sections, report.palette)
    second = write_page(str(tmp_path / "new" / "second.html"), report.sections, report.palette)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size < 7_000_000
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["second.html"]


def test_order_and_addresses(report: Report) -> None:
    outline = Outline(report.text)
    sections = [i for i in outline.ids if re.fullmatch(r"verdicts|figure-\w+|[oe]\w+(-\w+)?", i)]
    assert sections == [
        "verdicts",
        *[f"figure-{figure}" for figure in ("1", "5a", "5b")],
        "other-claims",
        "environment",
    ]
    assert len(outline.ids) == len(set(outline.ids))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
    assert outline.tags.count("script") == 3


def test_curves_are_in_the_page(report: Report) -> None:
    figures = _charts(report.text)
    assert [len(figure["plots"]) for figure in figures] == [1, 2, 2]
    panel = figures[1]["plots"][0]
    drawn = report.panels["5a"][0]
    assert panel["breaks"] == [500, 1000, 1500]
    assert panel["levels"][0]["height"] == 13.92
    for curve, returns in zip(panel["curves"], drawn.curves.values(), strict=True):
        expected = interval(returns)
        for name, numbers in zip(("mean", "low", "high"), expected, strict=True):
            np.testing.assert_allclose(curve[name], numbers, rtol=1e-4)


def test_diverged_bins_are_null_and_counted(make_panel: Any) -> None:
    panels = [make_panel(diverged=2)]
    text = _page(Curves("5a", "", chart_of(panels)), palette=palette_of(panels))
    assert _charts(text)[0]["plots"][0]["curves"][2]["high"][20:] == [None] * 20
    assert "Look-ahead (Algorithm 1) (2 of 30 runs diverged)" in text


def test_everything_from_outside_is_escaped(make_panel: Any) -> None:
    panel = make_panel(EVIL, (EVIL, "lookahead"), panel=EVIL, interpretation=EVIL)
    panel.labels["lookahead"] = EVIL
    other = replace(panel, interpretation="other", panel=f'"{EVIL}')
    keys = ("id", "figure", "interpretation", "claim", "verdict", "effect", "low", "high", "rule")
    verdict = dict.fromkeys((*keys, "detail"), EVIL)
    sections = [
        Header(EVIL, EVIL, [EVIL]),
        Glance([verdict, verdict | {"figure": f'"{EVIL}'}]),
        Curves(EVIL, EVIL, replace(chart_of([panel, other]), x_name=EVIL, break_name=EVIL)),
        Claims([verdict]),
        Parameters([(EVIL, [(EVIL, EVIL)])], [EVIL, f"'{EVIL}"], EVIL),
        Claims([verdict | {"figure": f'"{EVIL}'}], EVIL),
        Environment([(EVIL, EVIL)]),
    ]
    text = page(sections, palette_of([panel, other]))
    outline = Outline(text)
    assert outline.tags.count("script") == 3
    assert EVIL not in text
    assert _data(text)["palette"]["lookahead"]["name"] == EVIL
    assert all(re.fullmatch(r"#[a-z0-9-]+", link) for link in outline.links)


def test_no_script_but_those_of_the_page_may_run(report: Report) -> None:
    text = report.text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 2
    hashes = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    assert f"script-src {allowed};" in policy[1]
    assert "default-src 'none'" in policy[1]


def test_a_section_without_data_does_not_appear() -> None:
    sections = (Glance([]), Claims([]), Parameters([]), Environment([]))
    assert Outline(_page(*sections)).tags.count("section") == 0


def test_what_lies_below_the_axis_is_told(make_panel: Any) -> None:
    panel = make_panel()
    panel.curves["q_learning"][:, 30] = -500.0
    text = _page(Curves("1", "", chart_of([panel])), palette=palette_of([panel]))
    assert "(below the axis, down to −500)" in text.partition("<script")[0]


def test_a_figure_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="figure '1' has more than one section"):
        _page(Curves("1", "", chart_of([])), Curves("1", "", chart_of([])))
