"""Does an agent adapt to a local change? Scores of the curves of its greedy policy, and a verdict.

The curves are those of a greedy policy's return in a domain of three phases: the change comes after
the first, and in the second it can be seen in one corner only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from expectant.analysis.panel import Panel, Unavailable

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


def adaptation_verdict(learned: float, adapted: float) -> tuple[str, str]:
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
