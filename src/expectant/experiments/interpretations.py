"""Which claims depend on which detail: change one detail at a time, from each interpretation.

The effect of a change is the difference of the claim's own number, paired run by run with the named
set, corrected for the number of differences. A changed verdict says less: it may change by chance.
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
from expectant.experiments.curves import panels_of
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
        """The trials of all figures, or of some, that the changed detail concerns."""
        instead = (self.detail, self.choice) if self.detail and self.choice else None
        trials = []
        for figure in figures or self.study.figures:
            if self.interpretation not in self.study.interpretations_of(figure):
                continue
            if self.detail is None or self.detail.concerns(figure):
                experiment = self.study.experiment(figure, self.interpretation, instead=instead)
                many = runs or experiment.runs
                trials += replace(experiment, seed=seed, runs=many).trials(self.name)
        return trials


# a variant, its verdicts, and by how much each part of every claim, by its id, has moved
Varied = tuple[Variant, list[Verdict], dict[int, list[Finding]]]


def variants(study: Study) -> list[Variant]:
    """Each interpretation as it is, then with every other choice of every detail."""
    found = []
    for interpretation in study.interpretations:
        found.append(Variant(study, interpretation))
        found += [
            Variant(study, interpretation, detail, choice)
            for detail in study.details
            for choice in detail.choices
            if choice is not detail.choice_in(interpretation)
        ]
    return found


def vary_interpretations(
    study: Study,
    folder: Path,
    seed: int = 0,
    threads: int | None = None,
    figures: Sequence[str] = (),
    runs: int | None = None,
) -> list[dict[str, Any]]:
    """Run every variant and write what it makes of the claims; one row per variant.

    Claims on the cost of a decision, which no detail changes, are left out.
    """
    chosen = variants(study)
    if not study.claims or not any(variant.detail for variant in chosen):
        raise ValueError(f"{study.name}: nothing to vary, no detail has a second choice")
    claims = [claim for claim in study.claims if claim.clauses]
    trials = [trial for variant in chosen for trial in variant.trials(seed, figures, runs)]
    work = compute(trials, Store(folder), threads=threads, title="one detail at a time")
    panels: dict[str, list[Panel]] = {variant.name: [] for variant in chosen}
    for panel in panels_of(trials, work.curves()):
        panels[panel.interpretation].append(panel)
    results: list[Varied] = []
    for variant in chosen:
        own, base = panels[variant.name], panels[variant.interpretation]
        moved = {claim.id: differences(claim, own, base) for claim in claims if variant.detail}
        kept = {id: parts for id, parts in moved.items() if parts}
        results.append((variant, judge_claims(claims, own, study.sizes), kept))
    rows = as_rows(results)
    write_text(folder / FILE, json.dumps(rows, indent=2, ensure_ascii=False))
    return rows


def differences(claim: Claim, panels: Sequence[Panel], before: Sequence[Panel]) -> list[Finding]:
    """What every part of a claim is in some panels less what it is in others, paired by run.

    Figures that a detail does not concern are the same in both, and no difference.
    """
    changed = {panel.figure for panel in panels}
    both = [[panel for panel in group if panel.figure in changed] for group in (panels, before)]
    found = []
    for clause in claim.clauses:
        if (clause.figure or claim.figure) not in changed:
            continue
        try:
            parts = [replace(claim, clauses=(clause,)).parts(group) for group in both]
        except Unavailable:
            continue
        found += [clause.find(own, other) for (_, own), (_, other) in zip(*parts, strict=True)]
    return found


def as_rows(results: Sequence[Varied]) -> list[dict[str, Any]]:
    """One row per variant: verdicts by claim, changed verdicts, and moved numbers.

    Of a claim of several parts the one comes first that has moved the most margins. A difference
    matters if it is beyond the margin, by Holm's correction over all parts of all claims under all
    changes from a set.
    """
    rows: list[dict[str, Any]] = []
    base: dict[str, dict[int, str]] = {}
    for variant, judged, moved in results:
        runs = min((verdict.runs for verdict in judged if verdict.runs), default=0)
        verdicts = {verdict.id: str(verdict.verdict) for verdict in judged}
        before = base.setdefault(variant.interpretation, verdicts)  # which comes first
        rows.append(
            {
                "interpretation": variant.interpretation,
                "detail": variant.detail.name if variant.detail else None,
                "choice": variant.choice.name if variant.choice else None,
                "runs": runs,
                "verdicts": verdicts,
                "changed": [id for id, verdict in verdicts.items() if before[id] != verdict],
                "moved": {
                    id: [_data(part, runs) for part in sorted(parts, key=_margins, reverse=True)]
                    for id, parts in moved.items()
                },
            }
        )
    for interpretation in base:
        own = [row["moved"].values() for row in rows if row["interpretation"] == interpretation]
        parts = [part for claims in own for claim in claims for part in claim]
        p_values = holm_correction(np.array([part["p"] for part in parts]))
        for part, p_value in zip(parts, p_values, strict=True):
            part["matters"] = bool(p_value <= 1.0 - LEVEL)
    return rows


def _margins(part: Finding) -> float:
    """How far a part has moved, in units of its margin."""
    return abs(part.effect) / max(part.statement.margin, part.statement.slack)


def _p_value(part: Finding, runs: int) -> float:
    """The p-value of a difference being within its margin, on either side."""
    from scipy.special import stdtr, stdtrit

    beyond = abs(part.effect) - part.statement.margin - part.statement.slack
    error = (part.high - part.low) / 2.0 / float(stdtrit(max(runs - 1, 1), 1.0 - TAIL))
    if not beyond > 0.0 or runs < 2:
        return 1.0
    return float(2.0 * stdtr(runs - 1, -beyond / error)) if error > 0.0 else 0.0


def _data(part: Finding, runs: int) -> dict[str, Any]:
    """A difference as plain values: clear if its interval is without zero, and its p-value."""
    nearest = min(abs(part.low), abs(part.high)) if part.low * part.high > 0.0 else 0.0
    numbers = {"difference": part.effect, "low": part.low, "high": part.high}
    return {
        "part": part.label,
        **{key: float(f"{x:.6g}") if abs(x) < math.inf else None for key, x in numbers.items()},
        "margin": part.statement.margin,
        "clear": nearest > part.statement.slack,
        "p": float(f"{_p_value(part, runs):.3g}"),
    }
