"""Claims as data, and the verdict on each of them from learning curves.

A claim is made of clauses, all of which must hold. The sentence of its rule is generated from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from expectant.analysis.adaptation import phases
from expectant.analysis.looks import RULE, Arm, Looks
from expectant.analysis.panel import Panel, Unavailable
from expectant.analysis.verdicts import (
    LEVEL,
    UNCLEAR,
    Finding,
    Outcome,
    is_refuted_at_margin,
    verdict,
)
from expectant.core.rules import flag, one_of, whole
from expectant.experiments.clauses import METRIC, Clause, CostRule
from expectant.experiments.config_file import Experiment
from expectant.experiments.metrics import Metric
from expectant.experiments.toml_tables import (
    ConfigError,
    check_known,
    inside,
    key,
    list_of,
    read_table,
    table,
    table_of,
    tables,
    text,
)

KINDS = ("observation", "number", "explanation")
SHORT = "not by more than the margin"
AT_SWITCHES = "Metrics of switches are means over all switches unless one is named. "
RULES = (
    f"The effect is that of the mean curve over all runs, with a {LEVEL:.0%} interval from paired "
    "runs (Student's t, on jackknife values unless every run is measured by itself).",
    "A claim holds if the interval of every part lies where the sentence says, beyond the margin.",
    "It is equal if all parts that do not hold lie within the margin of zero.",
    "It does not hold if the interval of a part lies on the other side. Both are tested with "
    "Holm's correction for several parts.",
    "Otherwise it is unclear, that is, undecided.",
    "Bin averages are clipped at J_random − 4 (J* − J_random) where the exact returns J are known. "
    "A diverged run counts as that low, or elsewhere as the worst bin of any run in its panel.",
)

Part = tuple[Clause, list[Panel]]
Sizes = Mapping[str, int | None]  # runs of the source's figures, None where it does not say


@dataclass(frozen=True)
class Claim:
    """A statement about a figure, and the clauses that decide it, or the counted ``work``.

    With ``panel`` it is about that panel of the figure alone. ``short`` is the text in overviews.
    A claim of ``ours`` is not the source's. ``beside`` are metrics that are reported with it and
    decide nothing.
    """

    id: int = key(whole(1))
    figure: str = key(text())
    claim: str = key(text())
    short: str = key(text(), "")
    ours: bool = key(flag(), False)
    panel: str | None = key(text(), None)
    kind: str = key(one_of(*KINDS), KINDS[0])
    beside: tuple[Metric, ...] = key(list_of(METRIC, "metrics"), ())
    clauses: tuple[Clause, ...] = key(tables(Clause), ())
    work: CostRule | None = key(table(CostRule), None)

    def __post_init__(self) -> None:
        if (self.work is None) == (not self.clauses):
            raise ConfigError("must have clauses, or work, and not both")

    @property
    def agents(self) -> list[str]:
        """The agents of all clauses."""
        return list(dict.fromkeys(agent for clause in self.clauses for agent in clause.keys))

    def panels_of(self, clause: Clause, panels: Sequence[Panel]) -> list[Panel]:
        """Select the panels that a clause is about."""
        figure = clause.figure or self.figure
        return [p for p in panels if p.figure == figure and self.panel in (None, p.panel)]

    def parts(self, panels: Sequence[Panel]) -> list[Part]:
        """Return every clause with its panels, one by one unless it is across them."""
        parts: list[Part] = []
        for clause in self.clauses:
            chosen = self.panels_of(clause, panels)
            if not chosen:
                raise Unavailable(f"no curves of figure {clause.figure or self.figure}")
            missing = [agent for agent in clause.keys if any(agent not in p.curves for p in chosen)]
            if missing:
                names = dict.fromkeys(clause.names.get(agent, agent) for agent in missing)
                raise Unavailable(f"no curves of {', '.join(names)}")
            parts += [(clause, chosen)] if clause.across else [(clause, [p]) for p in chosen]
        return parts

    @property
    def metrics(self) -> list[Metric]:
        return list({clause.metric.title: clause.metric for clause in self.clauses}.values())

    @property
    def statement(self) -> str:
        """The sentence that is tested."""
        if self.work is not None:
            return self.work.rule
        stated = "; and ".join(clause.sentence() for clause in self.clauses)
        return f"{stated[0].upper()}{stated[1:]}."

    @property
    def rule(self) -> str:
        """The statement, the meanings of its metrics, and how it is decided."""
        if self.work is not None:
            return self.work.rule
        meanings = ". ".join(f"{m.title.capitalize()}: {m.meaning}" for m in self.metrics)
        switches = AT_SWITCHES if any(m.at is not None for m in self.metrics) else ""
        return f"{self.statement} {meanings}. {switches}{' '.join(RULES)}"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of one claim under one interpretation, with the numbers of its decisive part.

    ``replication_probability`` is the share of figures with as many runs as the source's that show
    all of it, by more than the margin, and ``runs`` how many the verdict is from; NaN and 0 where
    nothing was drawn or the source does not give its number of runs. ``label`` names the number,
    in which ``unit``; it is claimed to be ``stated`` ("above", "at least" or "about") the
    ``reference``. ``note`` qualifies unclear verdicts; ``floored`` counts bins at the floor;
    ``level`` is that of the interval, higher where runs ended early. The ``statement`` is what was
    tested; ``short`` and ``ours`` are those of the claim.
    """

    id: int
    figure: str
    interpretation: str
    kind: str
    claim: str
    verdict: Outcome = UNCLEAR
    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    margin: float = math.nan
    runs: int = 0
    replication_probability: float = math.nan
    rule: str
    detail: str = ""
    label: str = ""
    unit: str = ""
    note: str = ""
    floored: int = 0
    stated: str = ""
    reference: float = math.nan
    level: float = LEVEL
    statement: str
    short: str
    ours: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a number that is not finite becomes None.

        The effect is there as ``statistic`` too, by which name outside scripts know it.
        """
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in {**asdict(self), "statistic": self.effect}.items()
        }


def judge_claims(
    claims: Sequence[Claim],
    panels: Sequence[Panel],
    sizes: Sizes | None = None,
    looks: Looks | None = None,
) -> list[Verdict]:
    """Judge every claim whose figure is among the panels, under each interpretation.

    Claims on the cost of a decision are the same under all. ``sizes`` are the runs of the source's
    figures, by default as many as there are; ``looks`` those after which claims are judged, by
    figure, by default once.
    """
    return [
        _judge_claim(claim, name, group, sizes or {}, looks or {})
        for claim in claims
        for name, group in _group_panels(claim, panels).items()
    ]


def _group_panels(claim: Claim, panels: Sequence[Panel]) -> dict[str, list[Panel]]:
    """Return the panels that a claim is about by interpretation."""
    groups: dict[str, list[Panel]] = {}
    for panel in panels:
        if claim.work or any(claim.panels_of(clause, [panel]) for clause in claim.clauses):
            groups.setdefault(panel.interpretation, []).append(panel)
    return groups


def _find_parts(parts: Sequence[Part], looks: Looks) -> list[Finding]:
    return [clause.find(group, looks=looks.get(group[0].figure, ())) for clause, group in parts]


def plan_more_runs(
    claims: Sequence[Claim], panels: Sequence[Panel], looks: Looks
) -> dict[Arm, int]:
    """Return the runs at the next look of all that unclear claims depend on.

    Parts of a claim that hold need no more.
    """
    more: dict[Arm, int] = {}
    for claim in claims:
        for group in _group_panels(claim, panels).values() if claim.clauses else ():
            try:
                parts = claim.parts(group)
                findings = _find_parts(parts, looks)
            except Unavailable:
                continue
            if verdict(findings)[0] != UNCLEAR:
                continue
            for (clause, chosen), finding in zip(parts, findings, strict=True):
                runs, sizes = clause.curves_of(chosen)[0].shape[0], looks[chosen[0].figure]
                following = next((size for size in sizes if size > runs), 0)
                for panel in chosen if following and not finding.holds else ():
                    for agent in clause.keys:
                        arm = panel.figure, panel.panel, panel.interpretation, agent
                        more[arm] = max(following, more.get(arm, 0))
    return more


def _judge_claim(
    claim: Claim, interpretation: str, panels: Sequence[Panel], sizes: Sizes, looks: Looks
) -> Verdict:
    names = ("id", "figure", "kind", "claim", "rule", "statement", "short", "ours")
    about = {name: getattr(claim, name) for name in names}
    if any(len(looks.get(panel.figure, ())) > 1 for panel in panels):
        about["rule"] += f" {RULE}"
    unclear = Verdict(interpretation=interpretation, **about)
    try:
        parts = claim.parts(panels)
        findings = claim.work.find() if claim.work else _find_parts(parts, looks)
    except Unavailable as reason:
        return replace(unclear, detail=f"Not enough data: {reason}.")
    outcome, decisive = verdict(findings)
    floored, lost = _count_losses(claim, panels)
    evidence = "; ".join([*map(_finding_text, findings), *_side_metrics(claim, panels), *lost])
    return replace(
        unclear,
        verdict=outcome,
        **{name: getattr(decisive, name) for name in ("effect", "low", "high", "label", "level")},
        margin=decisive.statement.margin,
        runs=min((clause.curves_of(group)[0].shape[0] for clause, group in parts), default=0),
        replication_probability=replication_probability(parts, sizes),
        detail=f"{evidence[0].upper()}{evidence[1:]}.",
        unit="times" if claim.work else decisive.unit,
        note=SHORT if outcome == UNCLEAR and is_refuted_at_margin(findings) else "",
        floored=floored,
        stated=decisive.statement.kind,
        reference=decisive.statement.reference,
    )


def replication_probability(parts: Sequence[Part], sizes: Sizes) -> float:
    """Return the share of resampled figures of the source's size that show every part."""
    if not parts:
        return math.nan
    shown = np.array(True)
    for clause, panels in parts:
        runs = clause.curves_of(panels)[0].shape[0]
        size = sizes.get(panels[0].figure, runs)
        if size is None:
            return math.nan
        shown = shown & clause.holds_in_samples(panels, min(size, runs))
    return float(shown.mean())


def _number_text(value: float) -> str:
    """Format four digits with a true minus sign; that of an exponent stays."""
    return f"{value:.4g}".replace("-", "−", 1) if value < 0 else f"{value:.4g}"


def _finding_text(finding: Finding) -> str:
    effect, low, high = ("unknown" if math.isnan(x) else _number_text(x) for x in finding[1:4])
    spread = "" if low == high else f" ({low} to {high})"
    return f"{finding.label} is {effect}{spread}, {finding.outcome}"


def _side_metrics(claim: Claim, panels: Sequence[Panel]) -> list[str]:
    """Report the metrics ``beside`` the claim; those of switches at each of them."""
    sentences = []
    for metric in claim.beside:
        for panel in (panel for panel in panels if panel.figure == claim.figure):
            numbers = [
                f"{panel.labels.get(agent, agent)} {_metric_text(metric, panel, agent)}"
                for agent in claim.agents
                if agent in panel.curves
            ]
            prefix = f"{panel.panel}, " if panel.panel else ""
            sentences.append(f"beside it, {prefix}{metric.title}: {', '.join(numbers)}")
    return sentences


def _metric_text(metric: Metric, panel: Panel, agent: str) -> str:
    """Format a metric of the mean curve, or its values at all switches."""
    metrics, curves = [metric], panel.clipped[agent]
    if metric.at is not None and panel.points is None:
        metrics = [metric.at(number + 1) for number, _ in enumerate(phases(panel)[0])]
    numbers = [
        m.crossed(panel, curves).mean()
        if m.crossed is not None
        else m.of(panel, curves.mean(axis=0)[None])[0]
        for m in metrics
    ]
    return " / ".join(_number_text(float(number)) for number in numbers)


def _count_losses(claim: Claim, panels: Sequence[Panel]) -> tuple[int, list[str]]:
    """Count bins clipped at the floor; list their agents, and diverged runs, in sentences."""
    diverged, clipped, count = [], [], 0
    for panel in panels:
        suffix = f" ({panel.panel})" if panel.panel else ""
        for agent in claim.agents:
            if agent not in panel.curves:
                continue
            curve, label = panel.curves[agent], f"{panel.labels.get(agent, agent)}{suffix}"
            lost = ~np.isfinite(curve).all(axis=1)
            if lost.any():
                diverged.append(f"{lost.sum()} of {lost.size} runs of {label}")
            below = int((~(curve >= panel.floor)).sum()) if math.isfinite(panel.floor) else 0
            if below:
                clipped.append(f"{below} of {curve.size:,} bins of {label}")
                count += below
    losses = {"diverged": diverged, "counted as the floor": clipped}
    return count, [f"{kind}: {', '.join(agents)}" for kind, agents in losses.items() if agents]


@dataclass(frozen=True, kw_only=True)
class ClaimsFile:
    """The keys of ``claims.toml``; ``names`` are for agents, in sentences."""

    names: Mapping[str, str] = key(table_of(text()), {})
    claims: tuple[Claim, ...] = key(tables(Claim), ())


def read_claims(data: Mapping[str, Any], figures: Mapping[str, Experiment]) -> Iterator[Claim]:
    """Read the claims in the data of a file, about agents of figures that must be known."""
    file, seen = read_table(ClaimsFile, data), set()
    for index, claim in enumerate(file.claims):
        with inside("claims", index):
            if claim.id in seen:
                raise ConfigError(f"must be unique, got {claim.id} twice", "id")
            seen.add(claim.id)
            for number, clause in enumerate(claim.clauses):
                agents = _agents_of(claim, clause.figure or claim.figure, figures)
                with inside("clauses", number):
                    clause.check_agents(agents)
            clauses = tuple(replace(clause, names=file.names) for clause in claim.clauses)
            work = claim.work and replace(claim.work, names=file.names)
            yield replace(claim, clauses=clauses, work=work)


def _agents_of(claim: Claim, figure: str, figures: Mapping[str, Experiment]) -> list[str]:
    check_known("no figure", [figure], [*figures], "figure")
    trials = figures[figure].names()
    if claim.panel is not None:
        check_known("no panel", [claim.panel], [panel for panel, _ in trials], "panel")
    return sorted({agent for panel, agent in trials if claim.panel in (None, panel)})
