"""Claims as data, and the verdict on each of them from learning curves.

A claim is made of clauses, all of which must hold: a measure of some agents, less that of others,
is above, at least or about a number. The sentence of its rule is written from the clauses
themselves, so that it says what is computed. Nothing here knows the answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from expectant.analysis.adaptation import phases
from expectant.analysis.judging import LEVEL, UNCLEAR, Finding, Outcome, falls_short, verdict
from expectant.analysis.panel import Panel, Unavailable
from expectant.lab.clauses import Clause, counted_bins
from expectant.lab.decision_cost import CostRule
from expectant.lab.measures import Measure

KINDS = ("observation", "number", "explanation")
SHORT = "not by more than the margin"
AT_SWITCHES = "Measures of switches are means over all switches unless one is named. "
DECIDES = (
    f"The effect is that of the mean curve over all runs, with a {LEVEL:.0%} interval from paired "
    "runs (Student's t, on jackknife values unless every run is measured by itself). Holds if "
    "every part's interval lies where the sentence says, beyond the margin; equal if what does not "
    "hold lies within the margin of zero; does not hold if a part's "
    "interval lies on the other side (both with Holm's correction for several parts); else "
    "unclear. No bin of a run counts lower than four times as far below acting at random as the "
    "exact return is above it, where that is known, and a diverged run counts as that low; "
    "elsewhere as the worst bin of any run in its panel"
)


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
    work: CostRule | None = None
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
            keys = dict.fromkeys(clause.keys)
            missing = [self.names.get(k, k) for k in keys if any(k not in p.curves for p in own)]
            if missing:
                raise Unavailable(f"no curves of {', '.join(missing)}")
            found += [(clause, own)] if clause.across else [(clause, [panel]) for panel in own]
        return found


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim under one reading, with the numbers of the part that decides it.

    ``chance`` is the share of figures with as many runs as the source's that show all of it, by
    more than the margin, and ``runs`` how many the verdict is from; NaN and 0 where nothing was
    drawn, or the source does not say how many runs there were. ``label`` says what the number is,
    in which ``unit``; ``note`` what else is known if it is unclear; ``floored`` how many bins count
    as the floor.
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
    label: str = ""
    unit: str = ""
    note: str = ""
    floored: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a number that is not finite becomes None.

        The effect is there as ``statistic`` too, by which name outside scripts know it.
        """
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in {**asdict(self), "statistic": self.effect}.items()
        }


# how many runs a figure of the source has, None where that is not known
Sizes = Mapping[str, int | None]


def judge_claims(
    claims: Sequence[Claim],
    panels: Sequence[Panel],
    sizes: Sizes | None = None,
) -> list[Verdict]:
    """The verdict on every claim whose figure is there, for each reading it is there under.

    Claims on the cost of a decision are judged once, and the same under every reading. ``sizes``
    are the runs of the source's figures; without one it has as many as there are. Claims come in
    their order, readings as first met.
    """
    verdicts = []
    for claim in claims:
        if claim.work is not None:
            readings = dict.fromkeys(panel.reading for panel in panels)
            findings = claim.work.find() if readings else []
            verdicts += [_counted(claim, reading, findings) for reading in readings]
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
    touched, words = _touched(claim, panels)
    told = [*map(_described, findings), *_beside(claim, panels), *_lost(claim, panels), *words]
    note = SHORT if outcome == UNCLEAR and falls_short(findings) else ""
    return Verdict(
        *about, outcome, *numbers, runs, _chance(parts, sizes), claim.rule, _sentence(told),
        decisive.label, decisive.unit, note, touched,
    )  # fmt: skip


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def chance_together(claims: Sequence[Claim], panels: Sequence[Panel], sizes: Sizes) -> float:
    """The share of figures with as many runs as the source's that show all of several claims."""
    try:
        return _chance([part for claim in claims for part in claim.parts(panels)], sizes)
    except Unavailable:
        return math.nan


def _chance(parts: Sequence[tuple[Clause, list[Panel]]], sizes: Sizes) -> float:
    """How many of the figures that could have been show every part, if each is of its own size."""
    shown = np.array(True)
    for clause, panels in parts:
        runs = clause.runs_of(panels)[0][0].shape[0]
        size = sizes.get(panels[0].figure, runs)
        if size is None:
            return math.nan
        shown = shown & clause.shown(panels, min(size, runs))
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
    """What else is to be known of the agents it is about; of measures of switches, at each."""
    found = []
    keys = dict.fromkeys(key for clause in claim.clauses for key in clause.keys)
    for measure in claim.beside:
        for panel in (panel for panel in panels if panel.figure == claim.figure):
            curves = dict(zip(panel.curves, counted_bins(panel), strict=True))
            numbers = [
                f"{panel.labels.get(key, key)} {_measured(measure, panel, curves[key])}"
                for key in keys
                if key in curves
            ]
            place = f"{panel.panel}, " if panel.panel else ""
            found.append(f"beside it, {place}{measure.title}: {', '.join(numbers)}")
    return found


def _measured(measure: Measure, panel: Panel, curves: np.ndarray) -> str:
    """A measure of the mean curve of runs, or at every switch one."""
    several = [measure]
    if measure.at is not None and panel.points is None:
        several = [measure.at(number + 1) for number, _ in enumerate(phases(panel)[0])]
    numbers = [
        one.crossed(panel, curves).mean()
        if one.crossed is not None
        else one.of(panel, curves.mean(axis=0)[None])[0]
        for one in several
    ]
    return " / ".join(_number(float(number)) for number in numbers)


def _lost(claim: Claim, panels: Sequence[Panel]) -> list[str]:
    """How many runs of which agents diverged, in words; nothing if none did."""
    found = []
    for panel, key, name in _told(claim, panels):
        lost = ~np.isfinite(panel.curves[key]).all(axis=1)
        if lost.any():
            found.append(f"{lost.sum()} of {lost.size} runs of {name}")
    return [f"diverged: {', '.join(found)}"] if found else []


def _touched(claim: Claim, panels: Sequence[Panel]) -> tuple[int, list[str]]:
    """How many bins of which agents count as the floor, and that in words."""
    found, many = [], 0
    for panel, key, name in _told(claim, panels):
        curve = panel.curves[key]
        below = int((~(curve >= panel.floor)).sum()) if math.isfinite(panel.floor) else 0
        if below:
            found.append(f"{below} of {curve.size:,} bins of {name}")
            many += below
    return many, [f"counted as the floor: {', '.join(found)}"] if found else []


def _told(claim: Claim, panels: Sequence[Panel]) -> Iterator[tuple[Panel, str, str]]:
    """The agents that a claim is about, panel by panel, and what they are called there."""
    keys = dict.fromkeys(key for clause in claim.clauses for key in clause.keys)
    for panel in panels:
        place = f" ({panel.panel})" if panel.panel else ""
        for key in (key for key in keys if key in panel.curves):
            yield panel, key, f"{panel.labels.get(key, key)}{place}"


def _counted(claim: Claim, reading: str, findings: Sequence[Finding]) -> Verdict:
    outcome, decisive = verdict(findings)
    numbers = (decisive.effect, decisive.low, decisive.high, decisive.statement.margin)
    return Verdict(
        claim.id, claim.figure, reading, claim.kind, claim.claim, outcome, *numbers, 0, math.nan,
        claim.rule, _sentence([*map(_described, findings)]), decisive.label, "times",
    )  # fmt: skip
