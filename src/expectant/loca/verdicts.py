"""From the measures of some runs to a verdict: does the agent adapt to a local change?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.analysis.curves import interval
from expectant.loca.measures import AFTER, BEFORE, LOCAL, References

LAST = 20  # measures at the end of a phase that count
ADAPTIVE, NOT_ADAPTIVE, UNDECIDED = "adaptive", "not adaptive", "undecided"
LEARNED_WELL, LEARNED = 0.93, 0.90  # of the optimum, in the first phase
ADAPTED, NOT_ADAPTED = 0.80, 0.30  # of the way from the outdated policy to the new optimum


@dataclass(frozen=True, eq=False)
class Score:
    """What came of the runs, one number per run: mean measures at the end of each phase.

    ``first`` (runs,) is the share of the optimum reached before the change; ``adaptation`` (runs,)
    how far the policy has come from the outdated one, 0, to the new optimum, 1, after the phase in
    which the change could be seen in one corner only.
    """

    ends: tuple[np.ndarray, np.ndarray, np.ndarray]
    first: np.ndarray
    adaptation: np.ndarray

    @property
    def learned(self) -> float:
        return float(self.first.mean())

    @property
    def adapted(self) -> float:
        return float(self.adaptation.mean())

    @property
    def adapted_runs(self) -> int:
        return int((self.adaptation >= ADAPTED).sum())


def score(measures: np.ndarray, phases: np.ndarray, known: References) -> Score:
    """Score measures (runs, M); ``phases`` (M,) says which phase each belongs to."""

    def end_of(phase: int) -> np.ndarray:
        return measures[:, np.flatnonzero(phases == phase)[-LAST:]].mean(axis=1)

    ends = end_of(BEFORE), end_of(LOCAL), end_of(AFTER)
    gain = (ends[LOCAL] - known.outdated) / (known.after - known.outdated)
    return Score(ends, ends[BEFORE] / known.before, gain)


def verdict(learned: float, adapted: float) -> tuple[str, str]:
    """The verdict on mean scores, and why it is undecided where it is.

    >>> verdict(0.98, 0.95)
    ('adaptive', '')
    """
    if not (math.isfinite(learned) and math.isfinite(adapted)):
        return UNDECIDED, "a run diverged"
    if learned >= LEARNED_WELL and adapted >= ADAPTED:
        return ADAPTIVE, ""
    if learned >= LEARNED and adapted <= NOT_ADAPTED:
        return NOT_ADAPTIVE, ""
    if learned < LEARNED or (learned < LEARNED_WELL and adapted >= ADAPTED):
        return UNDECIDED, "the first phase was not learned well enough"
    return UNDECIDED, "it has adapted in part"


def as_data(found: Score) -> dict[str, Any]:
    """A score with its verdict, ready for JSON; NaN becomes None."""
    said, why = verdict(found.learned, found.adapted)
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
