"""Claims as data, and the verdict on each of them from learning curves.

A claim is made of clauses, all of which must hold: a measure of some agents, less that of others,
above a margin or within bounds. The sentence of its rule is written from the clauses themselves, so
that it says what is computed. Nothing here knows the answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from expectant.analysis.comparison import (
    LEVEL,
    RESAMPLES,
    UNDECIDED,
    Decision,
    Estimate,
    Outcome,
    Unavailable,
    all_of,
    bootstrap,
    equal_runs,
    greater,
    within,
)
from expectant.analysis.curves import finite_or_nan
from expectant.analysis.panel import Panel
from expectant.lab.decision_work import Counts, WorkRule
from expectant.lab.measures import Measure

NOTHING = Decision(UNDECIDED, Estimate(math.nan, math.nan, math.nan), -math.inf)
DECIDES = (
    f"Levels and drops are those of the mean curve over runs. With a {LEVEL:.0%} interval from "
    f"{RESAMPLES:,} bootstrap resamples of the runs, paired by seed: holds if the whole interval "
    "satisfies it, for every part and panel; does not hold if for one of them none of the interval "
    "does; else undecided. A part with a diverged run in its bins is undecided"
)


@dataclass(frozen=True)
class Clause:
    """That a measure, mean over the agents ``of``, less that of ``minus``, is above ``low``.

    With ``high``: that it lies from ``low`` to ``high``. With ``across``: on average over panels,
    instead of in each of them.
    """

    measure: Measure
    of: tuple[str, ...]
    minus: tuple[str, ...] = ()
    low: float = 0.0
    high: float = math.inf
    across: bool = False

    def subject(self, names: Mapping[str, str]) -> str:
        """What the clause is about, in words."""
        sides = [" and ".join(names.get(k, k) for k in keys) for keys in (self.of, self.minus)]
        mean = "mean over agents and panels of the " if self.across else ""
        return f"{mean}{self.measure.title} of {' minus that of '.join(filter(None, sides))}"

    def sentence(self, names: Mapping[str, str]) -> str:
        """What the clause states, in words."""
        bounded = math.isfinite(self.high)
        side = f"from {self.low:g} to {self.high:g}" if bounded else f"above {self.low:g}"
        return f"{self.subject(names)} is {side}"

    def decide(self, panels: Sequence[Panel]) -> Decision:
        """The decision from these panels taken together, their runs paired."""
        keys = [*self.of, *self.minus]
        where = [panel for _ in keys for panel in panels]
        curves = [finite_or_nan(panel.curves[key]) for key in keys for panel in panels]
        split = len(self.of) * len(panels)

        def statistic(*some: np.ndarray) -> np.ndarray:
            values = list(map(self.measure.of, where, some))
            mean = np.mean(values[:split], axis=0)
            return mean - np.mean(values[split:], axis=0) if self.minus else mean

        if self.measure.per_run:
            estimate = bootstrap(lambda mean: mean, [statistic(*equal_runs(curves))])
        else:
            estimate = bootstrap(statistic, curves)
        place = f"{panels[0].panel}: " if panels[0].panel and not self.across else ""
        label = place + self.subject(panels[0].labels)
        if math.isfinite(self.high):
            return within(estimate, self.low, self.high, label)
        decision = greater(estimate, self.low, label)
        bound = self.measure.is_bound
        if bound is not None and all(map(bound, where, curves)):
            # bounds on both sides say nothing about which is the greater
            return decision._replace(outcome=UNDECIDED, label=f"{label} (all only lower bounds)")
        return decision


@dataclass(frozen=True)
class Claim:
    """A statement about a figure, and the clauses that decide it, or the counted ``work``.

    With ``panel`` it is about that panel of the figure alone.
    """

    id: int
    figure: str
    claim: str
    clauses: tuple[Clause, ...] = ()
    work: WorkRule | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    panel: str | None = None

    def concerns(self, panel: Panel) -> bool:
        """Whether it is about a panel."""
        return panel.figure == self.figure and self.panel in (None, panel.panel)

    @property
    def rule(self) -> str:
        if self.work is not None:
            return self.work.rule
        measures = {clause.measure.title: clause.measure for clause in self.clauses}.values()
        stated = "; and ".join(clause.sentence(self.names) for clause in self.clauses)
        meant = ". ".join(f"{m.title.capitalize()}: {m.meaning}" for m in measures)
        timed = any(measure.is_bound for measure in measures)
        rest = ", and so is one in which no curve ever recovers." if timed else "."
        return f"{stated[0].upper()}{stated[1:]}. {meant}. {DECIDES}{rest}"

    @property
    def agents(self) -> list[str]:
        return sorted({key for clause in self.clauses for key in clause.of + clause.minus})

    def decide(self, panels: Sequence[Panel]) -> list[Decision]:
        """One decision for each clause, and for each panel unless the clause is across them."""
        missing = [
            self.names.get(k, k) for k in self.agents if any(k not in p.curves for p in panels)
        ]
        if missing:
            raise Unavailable(f"no curves of {', '.join(missing)}")
        together, apart = [list(panels)], [[panel] for panel in panels]
        groups = [(clause, together if clause.across else apart) for clause in self.clauses]
        return [clause.decide(group) for clause, chosen in groups for group in chosen]


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim under one reading, with the numbers of its weakest clause."""

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
        """Plain values for JSON; a number that is not finite becomes None."""
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }


def evaluate(
    claims: Sequence[Claim], panels: Sequence[Panel], work: Mapping[str, Counts] | None = None
) -> list[Verdict]:
    """The verdict on every claim whose figure is there, for each reading it is there under.

    ``work`` maps a reading to the counted work of one decision: for each agent, (actions,
    features) to a count. Claims come in their order, readings as first met.
    """
    verdicts = []
    for claim in claims:
        shown: dict[str, Any] = dict(work or {}) if claim.work is not None else {}
        for panel in panels:
            if claim.clauses and claim.concerns(panel):
                shown.setdefault(panel.reading, []).append(panel)
        verdicts += [_verdict(claim, reading, data) for reading, data in shown.items()]
    return verdicts


def _verdict(claim: Claim, reading: str, data: Any) -> Verdict:
    try:
        decisions = claim.work.decide(data) if claim.work is not None else claim.decide(data)
        detail = "; ".join(decision.described for decision in decisions)
    except Unavailable as reason:
        decisions, detail = [NOTHING], f"not enough data: {reason}"
    weakest = all_of(decisions)
    if claim.clauses and (diverged := _diverged(claim, data)):
        detail += f"; diverged: {diverged}"
    about = (claim.id, claim.figure, reading, claim.claim, weakest.outcome)
    return Verdict(*about, *weakest.estimate, claim.rule, f"{detail[0].upper()}{detail[1:]}.")


def _diverged(claim: Claim, panels: Sequence[Panel]) -> str:
    """How many runs of which agents diverged, in words; empty if none did."""
    found = []
    for panel in panels:
        for key in (key for key in claim.agents if key in panel.curves):
            lost = ~np.isfinite(panel.curves[key]).all(axis=1)
            if lost.any():
                place = f" ({panel.panel})" if panel.panel else ""
                name = panel.labels.get(key, key)
                found.append(f"{lost.sum()} of {lost.size} runs of {name}{place}")
    return ", ".join(found)
