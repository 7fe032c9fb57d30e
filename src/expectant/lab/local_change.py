"""Does an agent adapt to a local change? Scores of the curves of its greedy policy, and a verdict.

The curves are those of the look ``greedy_return`` in a domain of three phases: the change comes
after the first, and in the second it can be seen in one corner only.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.analysis.comparison import Unavailable
from expectant.analysis.curves import interval
from expectant.analysis.panel import Panel
from expectant.lab.measures import Measure, add

BEFORE, LOCAL, AFTER = 0, 1, 2  # the phases
LAST = 20  # looks at the end of a phase that count
ADAPTIVE, NOT_ADAPTIVE, UNDECIDED = "adaptive", "not adaptive", "undecided"
LEARNED_WELL, LEARNED = 0.93, 0.90  # of the optimum, in the first phase
ADAPTED, NOT_ADAPTED = 0.80, 0.30  # of the way from the outdated policy to the new optimum


@dataclass(frozen=True, eq=False)
class Score:
    """What came of the runs, one number per run: mean returns at the end of each phase.

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


def is_test(panel: Panel) -> bool:
    """Whether the curves of a panel are of such a test."""
    outdated = any(level.name == "outdated policy" for level in panel.levels)
    return outdated and panel.phases is not None and int(panel.phases.max()) == AFTER


def score(panel: Panel, curves: np.ndarray) -> Score:
    """Score the curves (runs, M) of a panel."""
    if not is_test(panel) or panel.phases is None:
        raise Unavailable("the greedy policy was not looked at through a local change")
    phases = panel.phases

    def end_of(phase: int) -> np.ndarray:
        return curves[:, np.flatnonzero(phases == phase)[-LAST:]].mean(axis=1)

    ends = end_of(BEFORE), end_of(LOCAL), end_of(AFTER)
    before, after, outdated = references(panel).values()
    gain = (ends[LOCAL] - outdated) / (after - outdated)
    return Score(ends, ends[BEFORE] / before, gain)


def references(panel: Panel) -> dict[str, float]:
    """What the optimum is worth before the change and after it, and the first optimum after it."""
    optima = [level.height for level in panel.levels if level.name == "optimum"]
    outdated = next(level.height for level in panel.levels if level.name == "outdated policy")
    return {"before": optima[0], "after": optima[1], "outdated": outdated}


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


def rows_of(panels: Sequence[Panel], agents: Mapping[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """One dictionary per curve of a test: names, scores per run, means, verdict.

    ``agents`` are the descriptions, by panel (or figure where that has one panel) and curve.
    """
    rows = []
    for panel in filter(is_test, panels):
        for key, curves in panel.curves.items():
            name = panel.panel or panel.figure
            described = settings_of(agents[name, key])
            found = as_data(score(panel, curves))
            rows.append({"agent": name, "backups": key, "settings": described, **found})
    return rows


def settings_of(description: Any) -> str:
    """An agent without its backups, which the row names, and without what has its default."""
    given = [
        f"{field.name}={getattr(description, field.name)!r}"
        for field in dataclasses.fields(description)
        if field.name != "backups" and getattr(description, field.name) != field.default
    ]
    return f"{type(description).__name__}({', '.join(given)})"


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


add(
    Measure(
        "learned-share",
        "share of the optimum before the change",
        f"mean of the last {LAST} looks of the first phase, divided by the optimum",
        lambda panel, curves: score(panel, curves).first,
        per_run=True,
    )
)
add(
    Measure(
        "adaptation",
        "adaptation",
        f"mean of the last {LAST} looks of the second phase, on a scale where the policy that was "
        "best before has 0 and the new optimum 1",
        lambda panel, curves: score(panel, curves).adaptation,
        per_run=True,
    )
)
