"""Dependence of claims on open details: change one detail at a time, from each interpretation.

The effect of a change is the difference of the claim's number, paired run by run with the
unchanged interpretation, with Holm's correction. A changed verdict may be due to chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.panel import Panel, Unavailable
from expectant.analysis.verdicts import LEVEL, TAIL, Finding, holm_correction
from expectant.core.files import write_text
from expectant.experiments.claims import Claim, Verdict, judge_claims
from expectant.experiments.curves import group_panels
from expectant.experiments.runner import compute
from expectant.experiments.store import Store
from expectant.experiments.study import Detail, DetailChoice, Study
from expectant.experiments.trials import Trial

FILE = "interpretations.json"


@dataclass(frozen=True)
class Variant:
    """An interpretation of a study with at most one detail changed."""

    study: Study
    interpretation: str
    detail: Detail | None = None
    choice: DetailChoice | None = None

    @property
    def name(self) -> str:
        if self.detail is None or self.choice is None:
            return self.interpretation
        return f"{self.interpretation}, {self.detail.name}: {self.choice.name}"

    def trials(
        self, seed: int, figures: Sequence[str] = (), runs: int | None = None
    ) -> list[Trial]:
        """Return the trials of all figures, or of some, that the changed detail concerns."""
        changed = {self.detail.name: self.choice} if self.detail and self.choice else None
        trials = []
        for figure in figures or self.study.figures:
            if self.interpretation not in self.study.interpretations_of(figure):
                continue
            if self.detail is None or self.detail.concerns(figure):
                experiment = self.study.experiment(figure, self.interpretation, changed)
                experiment = replace(experiment, seed=seed, runs=runs or experiment.runs)
                trials += experiment.trials(self.name)
        return trials


# a variant, its verdicts, and by how much each part of every claim, by its id, has moved
VariantResult = tuple[Variant, list[Verdict], dict[int, list[Finding]]]


def list_variants(study: Study) -> list[Variant]:
    """Return each interpretation unchanged, then with every other choice of every detail."""
    variants = []
    for interpretation in study.interpretations:
        variants.append(Variant(study, interpretation))
        variants += [
            Variant(study, interpretation, detail, choice)
            for detail in study.details
            for choice in detail.choices
            if choice is not detail.choice_in(interpretation)
        ]
    return variants


def vary_interpretations(
    study: Study,
    folder: Path,
    seed: int = 0,
    threads: int | None = None,
    figures: Sequence[str] = (),
    runs: int | None = None,
) -> list[dict[str, Any]]:
    """Run every variant, judge the claims and write interpretations.json; one row per variant.

    Claims on the cost of a decision, which no detail changes, are left out.
    """
    variants = list_variants(study)
    if not study.claims or not any(variant.detail for variant in variants):
        raise ValueError(f"{study.name}: nothing to vary, no detail has a second choice")
    claims = [claim for claim in study.claims if claim.clauses]
    trials = [trial for variant in variants for trial in variant.trials(seed, figures, runs)]
    work = compute(trials, Store(folder), threads=threads, title="one detail at a time")
    panels: dict[str, list[Panel]] = {variant.name: [] for variant in variants}
    for panel in group_panels(trials, work.curves()):
        panels[panel.interpretation].append(panel)
    results: list[VariantResult] = []
    for variant in variants:
        changed, unchanged = panels[variant.name], panels[variant.interpretation]
        moved = {}
        for claim in claims if variant.detail else []:
            if parts := find_differences(claim, changed, unchanged):
                moved[claim.id] = parts
        results.append((variant, judge_claims(claims, changed, study.sizes), moved))
    rows = as_rows(results)
    write_text(folder / FILE, json.dumps(rows, indent=2, ensure_ascii=False))
    return rows


def find_differences(
    claim: Claim, panels: Sequence[Panel], unchanged: Sequence[Panel]
) -> list[Finding]:
    """Return the difference of every part of a claim between panels, paired by run.

    Figures that a detail does not concern have no difference.
    """
    figures = {panel.figure for panel in panels}
    groups = [[panel for panel in both if panel.figure in figures] for both in (panels, unchanged)]
    findings = []
    for clause in claim.clauses:
        if (clause.figure or claim.figure) not in figures:
            continue
        try:
            parts = [replace(claim, clauses=(clause,)).parts(group) for group in groups]
        except Unavailable:
            continue
        findings += [clause.find(new, old) for (_, new), (_, old) in zip(*parts, strict=True)]
    return findings


def as_rows(results: Sequence[VariantResult]) -> list[dict[str, Any]]:
    """Return one row per variant: verdicts by claim, changed verdicts, and moved numbers.

    Of a claim of several parts the one that has moved the most margins comes first. A difference
    matters if it is beyond the margin, by Holm's correction over all parts of all claims under all
    changes of an interpretation.
    """
    rows: list[dict[str, Any]] = []
    unchanged: dict[str, dict[int, str]] = {}
    for variant, judged, moved in results:
        runs = min((verdict.runs for verdict in judged if verdict.runs), default=0)
        verdicts = {verdict.id: str(verdict.verdict) for verdict in judged}
        before = unchanged.setdefault(variant.interpretation, verdicts)  # which comes first
        rows.append(
            {
                "interpretation": variant.interpretation,
                "detail": variant.detail.name if variant.detail else None,
                "choice": variant.choice.name if variant.choice else None,
                "runs": runs,
                "verdicts": verdicts,
                "changed": [id for id, verdict in verdicts.items() if before[id] != verdict],
                "moved": {
                    id: [_as_data(part, runs) for part in sorted(parts, key=_margins, reverse=True)]
                    for id, parts in moved.items()
                },
            }
        )
    for interpretation in unchanged:
        moved_rows = [row["moved"] for row in rows if row["interpretation"] == interpretation]
        parts = [part for row in moved_rows for claim in row.values() for part in claim]
        p_values = holm_correction(np.array([part["p"] for part in parts]))
        for part, p_value in zip(parts, p_values, strict=True):
            part["matters"] = bool(p_value <= 1.0 - LEVEL)
    return rows


def _margins(part: Finding) -> float:
    """Return the effect in units of the margin."""
    return abs(part.effect) / max(part.statement.margin, part.statement.slack)


def _p_value(part: Finding, runs: int) -> float:
    """Return the p-value of a difference being within its margin, on either side."""
    from scipy.special import stdtr, stdtrit

    beyond = abs(part.effect) - part.statement.margin - part.statement.slack
    error = (part.high - part.low) / 2.0 / float(stdtrit(max(runs - 1, 1), 1.0 - TAIL))
    if not beyond > 0.0 or runs < 2:
        return 1.0
    return float(2.0 * stdtr(runs - 1, -beyond / error)) if error > 0.0 else 0.0


def _as_data(part: Finding, runs: int) -> dict[str, Any]:
    """Return a difference as plain values; it is clear if its interval is without zero."""
    nearest = min(abs(part.low), abs(part.high)) if part.low * part.high > 0.0 else 0.0
    numbers = {"difference": part.effect, "low": part.low, "high": part.high}
    return {
        "part": part.label,
        **{key: float(f"{x:.6g}") if abs(x) < math.inf else None for key, x in numbers.items()},
        "margin": part.statement.margin,
        "clear": nearest > part.statement.slack,
        "p": float(f"{_p_value(part, runs):.3g}"),
    }
