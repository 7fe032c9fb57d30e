"""The rows of the local-change adaptation test: who went through it, and what came out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from expectant.analysis.curves import interval
from expectant.analysis.local_change import (
    AFTER,
    BEFORE,
    LOCAL,
    Score,
    adaptation_verdict,
    is_test,
    score,
)
from expectant.analysis.panel import Panel


def rows_of(panels: Sequence[Panel], agents: Mapping[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """One dictionary per curve of a test: names, scores per run, means, verdict.

    ``agents`` are the descriptions, by panel (or figure where that has one panel) and curve.
    """
    rows = []
    for panel in filter(is_test, panels):
        for key, curves in panel.curves.items():
            name = panel.panel or panel.figure
            described = agent_in_words(agents[name, key])
            found = score_as_data(score(panel, curves))
            rows.append({"agent": name, "backups": key, "settings": described, **found})
    return rows


def agent_in_words(description: Any) -> str:
    """An agent without its backups, which the row names, and without what has its default."""
    given = [
        f"{field.name}={getattr(description, field.name)!r}"
        for field in dataclasses.fields(description)
        if field.name != "backups" and getattr(description, field.name) != field.default
    ]
    return f"{type(description).__name__}({', '.join(given)})"


def score_as_data(found: Score) -> dict[str, Any]:
    """A score with its verdict, ready for JSON; NaN becomes None."""
    said, why = adaptation_verdict(found.learned, found.adapted)
    low, high = (float(x) for x in interval(found.adaptation)[1:])
    return {
        "phase1": _plain(found.ends[BEFORE]),
        "phase2": _plain(found.ends[LOCAL]),
        "phase3": _plain(found.ends[AFTER]),
        "P1": _number(found.learned),
        "adaptation": _number(found.adapted),
        "adaptation_low": _number(low),
        "adaptation_high": _number(high),
        "adaptation_by_seed": _plain(found.adaptation),
        "adapted_seeds": found.adapted_runs,
        "verdict": said,
        "why": why,
    }


def _plain(values: np.ndarray) -> list[float | None]:
    return [_number(value) for value in values]


def _number(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None
