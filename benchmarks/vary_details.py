"""Change one open detail of a study at a time: which claims depend on it?

    python benchmarks/vary_details.py --figure 5a --figure 5b --runs 100

Every other choice of every detail is run, from each interpretation. The effect of a change is the
difference of a claim's number, paired run by run with the unchanged interpretation, with Holm's
correction. A changed verdict may be due to chance. Interrupted, it resumes. Writes
interpretations.json.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.analysis.panel import Panel, Unavailable
from expectant.analysis.verdicts import LEVEL, Finding, holm_correction
from expectant.core.files import write_text
from expectant.core.formatting import text_table
from expectant.experiments.claims import Claim, judge_claims
from expectant.experiments.curves import group_panels
from expectant.experiments.runner import compute
from expectant.experiments.store import Store
from expectant.experiments.study import (
    PAPER,
    Detail,
    DetailChoice,
    Study,
    StudyConfig,
    configure_study,
    read_study,
)
from expectant.experiments.trials import Trial

SIGNS = {"holds": "+", "equal": "=", "does not hold": "−", "unclear": "?"}
LEGEND = (
    "+ holds, = equal, − does not hold, ? unclear; *: its number differs from the named "
    "interpretation's by more than the margin"
)


class Variant(NamedTuple):
    """An interpretation with at most one detail changed."""

    interpretation: str
    detail: Detail | None = None
    choice: DetailChoice | None = None

    @property
    def name(self) -> str:
        if self.detail is None or self.choice is None:
            return self.interpretation
        return f"{self.interpretation}, {self.detail.name}: {self.choice.name}"

    def trials(self, config: StudyConfig) -> list[Trial]:
        """Return the trials of figures that the changed detail concerns."""
        changed = {self.detail.name: self.choice} if self.detail and self.choice else None
        return [
            trial
            for figure in config.figures
            if self.interpretation in config.study.interpretations_of(figure)
            if self.detail is None or self.detail.concerns(figure)
            for trial in config.experiment(figure, self.interpretation, changed).trials(self.name)
        ]


def list_variants(study: Study) -> list[Variant]:
    """Return each interpretation unchanged, then with every other choice of every detail."""
    variants = []
    for interpretation in study.interpretations:
        variants.append(Variant(interpretation))
        variants += [
            Variant(interpretation, detail, choice)
            for detail in study.details
            for choice in detail.choices
            if choice is not detail.choice_in(interpretation)
        ]
    return variants


def vary_details(config: StudyConfig, folder: Path) -> list[dict[str, Any]]:
    """Run every variant, judge the claims and write interpretations.json; one row per variant.

    A row has the verdicts by claim, the changed ones, and by how much the numbers of every claim
    moved. Claims on the cost of a decision, which no detail changes, are left out.
    """
    study, variants = config.study, list_variants(config.study)
    claims = [claim for claim in study.claims if claim.clauses]
    if not claims or not any(variant.detail for variant in variants):
        raise ValueError(f"{study.name}: nothing to vary, no detail has a second choice")
    trials = [trial for variant in variants for trial in variant.trials(config)]
    work = compute(trials, Store(folder), title="one detail at a time")
    panels: dict[str, list[Panel]] = {variant.name: [] for variant in variants}
    for panel in group_panels(trials, work.curves()):
        panels[panel.interpretation].append(panel)
    rows: list[dict[str, Any]] = []
    unchanged: dict[str, dict[int, str]] = {}  # verdicts
    for variant in variants:
        now, before = panels[variant.name], panels[variant.interpretation]
        judged = judge_claims(claims, now, study.sizes)
        verdicts = {verdict.id: str(verdict.verdict) for verdict in judged}
        first = unchanged.setdefault(variant.interpretation, verdicts)
        moved = {claim.id: find_differences(claim, now, before) for claim in claims}
        rows.append(
            {
                "interpretation": variant.interpretation,
                "detail": variant.detail.name if variant.detail else None,
                "choice": variant.choice.name if variant.choice else None,
                "runs": min((verdict.runs for verdict in judged if verdict.runs), default=0),
                "verdicts": verdicts,
                "changed": [id for id, verdict in verdicts.items() if first[id] != verdict],
                "moved": {id: p for id, p in moved.items() if p} if variant.detail else {},
            }
        )
    mark_what_matters(rows)
    text = json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    write_text(folder / "interpretations.json", text)
    return rows


def find_differences(
    claim: Claim, panels: Sequence[Panel], unchanged: Sequence[Panel]
) -> list[dict[str, Any]]:
    """Return the difference of every part of a claim between panels, paired by run.

    Figures that a detail does not concern have no difference. The part that has moved the most
    margins comes first. A difference is clear if its interval is without zero; ``p`` is the p-value
    of its being within the margin, on either side.
    """
    figures = {panel.figure for panel in panels}
    groups = [[panel for panel in both if panel.figure in figures] for both in (panels, unchanged)]
    findings = list[Finding]()
    for clause in claim.clauses:
        try:
            parts = [replace(claim, clauses=(clause,)).parts(group) for group in groups]
        except Unavailable:
            continue
        findings += [clause.find(new, old) for (_, new), (_, old) in zip(*parts, strict=True)]
    rows = []
    for found in sorted(findings, key=_margins_moved, reverse=True):
        numbers = {"difference": found.effect, "low": found.low, "high": found.high}
        slack = found.statement.slack
        rows.append(
            {
                "part": found.label,
                **{k: float(f"{x:.6g}") if abs(x) < math.inf else None for k, x in numbers.items()},
                "margin": found.statement.margin,
                "clear": found.low > slack or found.high < -slack,
                "p": float(f"{min(1.0, 2.0 * found.p_fails):.3g}"),
            }
        )
    return rows


def _margins_moved(found: Finding) -> float:
    return abs(found.effect) / max(found.statement.margin, found.statement.slack)


def mark_what_matters(rows: Sequence[dict[str, Any]]) -> None:
    """Mark differences beyond the margin.

    With Holm's correction over all parts of all claims under all changes of an interpretation.
    """
    for interpretation in {row["interpretation"] for row in rows}:
        moved_rows = [row["moved"] for row in rows if row["interpretation"] == interpretation]
        parts = [part for row in moved_rows for claim in row.values() for part in claim]
        p_values = holm_correction(np.array([part["p"] for part in parts]))
        for part, p_value in zip(parts, p_values, strict=True):
            part["matters"] = bool(p_value <= 1.0 - LEVEL)


def dependence_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return variants in rows and claims in columns."""
    claims = sorted({claim for row in rows for claim in row["verdicts"]})
    lines = []
    for row in rows:
        cells = [row["interpretation"], row["detail"] or "as it is", row["choice"] or ""]
        for claim in claims:
            matters = any(part["matters"] for part in row["moved"].get(claim, ()))
            cells.append(SIGNS.get(row["verdicts"].get(claim, ""), "") + "*" * matters)
        lines.append(cells)
    heads = ["interpretation", "detail", "choice", *map(str, claims)]
    return f"{LEGEND}\n\n{text_table(heads, lines, left=range(len(heads)))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("study", nargs="?", default=PAPER, help="by name, or a folder")
    parser.add_argument("--figure", action="append", default=[])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    study = read_study(asked.study, trust=True)
    out = asked.out or Path(f"{study.out}-interpretations")
    rows = vary_details(configure_study(study, asked.figure, runs=asked.runs), out)
    print(dependence_table(rows))
    print(f"all differences: {out / 'interpretations.json'}")


if __name__ == "__main__":
    main()
