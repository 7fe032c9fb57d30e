"""The paper's claims as data, and the rules that decide each of them from learning curves.

A claim is made of parts, all of which must hold. A part measures mean curves, takes one agent's
number from another's (or looks at one agent alone), and asks on which side of a margin the
bootstrap interval lies. The sentence of a rule is written from the parts themselves, so that it
says what is computed. Nothing here knows the answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from expectant.analysis import comparison
from expectant.analysis.adaptation import (
    RECOVERED_FRACTION,
    drops,
    lowests,
    recoveries,
    unrecovered,
)
from expectant.analysis.comparison import UNDECIDED, Decision, Estimate, Outcome, Unavailable
from expectant.analysis.panel import Panel

FINAL_SHARE = 0.25  # of the bins: late enough to have settled, long enough to average the noise
NEAR_OPTIMUM = 0.05  # a thirteenth of what the wrong exit of the counterexample costs
REACHES = 0.25  # a twenty-fifth of the optimum of figure 3, hard to see in a drawn curve
FALLS_TO, ABOUT = -7.0, 2.0  # the number was read from a curve whose range is about twenty
MUCH_MORE = 4.0  # times the work: more than the constant factors of different implementations
AS_FAST = 0.95  # of the others' growth: the fixed costs of a decision hide a little of it

Q, EXPECTATION, TRUE = "q_learning", "q_planning_expectation", "q_planning_true"
STEPS_1, STEPS_5, STEPS_20 = (f"q_planning_true_{steps}" for steps in (1, 5, 20))
LOOKAHEAD, VALUES, POLICY = "lookahead", "cached_values", "cached_policy"
NAMES = {
    Q: "Q-learning",
    EXPECTATION: "Q-planning with an expectation model",
    TRUE: "Q-planning with the true model",
    STEPS_1: "1 planning step",
    STEPS_5: "5 planning steps",
    STEPS_20: "20 planning steps",
    LOOKAHEAD: "look-ahead",
    VALUES: "cached action values",
    POLICY: "cached policy",
}
Counts = Mapping[str, Mapping[tuple[int, int], float]]


@dataclass(frozen=True)
class Measure:
    """A number of mean curves: ``of`` maps a panel and curves (n, bins) to (n,).

    ``recovers`` tells which switches' recoveries it is made of, if any.
    """

    text: str
    of: Callable[[Panel, np.ndarray], np.ndarray]
    recovers: slice | None = None


@dataclass(frozen=True)
class Part:
    """That a measure, mean over ``agents``, less that of ``minus``, is above ``low``.

    With ``high``: that it lies from ``low`` to ``high``. With ``across``: on average over the
    panels of the figure, instead of in each of them.
    """

    measure: Measure
    agents: tuple[str, ...]
    minus: tuple[str, ...] = ()
    low: float = 0.0
    high: float = math.inf
    across: bool = False

    @property
    def subject(self) -> str:
        sides = [", ".join(NAMES[key] for key in keys) for keys in (self.agents, self.minus)]
        return f"{self.measure.text} ({' minus '.join(filter(None, sides))})"

    @property
    def sentence(self) -> str:
        between = f"lies from {self.low:g} to {self.high:g}"
        side = between if math.isfinite(self.high) else f"is above {self.low:g}"
        place = "on average over agents and panels" if self.across else "in every panel"
        return f"{self.subject} {side} {place}"

    def decide(self, panels: Sequence[Panel]) -> Decision:
        """The decision from these panels taken together."""
        keys = [*self.agents, *self.minus]
        where = [panel for _ in keys for panel in panels]
        curves = [panel.curves[key] for key in keys for panel in panels]
        split = len(self.agents) * len(panels)

        def statistic(*means: np.ndarray) -> np.ndarray:
            values = [self.measure.of(*pair) for pair in zip(where, means, strict=True)]
            mean = np.mean(values[:split], axis=0)
            return mean - np.mean(values[split:], axis=0) if self.minus else mean

        estimate = comparison.bootstrap(statistic, curves)
        label = ": ".join(filter(None, ["" if self.across else panels[0].panel, self.subject]))
        if math.isfinite(self.high):
            return comparison.within(estimate, self.low, self.high, label)
        decision = comparison.greater(estimate, self.low, label)
        if self.measure.recovers is not None and all(
            unrecovered(panel, curve.mean(axis=0))[self.measure.recovers].all()
            for panel, curve in zip(where, curves, strict=True)
        ):
            # each took longer than it was watched, so which took longest is unknown
            return decision._replace(outcome=UNDECIDED, label=f"{label}, where none recovers,")
        return decision


@dataclass(frozen=True)
class Claim:
    """A statement about a figure, and the parts that decide it."""

    id: int
    figure: str
    claim: str
    parts: tuple[Part, ...]

    @property
    def rule(self) -> str:
        return RULE.format("; and ".join(p.sentence for p in self.parts)) if self.parts else WORK

    def decide(self, panels: Sequence[Panel]) -> list[Decision]:
        """One decision for each part, and for each panel unless the part is about all of them."""
        groups = {True: [panels], False: [[panel] for panel in panels]}
        return [part.decide(group) for part in self.parts for group in groups[part.across]]

    def diverged(self, panels: Sequence[Panel]) -> int:
        """How many of the runs that take part diverged; Unavailable if an agent is missing."""
        keys = {key for part in self.parts for key in part.agents + part.minus}
        missing = [NAMES[k] for k in sorted(keys) if any(k not in p.curves for p in panels)]
        if missing:
            raise Unavailable(f"no curves of {', '.join(missing)}")
        curves = [panel.curves[key] for panel in panels for key in keys]
        return sum(int((~np.isfinite(curve).all(axis=1)).sum()) for curve in curves)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim under one reading, with the numbers of its weakest part."""

    id: int
    figure: str
    reading: str
    claim: str
    verdict: Outcome
    statistic: float
    low: float
    high: float
    rule: str
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what is not a finite number becomes None."""
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }


def evaluate(panels: Sequence[Panel], latency: Mapping[str, Counts] | None = None) -> list[Verdict]:
    """The verdict on every claim whose figure is there, for each reading it is there under.

    ``latency`` maps a reading to the counted work of one decision: for each agent, numbers of
    actions and features to a count. Claims come in their order, readings as first met.
    """
    verdicts = []
    for claim in CLAIMS:
        shown: dict[str, Any] = {} if claim.parts else dict(latency or {})
        for panel in panels:
            if panel.figure == claim.figure:
                shown.setdefault(panel.reading, []).append(panel)
        verdicts += [_verdict(claim, reading, data) for reading, data in shown.items()]
    return verdicts


def _verdict(claim: Claim, reading: str, data: Any) -> Verdict:
    diverged = 0
    try:
        diverged = claim.diverged(data) if claim.parts else 0
        decisions = claim.decide(data) if claim.parts else _work(data)
        detail = "; ".join(map(_described, decisions))
    except Unavailable as reason:
        unknown = Estimate(math.nan, math.nan, math.nan)
        decisions, detail = [Decision(UNDECIDED, unknown, -math.inf)], f"Cannot tell: {reason}"
    weakest = comparison.all_of(decisions)
    detail += f"; {diverged} diverged run{'s' * (diverged != 1)} among them" if diverged else ""
    about = (claim.id, claim.figure, reading, claim.claim, weakest.outcome)
    return Verdict(*about, *weakest.estimate, claim.rule, f"{detail[0].upper()}{detail[1:]}.")


def _described(decision: Decision) -> str:
    statistic, low, high = (f"{number:.4g}" for number in decision.estimate)
    if decision.estimate.low == decision.estimate.high:
        return f"{decision.label} is {statistic}"
    return f"{decision.label} is {statistic}, 95 % interval {low} to {high}"


def _work(counts: Counts) -> list[Decision]:
    """Claim 18: ratios of the look-ahead's counts to the others', each against what it must be."""
    missing = [NAMES[key] for key in (LOOKAHEAD, VALUES, POLICY) if not counts.get(key)]
    if missing:
        raise Unavailable(f"no counts of {', '.join(missing)}")
    actions, features = (sorted({size[i] for size in counts[LOOKAHEAD]}) for i in (0, 1))
    ...
