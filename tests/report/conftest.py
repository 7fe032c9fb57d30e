"""Synthetic curves and a whole synthetic report, in the shape of the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from expectant.analysis.panel import Panel
from expectant.report import (
    Claims,
    Curves,
    Environment,
    Folded,
    Header,
    Palette,
    Section,
    Summary,
    chart_of,
    palette_of,
)
from expectant.report.page import page

LABELS = {
    "q_learning": "Q-learning",
    "q_planning_expectation": "Q-planning, expectation model",
    "q_planning_true": "Q-planning, true model",
    "lookahead": "Look-ahead (Algorithm 1)",
    "cached_values": "Cached values (Algorithm 2)",
    "cached_policy": "Cached policy (Algorithm 3)",
}
# Episodes after which an agent has recovered about two thirds of a drop.
SPEEDS = dict(zip(LABELS, (140, 90, 60, 40, 110, 75), strict=True))


def synthetic_panel(
    figure: str = "5a",
    agents: tuple[str, ...] = ("q_learning", "q_planning_expectation", "lookahead"),
    *,
    panel: str = "",
    interpretation: str = "text",
    optimum: float = 13.92,
    shape: tuple[int, int, int] = (30, 2000, 50),
    switch_every: int | None = 500,
    diverged: int = 0,
) -> Panel:
    """Curves that rise towards the optimum and drop when the goal moves.

    ``shape`` is runs, episodes, bin. That many runs of the last agent diverge halfway.
    """
    runs, episodes, bin = shape
    phase = switch_every or episodes
    rng = np.random.default_rng(len(figure) + 7 * len(panel) + 13 * len(interpretation))
    first = np.arange(0, episodes, bin)
    curves = {}
    for agent in agents:
        speed = SPEEDS.get(agent, 100) * phase / 500 * (1.4 if interpretation == "authors" else 1.0)
        below = (optimum + 7) * np.exp(-(first % phase + bin / 2) / speed)
        noise = rng.normal(0, 1.2, (runs, first.size)) + rng.normal(0, 0.5, (runs, 1))
        curves[agent] = optimum - 0.4 - speed / phase - below + noise
    if diverged:
        curves[agents[-1]][:diverged, first.size // 2 :] = np.nan
    labels = {agent: LABELS.get(agent, agent) for agent in agents}
    return Panel(figure, panel, interpretation, bin, switch_every, optimum, curves, labels)


CLAIMS = [
    ("1", "Q-planning with an expectation model does not come near the optimum"),
    ("5a", "Q-learning falls to about −7 after the first switch"),
    ("5a", "Algorithm 1 has the shortest recovery of the three"),
    ("5b", "Algorithm 2 recovers later than Algorithm 1"),
    ("discussion", "the decision time of Algorithm 1 grows with the number of actions"),
]
INTERPRETATIONS = ("text", "authors")


def synthetic_verdicts() -> list[dict[str, Any]]:
    kinds = ("holds", "does not hold", "unclear", "holds", "holds")
    return [
        {
            "id": number,
            "figure": figure,
            "interpretation": interpretation,
            "claim": claim,
            "verdict": kinds[(number * (place + 1) + place) % len(kinds)],
            "effect": 0.37 * number - place,
            "low": 0.37 * number - place - 0.4,
            "high": 0.37 * number - place + 0.4,
            "margin": 0.2,
            "runs": 30,
            "replication_probability": 0.5,
            "median": 0.5,
            "ahead": 0.75,
            "floors": {"1×": "holds", "4×": "unclear"} if number == 1 else {},
            "q_value": 0.01,
            "level": 0.95,
            "detail": "recovery of 312 episodes against 147, over phases 2 to 4",
            "label": "recovery",
            "unit": "episodes",
            "note": "",
            "stated": "above",
            "reference": 0.0,
            "short": claim[:30],
            "ours": number == 5,
            "statement": "The recovery is above 0.",
        }
        for number, (figure, claim) in enumerate(CLAIMS, start=1)
        for place, interpretation in enumerate(INTERPRETATIONS)
    ]


@dataclass(frozen=True, eq=False)
class Report:
    """A page as it is written for the paper."""

    panels: dict[str, list[Panel]]
    verdicts: list[dict[str, Any]]
    sections: list[Section]
    palette: Palette

    @property
    def text(self) -> str:
        return page(self.sections, self.palette)


def _section(
    figure: str, title: str, panels: list[Panel], verdicts: list[dict[str, Any]]
) -> Curves:
    parameters = [("cells", ["9"]), ("k", ["5", "3"])]
    command = f"expectant reproduce --figure {figure} --out results/paper"
    claims = [verdict for verdict in verdicts if verdict["figure"] == figure]
    return Curves(
        figure, title, chart_of(panels), claims, ["30 runs"], parameters=parameters, command=command,
    )  # fmt: skip


def synthetic_report() -> Report:
    """Three figures, five claims, two interpretations."""
    two = ("q_learning", "q_planning_expectation")
    cached = ("lookahead", "cached_values", "cached_policy", "q_learning")
    one = synthetic_panel("1", two, optimum=-0.2875, shape=(30, 1000, 20), switch_every=None)
    fallen = [
        synthetic_panel("5b", cached, interpretation=interpretation, diverged=2 * place)
        for place, interpretation in enumerate(INTERPRETATIONS)
    ]
    figures = [
        ("1", "The counterexample", [one]),
        (
            "5a",
            "Random features",
            [synthetic_panel(interpretation=interpretation) for interpretation in INTERPRETATIONS],
        ),
        ("5b", "Caching what the look-ahead finds", fallen),
    ]
    verdicts = synthetic_verdicts()
    panels = {figure: found for figure, _, found in figures}
    title = "Planning with expectation models for control: the paper, run again"
    drawn = [_section(*figure, verdicts) for figure in figures]
    sections: list[Section] = [
        Header(title, notes=["Two interpretations."], warning="quick run: 5 runs instead of 30"),
        Summary(verdicts, drawn, total=4),
        *drawn[:2],
        Folded("Ablations", "on demand", drawn[2:]),
        Claims([v for v in verdicts if v["figure"] not in panels], "Discussion"),
        Environment({"expectant": "0.1.0", "numpy": np.__version__, "seed": 0}),
    ]
    palette = palette_of([panel for found in panels.values() for panel in found])
    return Report(panels, verdicts, sections, palette)


@pytest.fixture
def make_panel() -> Any:
    return synthetic_panel


@pytest.fixture(scope="session")
def report() -> Report:
    return synthetic_report()
