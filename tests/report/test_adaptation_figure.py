from __future__ import annotations

import numpy as np
import pytest

from expectant.report.adaptation_figure import (
    AdaptationFigure,
    AdaptationPanel,
    draw_adaptation,
    rendered,
)
from expectant.report.adaptation_page import AdaptationPage, adaptation_page


@pytest.fixture
def figure() -> AdaptationFigure:
    steps, rng = np.arange(0, 400, 10), np.random.default_rng(0)
    panels = [
        AdaptationPanel("One", {"all": rng.random((3, 40)), "current": rng.random((3, 40))}),
        AdaptationPanel("Two", {"none": np.full((3, 40), np.nan)}),  # diverged
        AdaptationPanel("Three", {"all": rng.random((3, 40))}),
    ]
    levels = [(0, 200, 1.0, "optimum"), (200, 400, 0.5, "outdated policy")]
    return AdaptationFigure("Title & more", panels, steps, [200, 300], levels)


def test_the_same_curves_make_the_same_bytes(figure, tmp_path):
    png, svg = draw_adaptation(figure, tmp_path / "drawn")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert svg.read_bytes() == rendered(figure, "svg")


def test_the_page_escapes_names_and_shows_every_run(figure):
    row = {
        "agent": "one", "backups": "all", "settings": "One(step=<1>)", "P1": 0.97,
        "adaptation": None, "adaptation_low": None, "adaptation_high": None,
        "adaptation_by_seed": [0.91234, None], "verdict": "undecided", "why": "a run diverged",
    }  # fmt: skip
    svg = rendered(figure, "svg").decode()
    page = adaptation_page(
        AdaptationPage("A & B", "sub", ["text"], [row], {"one": "One"}, svg, [("seed", 0)])
    )
    assert "<title>A &amp; B</title>" in page
    assert "One(step=&lt;1&gt;)" in page
    assert "0.91, –" in page
    assert "<?xml" not in page
    assert "<script" not in page
