"""What the page's script draws: curves as compact numbers, and the legend to switch them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from expectant.analysis.panel import Panel
from expectant.report.markup import Html, element
from expectant.report.style import (
    BAND_OPACITY,
    MANY_BINS,
    OPTIMUM_COLOUR,
    OPTIMUM_DASH,
    SWITCH_COLOUR,
    style_of,
)
from expectant.report.summaries import (
    Curve,
    ValueRange,
    agents_of,
    divergence_note,
    label_of,
    number,
    summarise,
    value_range,
)

LINE = 2.0  # pixels
DIGITS = 5
# Outlines of the markers in a square of 2 × 2 around the origin.
_OUTLINES = {
    "circle": [(math.cos(a), math.sin(a)) for a in np.linspace(0, 2 * math.pi, 16, endpoint=False)],
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": [(0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)],
    "triangle-up": [(0, -1.1), (1.1, 0.9), (-1.1, 0.9)],
    "triangle-down": [(0, 1.1), (1.1, -0.9), (-1.1, -0.9)],
    "triangle-left": [(-1.1, 0), (0.9, -1.1), (0.9, 1.1)],
    "triangle-right": [(1.1, 0), (-0.9, -1.1), (-0.9, 1.1)],
    "cross": [
        *[(-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4)],
        *[(0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)],
    ],
    "x": [
        *[(0, -0.55), (0.6, -1.15), (1.15, -0.6), (0.55, 0), (1.15, 0.6), (0.6, 1.15)],
        *[(0, 0.55), (-0.6, 1.15), (-1.15, 0.6), (-0.55, 0), (-1.15, -0.6), (-0.6, -1.15)],
    ],
}


def constants() -> dict[str, Any]:
    """What all figures share."""
    return {
        "line": LINE,
        "manyBins": MANY_BINS,
        "band": BAND_OPACITY,
        "optimum": OPTIMUM_COLOUR,
        "optimumDash": _dash(OPTIMUM_DASH, 1.2),
        "switch": SWITCH_COLOUR,
    }


def figure_data(panels: Sequence[Panel], anchor: str) -> tuple[dict[str, Any], ValueRange]:
    """One figure for the script, and what its axis of returns covers."""
    curves = [summarise(panel) for panel in panels]
    covered = value_range(panels, curves)
    agents = agents_of(panels)
    data = {
        "id": anchor,
        "agents": [_agent_data(panels, agent) for agent in agents],
        "range": [_rounded(covered.low), _rounded(covered.high)],
        "panels": [
            _panel_data(panel, row, agents, plot_anchor(anchor, place))
            for place, (panel, row) in enumerate(zip(panels, curves, strict=True))
        ],
    }
    return data, covered


def plot_anchor(anchor: str, place: int) -> str:
    return f"{anchor}-plot-{place + 1}"


def _agent_data(panels: Sequence[Panel], agent: str) -> dict[str, str]:
    look = style_of(agent)
    return {
        "label": label_of(panels, agent),
        "colour": look.colour,
        "dash": _dash(look.dash, LINE),
        "symbol": look.symbol,
    }


def _panel_data(
    panel: Panel, curves: Sequence[Curve], agents: Sequence[str], anchor: str
) -> dict[str, Any]:
    return {
        "id": anchor,
        "bin": panel.bin,
        "bins": int(panel.first_episodes.size),
        "switches": [int(panel.first_episodes[switch]) for switch in panel.switches],
        "optimum": _rounded(panel.optimum),
        "optimumText": f"exact optimum {number(panel.optimum)}",
        "curves": [
            {
                "agent": agents.index(curve.agent),
                "mean": _numbers(curve.mean),
                "low": _numbers(curve.low),
                "high": _numbers(curve.high),
            }
            for curve in curves
        ],
    }


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def _numbers(values: np.ndarray) -> list[float | None]:
    return [_rounded(value) for value in values.tolist()]


def _dash(dash: Sequence[float], width: float) -> str:
    return ",".join(f"{part * width:g}px" for part in dash) or "solid"


def legend(panels: Sequence[Panel], anchor: str) -> Html:
    """One switch per agent for all panels of a figure, then what the other marks mean."""
    entries = [
        element(
            "button",
            _swatch(agent),
            element("span", label_of(panels, agent), " ", divergence_note(panels, agent)),
            type="button",
            class_="legend-entry",
            aria_pressed="true",
            data_figure=anchor,
            data_agent=place,
        )
        for place, agent in enumerate(agents_of(panels))
    ]
    keys = [_key("key-band", "95 % bootstrap interval"), _key("key-optimum", "exact optimum")]
    if any(panel.switches for panel in panels):
        keys.append(_key("key-switch", "goal moves"))
    marks = element("span", keys, class_="legend-keys")
    return element("div", entries, marks, class_="legend", role="group", aria_label="curves")


def _key(look: str, text: str) -> Html:
    mark = element("span", class_=f"key {look}", aria_hidden="true")
    return element("span", mark, text, class_="legend-key")


def _swatch(agent: str) -> Html:
    """A piece of an agent's line with its marker."""
    look = style_of(agent)
    dashes = " ".join(f"{part * LINE:g}" for part in look.dash) or None
    line = element(
        "path", d="M0 7H44", stroke=look.colour, stroke_width=LINE, stroke_dasharray=dashes
    )
    points = " ".join(f"{22 + 4.2 * x:.1f},{7 + 4.2 * y:.1f}" for x, y in _OUTLINES[look.symbol])
    mark = element("polygon", points=points, fill=look.colour, stroke="#fff", stroke_width=0.8)
    return element("svg", line, mark, width=44, height=14, viewBox="0 0 44 14", aria_hidden="true")
