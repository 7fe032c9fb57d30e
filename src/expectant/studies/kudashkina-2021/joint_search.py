"""Change all open details of figure 5 at once: which of its claims can hold together?

    python joint_search.py --combinations 1000 --runs 100 --out results/joint-search

Details that matter to several agents form a context; the others matter to one agent each.
In every context two choices of each agent are drawn and combined, so that an agent is run once for
several combinations. Combinations under which the most claims hold are run again on the next seed.
Interrupted, the search resumes. Writes joint.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.experiments.claims import joint_replication_probability, judge_claims
from expectant.experiments.study import Detail, read_study

STUDY = read_study(Path(__file__).parent)
FIGURES, STEP_LIMIT = ("5a", "5b"), 300  # some combinations are stuck in most episodes
PUBLISHED = frozenset(range(10, 18))  # the claims that describe the figure as it was published
SETS = CONFIRMED = 6  # the largest sets of claims, and how many combinations of each run again
CLAIMS = [
    claim
    for claim in STUDY.claims
    if claim.clauses and all((part.figure or claim.figure) in FIGURES for part in claim.clauses)
]
Combination = dict[str, str]  # the choice of every open detail, by name


def find_agents(detail: Detail) -> frozenset[str]:
    """Find the agents of figure 5 to which the choices make a difference."""
    agents: set[str] = set()
    for figure in filter(detail.concerns, FIGURES):
        changed = [
            STUDY.experiments[figure].with_changes(o.changes).trials() for o in detail.choices
        ]
        for first, *others in zip(*changed, strict=True):
            if any(other.identity() != first.identity() for other in others):
                agents.add(first.agent_key)
    return frozenset(agents)


AGENTS = {detail.name: find_agents(detail) for detail in STUDY.details}
DETAILS = {detail.name: detail for detail in STUDY.details if AGENTS[detail.name]}


def draw_combinations(count: int, seed: int) -> list[Combination]:
    """Draw different combinations, context by context, those of the interpretations first."""
    rng = np.random.Generator(np.random.PCG64(seed))
    groups: dict[frozenset[str], list[Detail]] = {frozenset(): []}
    for name, detail in DETAILS.items():
        key = AGENTS[name] if len(AGENTS[name]) == 1 else frozenset()
        groups.setdefault(key, []).append(detail)
    combinations: dict[str, Combination] = {}
    interpretations = list(STUDY.interpretations)
    while len(combinations) < count:
        named = interpretations.pop(0) if interpretations else None
        drawn: list[list[Combination]] = []
        for agents, details in groups.items():
            choices = [{r.name: r.choice_in(named).name for r in details}] if named else []
            while len(choices) < (2 if agents else 1):
                picked = [r.choices[int(rng.random() * len(r.choices))].name for r in details]
                choices.append({r.name: name for r, name in zip(details, picked, strict=True)})
            drawn.append(choices)
        for parts in product(*drawn):
            merged = {name: choice for part in parts for name, choice in part.items()}
            combinations.setdefault(json.dumps(merged, sort_keys=True), merged)
    return list(combinations.values())[:count]


def run(
    combinations: Sequence[Combination], out: Path, runs: int, seed: int
) -> list[dict[str, Any]]:
    """Run combinations as panels of one sweep per figure, and judge every claim under each."""
    panels: list[list[ex.analysis.Panel]] = [[] for _ in combinations]
    for figure in FIGURES:
        tables: list[dict[str, Any]] = []
        for combination in combinations:
            experiment = STUDY.experiments[figure]
            for detail in DETAILS.values():
                choice = next(o for o in detail.choices if o.name == combination[detail.name])
                if detail.concerns(figure):
                    experiment = experiment.with_changes(choice.changes)
            (table,) = experiment.panels
            tables.append({k: getattr(table, k) for k in ("domain", "features", "agents")})
        sweep = ex.Sweep(
            name=figure, episodes=experiment.episodes, bin=experiment.bin, runs=runs, seed=seed,
            step_limit=STEP_LIMIT, **tables[0],
            panels=[{"name": str(n), **table} for n, table in enumerate(tables)],
        )  # fmt: skip
        for panel in sweep.run(out / figure).panels():
            panels[int(panel.panel)].append(replace(panel, panel="", interpretation=panel.panel))
    published = [claim for claim in CLAIMS if claim.id in PUBLISHED]
    rows = []
    for combination, own in zip(combinations, panels, strict=True):
        verdicts = {v.id: v for v in judge_claims(CLAIMS, own, STUDY.sizes)}
        holds = frozenset(id for id, found in verdicts.items() if found.verdict == "holds")
        replication_probability = joint_replication_probability(published, own, STUDY.sizes)
        rows.append(
            {
                "of": combination,
                "verdicts": verdicts,
                "holds": holds,
                "replication_probability": replication_probability,
            }
        )
    return rows


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count verdicts by claim, and find the largest sets of published claims that hold at once."""
    held = {row["holds"] & PUBLISHED for row in rows} - {frozenset()}
    largest = [claims for claims in held if not any(claims < other for other in held)]
    together = {(a, b) for row in rows for a, b in product(row["holds"], repeat=2)}
    return {
        "claims": {
            a.id: {
                "verdicts": Counter(row["verdicts"][a.id].verdict for row in rows),
                "replication_probability": max(
                    row["verdicts"][a.id].replication_probability for row in rows
                ),
                "never_with": [b.id for b in CLAIMS if a != b and (a.id, b.id) not in together],
            }
            for a in CLAIMS
        },
        "sets": [
            {"claims": sorted(claims), "under": [r["of"] for r in rows if claims <= r["holds"]]}
            for claims in sorted(largest, key=len, reverse=True)[:SETS]
        ],
        "published_replication_probability": max(row["replication_probability"] for row in rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--combinations", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("results/joint-search"))
    asked = parser.parse_args()
    found = summarise(run(draw_combinations(asked.combinations, 0), asked.out, asked.runs, 0))
    for number, one in enumerate(found["sets"]):
        again = run(one["under"][:CONFIRMED], asked.out / f"again-{number}", asked.runs, 1)
        one["again"] = [sum(set(one["claims"]) <= row["holds"] for row in again), len(again)]
        print(f"claims {one['claims']} hold at once under {len(one['under'])} combinations; run")
        print(f"again, under {one['again'][0]} of {one['again'][1]}")
    (asked.out / "joint.json").write_text(json.dumps(found, indent=1, ensure_ascii=False), "utf-8")
    probability = found["published_replication_probability"]
    print(f"a published figure shows all of it with probability {probability:.3f}")


if __name__ == "__main__":
    main()
