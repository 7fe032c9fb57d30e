"""Synthetic curves and a whole synthetic report, in the shape of the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from expectant.analysis.panel import Panel
from expectant.show import (
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
)
from expectant.show.page import page

LABELS = {
    "q_learning": "Q-learning",
    "q_planning_expectation": "Q-planning, expectation model",
    "q_planning_true": "Q-planning, true model",
    "lookahead": "Look-ahead (Algorithm 1)",
    "cached_values": "Cached values (Algorithm 2)",
    "cached_policy": "Cached policy (Algorithm 3)",
    "q_planning_true_1": "Q-planning, true model, 1 step",
    "q_planning_true_5": "Q-planning, true model, 5 steps",
    "q_planning_true_20": "Q-planning, true model, 20 steps",
}
# Episodes after which an agent has recovered about two thirds of a drop.
SPEEDS = dict(zip(LABELS, (140, 90, 60, 40, 110, 75, 120, 70, 45), strict=True))


def synthetic_panel(
    figure: str = "5a",
    agents: tuple[str, ...] = ("q_learning", "q_planning_expectation", "lookahead"),
    *,
    panel: str = "",
    reading: str = "text",
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
    rng = np.random.default_rng(len(figure) + 7 * len(panel) + 13 * len(reading))
    first = np.arange(0, episodes, bin)
    curves = {}
    for agent in agents:
        speed = SPEEDS.get(agent, 100) * phase / 500 * (1.4 if reading == "code" else 1.0)
        below = (optimum + 7) * np.exp(-(first % phase + bin / 2) / speed)
        noise = rng.normal(0, 1.2, (runs, first.size)) + rng.normal(0, 0.5, (runs, 1))
        curves[agent] = optimum - 0.4 - speed / phase - below + noise
    if diverged:
        curves[agents[-1]][:diverged, first.size // 2 :] = np.nan
    labels = {agent: LABELS.get(agent, agent) for agent in agents}
    return Panel(figure, panel, reading, bin, switch_every, optimum, curves, labels)


CLAIMS = [
    ("1", "Q-learning comes within noise of the ε-greedy optimum"),
    ("1", "Q-planning with an expectation model does not"),
    ("3", "Q-learning reaches Q-planning with the true model"),
    ("3", "Q-planning with an expectation model stays below both"),
    ("4a", "after a switch Q-learning recovers later than both planners"),
    ("4a", "both planners dip less than Q-learning"),
    ("4a", "recovery in phase 3 is shorter than in phase 2"),
    ("4b", "more planning steps recover sooner"),
    ("4b", "more planning steps drop less"),
    ("5a", "Q-learning falls to about −7 after the first switch"),
    ("5a", "later switches hurt Q-learning less (about 4 at the end of phase 3)"),
    ("5a", "an expectation model with action values recovers sooner and drops less"),
    ("5a", "but its overall return is below that of Algorithm 1"),
    ("5a", "Algorithm 1 has the shortest recovery of the three"),
    ("5b", "Algorithm 2 recovers later than Algorithm 1"),
    ("5b", "Algorithm 3 is more sensitive to the switch than Algorithm 1"),
    ("5b", "yet it recovers sooner than Q-learning and drops less"),
    ("discussion", "the decision time of Algorithm 1 grows with the number of actions"),
]
READINGS = ("text", "code")


def synthetic_verdicts() -> list[dict[str, Any]]:
    kinds = ("holds", "does not hold", "unclear", "holds", "holds")
    return [
        {
            "id": number,
            "figure": figure,
            "reading": reading,
            "claim": claim,
            "verdict": kinds[(number * (place + 1) + place) % len(kinds)],
            "effect": 0.37 * number - place,
            "low": 0.37 * number - place - 0.4,
            "high": 0.37 * number - place + 0.4,
            "rule": "holds if the interval of the paired difference of recovery times (episodes "
            "until 90 % of the optimum) is above zero; does not hold if it is below",
            "detail": "recovery of 312 episodes against 147, over phases 2 to 4",
        }
        for number, (figure, claim) in enumerate(CLAIMS, start=1)
        for place, reading in enumerate(READINGS)
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


def _sections(
    figure: str, title: str, panels: list[Panel], verdicts: list[dict[str, Any]]
) -> list[Section]:
    tables = [
        ("Corridor", [("cells", 9), ("slip", 0.1), ("switch_every", 500), ("runs", 30)]),
        ("Look-ahead", [("value_step", 0.01), ("model_step", 0.1), ("planning_steps", 5)]),
        ("Q-learning", [("action_step", 0.001), ("epsilon", 0.1), ("discount", 1.0)]),
    ]
    readings = [
        "k in figure 5: 5 (table) under text, 3 (text) under code",
        "replayed rewards after a switch: as stored under text, relabelled under code",
    ]
    command = f"expectant reproduce --figure {figure} --out results/paper"
    return [
        Curves(figure, title, chart_of(panels)),
        Claims([verdict for verdict in verdicts if verdict["figure"] == figure]),
        Parameters(tables, readings, command),
    ]


def synthetic_report() -> Report:
    """Six figures, eighteen claims, two readings."""
    three = ("q_learning", "q_planning_expectation", "q_planning_true")
    family = ("q_learning", "q_planning_true_1", "q_planning_true_5", "q_planning_true_20")
    cached = ("lookahead", "cached_values", "cached_policy", "q_learning")
    one = synthetic_panel("1", three[:2], optimum=-0.2875, shape=(30, 1000, 20), switch_every=None)
    long = (10, 20_000, 500)
    slips = [("slip 0", 15.39), ("slip 0.1", 13.92), ("slip 0.3", 7.875)]
    figures = [
        ("1", "The counterexample", [one]),
        (
            "3",
            "Convergence in the corridor",
            [synthetic_panel("3", three, optimum=6.278, shape=long, switch_every=None)],
        ),
        (
            "4a",
            "The goal moves, tabular",
            [synthetic_panel("4a", three, panel=name, optimum=best) for name, best in slips],
        ),
        (
            "4b",
            "More planning",
            [synthetic_panel("4b", family, shape=(30, 30_000, 20), switch_every=10_000)],
        ),
        ("5a", "Random features", [synthetic_panel(reading=reading) for reading in READINGS]),
        (
            "5b",
            "Caching what the look-ahead finds",
            [
                synthetic_panel("5b", cached, reading=reading, diverged=2 * place)
                for place, reading in enumerate(READINGS)
            ],
        ),
    ]
    verdicts = synthetic_verdicts()
    panels = {figure: found for figure, _, found in figures}
    title = "Planning with expectation models for control: the paper, run again"
    sections: list[Section] = [
        Header(title, "quick run: 5 runs instead of 30"),
        Glance(verdicts),
        *(part for figure in figures for part in _sections(*figure, verdicts)),
        Claims([v for v in verdicts if v["figure"] not in panels], "Claims without a figure"),
        Environment([("expectant", "0.1.0"), ("numpy", np.__version__), ("seed", 0)]),
    ]
    palette = palette_of([panel for found in panels.values() for panel in found])
    return Report(panels, verdicts, sections, palette)


@pytest.fixture
def make_panel() -> Any:
    return synthetic_panel


@pytest.fixture(scope="session")
def report() -> Report:
    return synthetic_report()
