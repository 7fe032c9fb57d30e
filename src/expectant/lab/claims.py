"""Claims as data, and the verdict on each of them from learning curves.

A claim is made of clauses, all of which must hold: a measure of some agents, less that of others,
is above, at least or about a number. The sentence of its rule is written from the clauses
themselves, so that it says what is computed. Nothing here knows the answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from expectant.analysis.comparison import Unavailable
from expectant.analysis.judging import (
    ABOVE,
    LEVEL,
    UNCLEAR,
    Finding,
    Outcome,
    Statement,
    block_weights,
    find,
    floored,
    pseudo_values,
    verdict,
)
from expectant.analysis.panel import Panel
from expectant.lab.decision_work import Counts, WorkRule
from expectant.lab.measures import Measure

KINDS = ("observation", "number", "explanation")
BLOCKS = 1000  # figures of the source's size that are drawn to tell how many show a claim
AT_SWITCHES = "Measures of switches are means over all switches unless one is named. "
DECIDES = (
    f"The effect is that of the mean curve over all runs, with a {LEVEL:.0%} interval from paired "
    "runs (Student's t on jackknife values). Holds if every part's interval lies where the "
    "sentence says, beyond the "
    "margin; equal if what does not hold lies within the margin of zero; does not hold if a part's "
    "interval lies on the other side (both with Holm's correction for several parts); else "
    "unclear. No bin of a run counts lower than as far below acting at random as the exact return "
    "is above it, where that is known, and a diverged run counts as that low; elsewhere as the "
    "worst bin of any run in its panel"
)


@dataclass(frozen=True)
class Clause:
    """That a measure, mean over the agents ``of``, less that of ``minus``, is as stated.

    With ``across``: on average over panels, instead of in each of them. ``figure`` is where it is
    looked for; empty: in that of the claim.
    """

    measure: Measure
    of: tuple[str, ...]
    minus: tuple[str, ...] = ()
    statement: Statement = field(default_factory=Statement)
    across: bool = False
    figure: str = ""

    def subject(self, names: Mapping[str, str]) -> str:
        """What the clause is about, in words."""
        sides = [
            " and ".join(dict.fromkeys(names.get(k, k) for k in keys))
            for keys in (self.of, self.minus)
        ]
        mean = "mean over panels of the " if self.across else ""
        return f"{mean}{self.measure.title} of {' minus that of '.join(filter(None, sides))}"

    def sentence(self, names: Mapping[str, str]) -> str:
        """What the clause states, in words."""
        kind, reference, margin = self.statement
        said = {ABOVE: f"above {reference:g} by more than {margin:g}"}.get(
            kind, f"{kind} {reference:g}, give or take {margin:g}"
        )
        where = f" (figure {self.figure})" if self.figure else ""
        return f"{self.subject(names)} is {said}{where}"

    def values(self, panels: Sequence[Panel], means: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
        """The number from mean curves (n, bins) of every agent of ``of`` and ``minus`` by panel."""
        found = [
            self.measure.of(panel, curve)
            for panel, curves in zip(panels, means, strict=True)
            for curve in curves
        ]
        table = np.array(found).reshape(len(panels), len(self.of) + len(self.minus), -1)
        split = len(self.of)
        mean = table[:, :split].mean(axis=(0, 1))
        return mean - table[:, split:].mean(axis=(0, 1)) if self.minus else mean

    def runs_of(self, panels: Sequence[Panel]) -> list[list[np.ndarray]]:
        """The curves (runs, bins) by panel, as many runs of all, with a floor for diverged ones."""
        found = []
        for panel in panels:
            known = list(panel.curves.values())
            counted = known if self.measure.of_diverged else _counted_bins(panel)
            all_curves = dict(zip(panel.curves, counted, strict=True))
            found.append([all_curves[key] for key in (*self.of, *self.minus)])
        fewest = min(curve.shape[0] for curves in found for curve in curves)
        return [[curve[:fewest] for curve in curves] for curves in found]

    def find(self, panels: Sequence[Panel]) -> Finding:
        """What the runs of these panels together say, paired by their numbers."""
        place = f"{panels[0].panel}: " if panels[0].panel and not self.across else ""
        return self._found(
            lambda means: self.values(panels, means),
            panels,
            self.statement,
            place + self.subject(panels[0].labels),
        )

    def less(self, panels: Sequence[Panel], others: Sequence[Panel]) -> Finding:
        """By how much the number is greater in some panels than in others, paired by run."""
        split = len(panels)
        place = f"{panels[0].panel}: " if panels[0].panel and not self.across else ""
        return self._found(
            lambda means: self.values(panels, means[:split]) - self.values(others, means[split:]),
            [*panels, *others],
            Statement(ABOVE, 0.0, self.statement.margin),
            place + self.subject(panels[0].labels),
        )

    def _found(
        self,
        number: Callable[[Sequence[Sequence[np.ndarray]]], np.ndarray],
        panels: Sequence[Panel],
        statement: Statement,
        label: str,
    ) -> Finding:
        """What the runs of panels say about a number of their mean curves, by panel and agent."""
        flat = [curve for group in self.runs_of(panels) for curve in group]

        def statistic(*means: np.ndarray) -> np.ndarray:
            return number(_grouped(means, len(panels)))

        if self.measure.per_run:
            return find(statistic(*flat), statement, label)
        effect = float(statistic(*(curve.mean(axis=0)[None] for curve in flat))[0])
        return find(pseudo_values(statistic, flat), statement, label, effect)

    def shown(self, panels: Sequence[Panel], size: int) -> np.ndarray:
        """Whether figures of ``size`` runs, drawn from those that there are, show it (BLOCKS,)."""
        curves = self.runs_of(panels)
        weights = block_weights(curves[0][0].shape[0], size, BLOCKS)
        if self.measure.per_run:
            values = weights @ self.values(panels, curves)
        else:
            means = [[weights @ curve for curve in group] for group in curves]
            values = self.values(panels, means)
        return self.statement.shown_by(values)


def _counted_bins(panel: Panel) -> list[np.ndarray]:
    """The curves of a panel as they count, diverged and very bad bins included."""
    return floored(list(panel.curves.values()), panel.floor, of_errors=panel.of_errors)


def _grouped(curves: Sequence[np.ndarray], groups: int) -> list[list[np.ndarray]]:
    size = len(curves) // groups
    return [list(curves[start : start + size]) for start in range(0, len(curves), size)]


@dataclass(frozen=True)
class Claim:
    """A statement about a figure, and the clauses that decide it, or the counted ``work``.

    With ``panel`` it is about that panel of the figure alone. ``beside`` are measures that are
    reported with it and decide nothing.
    """

    id: int
    figure: str
    claim: str
    clauses: tuple[Clause, ...] = ()
    work: WorkRule | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    panel: str | None = None
    kind: str = "observation"
    beside: tuple[Measure, ...] = ()

    def concerns(self, panel: Panel) -> bool:
        """Whether it is about a panel."""
        return any(self.about(clause, panel) for clause in self.clauses)

    def about(self, clause: Clause, panel: Panel) -> bool:
        """Whether one of its clauses is."""
        figure = clause.figure or self.figure
        return panel.figure == figure and self.panel in (None, panel.panel)

    @property
    def rule(self) -> str:
        if self.work is not None:
            return self.work.rule
        measures = {clause.measure.title: clause.measure for clause in self.clauses}.values()
        stated = "; and ".join(clause.sentence(self.names) for clause in self.clauses)
        meant = ". ".join(f"{m.title.capitalize()}: {m.meaning}" for m in measures)
        switches = AT_SWITCHES if any(m.at is not None for m in measures) else ""
        return f"{stated[0].upper()}{stated[1:]}. {meant}. {switches}{DECIDES}."

    def parts(self, panels: Sequence[Panel]) -> list[tuple[Clause, list[Panel]]]:
        """Every clause with the panels it is decided from, one by one unless it is across them."""
        found: list[tuple[Clause, list[Panel]]] = []
        for clause in self.clauses:
            own = [panel for panel in panels if self.about(clause, panel)]
            if not own:
                raise Unavailable(f"no curves of figure {clause.figure or self.figure}")
            keys = dict.fromkeys((*clause.of, *clause.minus))
            missing = [self.names.get(k, k) for k in keys if any(k not in p.curves for p in own)]
            if missing:
                raise Unavailable(f"no curves of {', '.join(missing)}")
            found += [(clause, own)] if clause.across else [(clause, [panel]) for panel in own]
        return found


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim under one reading, with the numbers of the part that decides it.

    ``chance`` is the share of figures with as many runs as the source's that show all of it, and
    ``runs`` how many the verdict is from; NaN and 0 where nothing was drawn.
    """

    id: int
    figure: str
    reading: str
    kind: str
    claim: str
    verdict: Outcome
    effect: float
    low: float
    high: float
    margin: float
    runs: int
    chance: float
    rule: str
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a number that is not finite becomes None."""
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in asdict(self).items()
        }


Sizes = Mapping[str, int]  # how many runs a figure of the source has


def evaluate(
    claims: Sequence[Claim],
    panels: Sequence[Panel],
    work: Mapping[str, Counts] | None = None,
    sizes: Sizes | None = None,
) -> list[Verdict]:
    """The verdict on every claim whose figure is there, for each reading it is there under.

    ``work`` maps a reading to the counted work of one decision: for each agent, (actions,
    features) to a count. ``sizes`` are the runs of the source's figures; without one it has as many
    as there are. Claims come in their order, readings as first met.
    """
    verdicts = []
    for claim in claims:
        if claim.work is not None:
            verdicts += [
                _counted(claim, reading, counts) for reading, counts in (work or {}).items()
            ]
            continue
        shown: dict[str, list[Panel]] = {}
        for panel in panels:
            if claim.concerns(panel):
                shown.setdefault(panel.reading, []).append(panel)
        verdicts += [_judged(claim, reading, own, sizes or {}) for reading, own in shown.items()]
    return verdicts


def _judged(claim: Claim, reading: str, panels: Sequence[Panel], sizes: Sizes) -> Verdict:
    about = (claim.id, claim.figure, reading, claim.kind, claim.claim)
    try:
        parts = claim.parts(panels)
        findings = [clause.find(own) for clause, own in parts]
    except Unavailable as reason:
        nothing = (math.nan,) * 4
        detail = f"Not enough data: {reason}."
        return Verdict(*about, UNCLEAR, *nothing, 0, math.nan, claim.rule, detail)
    outcome, decisive = verdict(findings)
    runs = min(clause.runs_of(own)[0][0].shape[0] for clause, own in parts)
    numbers = (decisive.effect, decisive.low, decisive.high, decisive.statement.margin)
    detail = "; ".join([*map(_described, findings), *_beside(claim, panels), *_lost(claim, panels)])
    return Verdict(
        *about, outcome, *numbers, runs, _chance(parts, sizes), claim.rule,
        f"{detail[0].upper()}{detail[1:]}.",
    )  # fmt: skip


def chance_together(claims: Sequence[Claim], panels: Sequence[Panel], sizes: Sizes) -> float:
    """The share of figures with as many runs as the source's that show all of several claims."""
    try:
        return _chance([part for claim in claims for part in claim.parts(panels)], sizes)
    except Unavailable:
        return math.nan


def _chance(parts: Sequence[tuple[Clause, list[Panel]]], sizes: Sizes) -> float:
    """How many of the figures that could have been show every part, if each is of its own size."""
    shown = np.ones(BLOCKS, bool)
    for clause, panels in parts:
        runs = clause.runs_of(panels)[0][0].shape[0]
        shown &= clause.shown(panels, min(sizes.get(panels[0].figure, runs), runs))
    return float(shown.mean())


def _number(value: float) -> str:
    """Four digits with a true minus sign; that of an exponent stays."""
    return f"{value:.4g}".replace("-", "−", 1) if value < 0 else f"{value:.4g}"


def _described(finding: Finding) -> str:
    """A finding in words."""
    shown = ["unknown" if math.isnan(x) else _number(x) for x in finding[1:4]]
    spread = "" if shown[1] == shown[2] else f" ({shown[1]} to {shown[2]})"
    return f"{finding.label} is {shown[0]}{spread}, {finding.outcome}"


def _beside(claim: Claim, panels: Sequence[Panel]) -> list[str]:
    """What else is to be known of the agents it is about: measures of their mean curves."""
    found = []
    keys = dict.fromkeys(key for clause in claim.clauses for key in (*clause.of, *clause.minus))
    for measure in claim.beside:
        for panel in (panel for panel in panels if panel.figure == claim.figure):
            curves = dict(zip(panel.curves, _counted_bins(panel), strict=True))
            numbers = [
                f"{panel.labels.get(key, key)} "
                f"{_number(float(measure.of(panel, curves[key].mean(axis=0)[None])[0]))}"
                for key in keys
                if key in curves
            ]
            place = f"{panel.panel}, " if panel.panel else ""
            found.append(f"beside it, {place}{measure.title}: {', '.join(numbers)}")
    return found


def _lost(claim: Claim, panels: Sequence[Panel]) -> list[str]:
    """How many runs of which agents diverged, in words; nothing if none did."""
    found = []
    keys = dict.fromkeys(key for clause in claim.clauses for key in (*clause.of, *clause.minus))
    for panel in panels:
        for key in (key for key in keys if key in panel.curves):
            lost = ~np.isfinite(panel.curves[key]).all(axis=1)
            if lost.any():
                place = f" ({panel.panel})" if panel.panel else ""
                name = panel.labels.get(key, key)
                found.append(f"{lost.sum()} of {lost.size} runs of {name}{place}")
    return [f"diverged: {', '.join(found)}"] if found else []


def _counted(claim: Claim, reading: str, counts: Counts) -> Verdict:
    assert claim.work is not None
    about = (claim.id, claim.figure, reading, claim.kind, claim.claim)
    try:
        findings = claim.work.decide(counts)
        outcome, decisive = verdict(findings)
        detail = "; ".join(map(_described, findings))
        numbers = (decisive.effect, decisive.low, decisive.high, decisive.statement.margin)
    except Unavailable as reason:
        outcome, numbers = UNCLEAR, (math.nan,) * 4
        detail = f"not enough data: {reason}"
    chance = math.nan if outcome == UNCLEAR else float(outcome == "holds")
    text = f"{detail[0].upper()}{detail[1:]}."
    return Verdict(*about, outcome, *numbers, 0, chance, claim.rule, text)
