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
    Header,
    Palette,
    Rules,
    Summary,
    Worlds,
    chart_of,
    palette_of,
    write_page,
)
from expectant.report.page import page
from expectant.report.sections import claims_of

EVIL = "<script>alert(1)</script>"


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
        assert found.get("role") != "img" or found["aria-label"]
        self.tags.append(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if tag == "a" else []


def _data(text: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_same_report_same_bytes(report: Report, tmp_path: Path) -> None:
    first = write_page(tmp_path / "first.html", report.sections, report.palette)
    second = write_page(str(tmp_path / "new" / "second.html"), report.sections, report.palette)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size < 200_000
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["second.html"]


def test_addresses_and_links(report: Report) -> None:
    outline = Outline(report.text)
    assert len(outline.ids) == len(set(outline.ids))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
    for anchor in ("overview", "figure-1", "figure-5a", "ablations", "discussion"):
        assert f"#{anchor}" in outline.links


def test_the_sentence_and_the_bars_count_the_claims_of_the_source(report: Report) -> None:
    summary = Summary(report.verdicts, total=4)
    assert summary.sentence == (
        "Of the paper's 4 claims, 1 holds wherever it was judged and 3 under some interpretations."
    )
    assert Summary(report.verdicts, total=29).sentence.startswith("Of 4 of the paper's 29 claims, ")
    assert summary.bars[0] == (
        "text",
        [("holds", 2, 0.0, 50.0), ("unclear", 1, 50.0, 25.0), ("does not hold", 1, 75.0, 25.0)],
        0,
    )
    assert summary.sentence in report.text.replace("&#39;", "'")


def test_a_claim_is_drawn_in_margins_from_the_claimed_number() -> None:
    verdict = {"id": 1, "figure": "1", "interpretation": "", "claim": "c", "verdict": "holds",
               "stated": "about", "reference": -7.0, "margin": 2.0, "label": "", "unit": ""}  # fmt: skip
    near = verdict | {"effect": -5.0, "low": -6.0, "high": -4.0}
    far = verdict | {"effect": 93.0, "low": 92.0, "high": 94.0}
    ((claim),) = claims_of([near, far])
    first, second = claim.marks
    # The axis reaches from -1.6 to 8 margins.
    assert first["claimed"] == pytest.approx(100 * 1.6 / 9.6, abs=0.01)
    assert first["band"] == (pytest.approx(6.25), pytest.approx(100 * 2.6 / 9.6, abs=0.01))
    assert (first["effect"], first["beyond"]) == (first["band"][1], "")
    assert (second["effect"], second["beyond"]) == (100.0, "right")
    assert claim.claimed == "about −7, margin 2"


def test_curves_are_in_the_page(report: Report) -> None:
    figures = _data(report.text)["figures"]
    assert [len(figure["plots"]) for figure in figures] == [1, 2, 2]
    panel, drawn = figures[1]["plots"][0], report.panels["5a"][0]
    assert (panel["breaks"], panel["interpretations"]) == ([500, 1000, 1500], ["text"])
    assert panel["levels"][0]["height"] == 13.92
    for curve, returns in zip(panel["curves"], drawn.curves.values(), strict=True):
        for name, numbers in zip(("mean", "low", "high"), interval(returns), strict=True):
            np.testing.assert_allclose(curve[name], numbers, rtol=1e-3)
    lost = figures[2]["plots"][1]["curves"][3]
    assert (lost["diverged"], lost["runs"], lost["high"][20:]) == (2, 30, [None] * 20)


def test_everything_from_outside_is_escaped(report: Report, make_panel: Any) -> None:
    panel = make_panel(EVIL, (EVIL, "lookahead"), panel=EVIL, interpretation=EVIL)
    panel.labels["lookahead"] = EVIL
    other = replace(panel, interpretation="other", panel=f'"{EVIL}')
    texts = ("id", "figure", "interpretation", "claim", "verdict", "short", "statement", "label")
    verdict = report.verdicts[0] | dict.fromkeys((*texts, "detail", "note", "stated"), EVIL)
    elsewhere = verdict | {"figure": f'"{EVIL}'}
    drawn = replace(chart_of([panel, other]), x_name=EVIL, break_name=EVIL)
    figure = Curves(
        EVIL, EVIL, drawn, [verdict], [EVIL], [(EVIL, EVIL)], [], drawn, [(EVIL, [EVIL])], [EVIL],
        EVIL,
    )  # fmt: skip
    sections = [
        Header(EVIL, EVIL, [EVIL], EVIL, EVIL, [EVIL], EVIL), Summary([verdict, elsewhere], [figure]),
        figure, Claims([elsewhere], EVIL), Rules([EVIL], [(EVIL, EVIL)]), Environment({EVIL: EVIL}),
    ]  # fmt: skip
    text = page(sections, palette_of([panel, other]))
    assert Outline(text).tags.count("script") == 2
    assert EVIL not in text
    assert _data(text)["palette"]["lookahead"]["name"] == EVIL


def test_no_script_but_that_of_the_page_may_run(report: Report) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', report.text)
    assert policy is not None
    (script,) = re.findall(r"<script>(.*?)</script>", report.text, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{allowed}';" in policy[1]
    assert "default-src 'none'" in policy[1]


def test_a_section_without_data_does_not_appear() -> None:
    text = page([Header("t"), Summary([]), Claims([]), Environment({})], Palette({}))
    assert Outline(text).tags.count("section") == 0


def test_pictures_of_domains_are_part_of_the_page():
    text = page([Header("Title"), Worlds([("A row <of> cells", b"PNG")])], Palette({}))
    assert f'src="data:image/png;base64,{base64.b64encode(b"PNG").decode()}"' in text
    assert "A row &lt;of&gt; cells" in text
