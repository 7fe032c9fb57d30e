"""What the script of a sweep's page draws, packed: numbers as base64 of 32-bit floats."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.report.style import BAND_OPACITY, style_of, tell_apart

if TYPE_CHECKING:
    from expectant.report.sweep_page import PageMeasure, SweepPage

BUDGET = 24e6  # bytes of all curves on the page
MOST_POINTS = 400
FEWEST_POINTS = 8
BYTES = 3 * 4 * 4 / 3  # of one point: mean, low and high, four bytes each, in base64


def points_for(cells: int, bins: int) -> int:
    """How many points a curve may have so that all of them stay within the budget."""
    allowed = int(BUDGET / (BYTES * max(cells, 1)))
    return min(bins, MOST_POINTS, max(FEWEST_POINTS, allowed))


def packed(values: np.ndarray) -> str:
    """An array as base64 of little-endian 32-bit floats, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()


def sweep_data(document: SweepPage) -> dict[str, Any]:
    """The whole sweep for the script."""
    tell_apart(group.agent for group in document.groups)
    return {
        "ids": list(document.ids),
        "columns": [
            {"name": name, "values": list(values)} for name, values in document.columns.items()
        ],
        "groups": [
            {
                "agent": group.label,
                "problem": group.problem,
                "settings": list(group.settings),
                "colour": style_of(group.agent).colour,
                "symbol": style_of(group.agent).symbol,
            }
            for group in document.groups
        ],
        "groupOf": [int(place) for place in document.group_of],
        "runs": [int(runs) for runs in document.runs],
        "diverged": [int(runs) for runs in document.diverged],
        "measures": [_measure(measure, document) for measure in document.measures],
        "curves": packed(document.curves),
        "positions": [float(place) for place in document.positions],
        "counted": document.counted,
        "quantity": document.quantity,
        "band": BAND_OPACITY,
    }


def _measure(measure: PageMeasure, document: SweepPage) -> dict[str, Any]:
    place = {name: row for row, name in enumerate(document.ids)}
    best = [place[choice["best"]] for choice in measure.choices if choice["best"] is not None]
    return {"name": measure.name, "scores": packed(measure.scores), "best": best}
