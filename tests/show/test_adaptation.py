"""The page of the local-change adaptation test."""

from __future__ import annotations

import numpy as np

from expectant.analysis.panel import Level
from expectant.show import Adaptation, Chart, Curves, Header, Palette
from expectant.show.chart import Plot, curve_of
from expectant.show.page import page

EVIL = "<script>alert(1)</script>"
ROW = {
    "agent": "one", "backups": "all", "settings": "One(step=<1>)", "P1": 0.97,
    "adaptation": None, "adaptation_low": None, "adaptation_high": None,
    "adaptation_by_seed": [0.91234, None, -0.001], "verdict": "undecided", "why": "a run diverged",
}  # fmt: skip
PALETTE = Palette({"all": "all", "current": "current", "none": "no planning"})


def chart() -> Chart:
    steps, rng = np.arange(0, 400, 10), np.random.default_rng(0)
    levels = [Level(0, 200, 1.0, "optimum"), Level(200, 400, 0.5, "outdated policy")]
    found = {
        "One": {"all": rng.random((3, 40)), "current": rng.random((3, 40))},
        "Two": {"none": np.full((3, 40), np.nan)},  # diverged
        "Three": {"all": rng.random((3, 40))},
    }
    plots = [
        Plot(name, steps, 400, [curve_of(key, each) for key, each in curves.items()], [200], levels)
        for name, curves in found.items()
    ]
    return Chart(plots, 2, "step", "expected return", "next phase")


def test_the_page_shows_every_run_and_escapes_names():
    section = Adaptation({EVIL: [ROW | {"backups": EVIL}]}, {"one": EVIL}, {("one", EVIL): EVIL})
    text = page([Header(EVIL), section], PALETTE)
    assert EVIL not in text
    assert "0.91, –, 0.00" in text
    assert "<script" not in text  # nothing to draw, nothing to run
    assert "script-src 'none'" in text


def test_agents_and_backups_make_a_matrix():
    rows = [ROW, ROW | {"agent": "two"}, ROW | {"backups": "none"}]
    section = Adaptation(
        {"Planning": rows, "Other": [ROW | {"agent": "three"}]},
        {"one": "One", "two": "Two", "three": "Three"},
        {
            ("one", "all"): "all states",
            ("two", "all"): "all states",
            ("one", "none"): "no planning",
            ("three", "all"): "every state",
        },
    )
    assert {name: list(found) for name, found in section.matrix(rows).items()} == {
        "all": ["one", "two"],
        "none": ["one"],
    }
    text = page([Header("t"), section, Curves("curves", "", chart())], PALETTE)
    assert text.count('class="nothing"') == 1  # a figure's agents are in its own table alone
    for name in ("all states", "no planning", "every state"):  # as the figure calls them
        assert text.count(f'<th scope="row">{name}</th>') == 1
