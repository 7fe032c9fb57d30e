"""Claims as data, and the verdict on each of them from learning curves.

A claim is made of clauses, all of which must hold. The sentence of its rule is generated from them.
"""

from __future__ import annotations

import ast
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.adaptation import phases
from expectant.analysis.looks import RULE, Arm, Looks
from expectant.analysis.panel import FLOOR, FLOORS, Panel, Unavailable
from expectant.analysis.verdicts import (
    LEVEL,
    UNCLEAR,
    Finding,
    Outcome,
    false_discovery_rates,
    is_refuted_at_margin,
    p_value_of,
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
JUDGING = (  # the code that decides verdicts, see judging_hash
    "analysis/adaptation", "analysis/curves", "analysis/looks", "analysis/panel",
    "analysis/verdicts", "experiments/claims", "experiments/clauses", "experiments/metrics",
)  # fmt: skip
OF_FINDING = ("effect", "low", "high", "label", "level", "runs", "median", "ahead")
SHORT = "not by more than the margin"
AT_SWITCHES = "Metrics of switches are means over all switches unless one is named. "
RULES = (
    f"The effect is that of the mean curve over all runs, with a {LEVEL:.0%} interval from paired "
    "runs: Student's t; a bootstrapped t for the unsteadiness; Wilson's for shares of runs; for "
    "times until a level is reached, those at which the curve's confidence band reaches it.",
    "A claim holds if the interval of every part lies where the sentence says, beyond the margin.",
    "It is equal if all parts that do not hold lie within the margin of zero.",
    "It does not hold if the interval of a part lies on the other side. Both are tested with "
    "Holm's correction for several parts.",
    "Otherwise it is unclear, that is, undecided.",
    "Bin averages are clipped at J_random − 4 (J* − J_random) where the exact returns J are known. "
    "A diverged run counts as that low, or elsewhere as the worst bin of any run in its panel. A "
    "verdict that is another one with 1 or 10 instead of 4 says so.",
    "The interval of a mean does not allow for a kind of run so rare that none was seen. Beside it "
    "stand the median over runs and the share of runs that are ahead.",
    "Verdicts are not corrected for the number of claims. The q-value is the false discovery rate "
    "at which a verdict would still be given (Benjamini and Hochberg, over all answers of the "
    "study).",
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
    ``reference``. ``note`` qualifies verdicts; ``floored`` counts bins at the floor;
    ``level`` is that of the interval, higher where runs ended early. The
    ``statement`` is what was tested; ``short`` and ``ours`` are those of the claim. ``median`` and
    ``ahead`` are the median of the single runs' numbers and the share of them above the reference;
    ``floors`` are the verdicts with other floors, if any bin is below one; ``q_value`` is the false
    discovery rate at which the verdict would still be given; ``judged_by`` is a hash of the rule
    and the judging code.
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
    median: float = math.nan
    ahead: float = math.nan
    floors: Mapping[str, Outcome] = field(default_factory=dict)
    q_value: float = math.nan
    judged_by: str = ""

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
    judged = [
        _judge_claim(claim, name, group, sizes or {}, looks or {})
        for claim in claims
        for name, group in _group_panels(claim, panels).items()
    ]
    rates = false_discovery_rates(np.array([p_value for _, p_value in judged]))
    return [
        replace(said, q_value=rate) for (said, _), rate in zip(judged, rates.tolist(), strict=True)
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
) -> tuple[Verdict, float]:
    """Return the verdict and its p-value."""
    names = ("id", "figure", "kind", "claim", "rule", "statement", "short", "ours")
    about = {name: getattr(claim, name) for name in names}
    if any(len(looks.get(panel.figure, ())) > 1 for panel in panels):
        about["rule"] += f" {RULE}"
    unclear = Verdict(interpretation=interpretation, **about)
    try:
        parts = claim.parts(panels)
        findings = claim.work.find() if claim.work else _find_parts(parts, looks)
    except Unavailable as reason:
        return replace(unclear, detail=f"Not enough data: {reason}."), 1.0
    outcome, decisive = verdict(findings)
    floored, lost = _count_losses(claim, panels)
    evidence = "; ".join([*map(_finding_text, findings), *_side_metrics(claim, panels), *lost])
    floors = _judge_at_floors(claim, panels, outcome, looks)
    depends = {x for x in floors.values() if x != outcome}
    notes = [SHORT] if outcome == UNCLEAR and is_refuted_at_margin(findings) else []
    notes += [f"{x} with a floor of {n}" for n, x in floors.items() if x in depends]
    judged = replace(
        unclear,
        verdict=outcome,
        **{name: getattr(decisive, name) for name in OF_FINDING},
        margin=decisive.statement.margin,
        replication_probability=replication_probability(parts, sizes),
        detail=f"{evidence[0].upper()}{evidence[1:]}.",
        unit="times" if claim.work else decisive.unit,
        note=", ".join(notes),
        floored=floored,
        stated=decisive.statement.kind,
        reference=decisive.statement.reference,
        floors=floors,
        judged_by=judging_hash(claim),
    )
    return judged, p_value_of(outcome, findings)


def _judge_at_floors(
    claim: Claim, panels: Sequence[Panel], outcome: Outcome, looks: Looks
) -> dict[str, Outcome]:
    """Return the verdicts with each of :data:`FLOORS`; empty if no bin is below the highest."""
    highest = {id(panel): panel.floor_at(min(FLOORS)) for panel in panels}
    used = [(p, p.curves[a]) for p in panels for a in claim.agents if a in p.curves]
    if not any((~(curve >= highest[id(p)])).any() for p, curve in used if math.isfinite(p.floor)):
        return {}
    outcomes = {}
    for multiple in FLOORS:
        moved = [panel.with_floor(multiple) for panel in panels]
        findings = _find_parts(claim.parts(moved), looks)
        outcomes[f"{multiple:g}×"] = outcome if multiple == FLOOR else verdict(findings)[0]
    return outcomes


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


def _code_words(node: ast.AST) -> Iterator[str]:
    """Yield a syntax tree as words, without docstrings, imports, types and wording.

    Strings with a space are taken for wording.
    """
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
        return
    yield f"({type(node).__name__}"
    for name, value in ast.iter_fields(node):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield from _code_words(item) if name not in ("annotation", "returns") else ()
            elif item is not None and " " not in str(item):
                yield repr(item)
    yield ")"


@cache
def _judging_code() -> str:
    package = Path(__file__).parents[1]
    trees = [ast.parse((package / f"{name}.py").read_text("utf-8")) for name in JUDGING]
    return " ".join(word for tree in trees for word in _code_words(tree))


def judging_hash(claim: Claim | None = None) -> str:
    """Return a hash of the judging code, and of a claim's rule.

    It changes with the code that decides a verdict, not with comments, docstrings or wording.
    """
    rule = [
        (c.metric.name, c.groups, c.statement, c.relative_margin, c.across, c.figure)
        for c in (claim.clauses if claim else ())
    ]
    about = repr((claim.figure, claim.panel, rule)) if claim else ""
    return hashlib.sha256(f"{_judging_code()} {about}".encode()).hexdigest()[:16]


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
