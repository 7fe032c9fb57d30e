"""Change all open details of figure 5 at once: which of its claims can hold together?

    python benchmarks/joint_search.py --combinations 1000 --runs 100 --out results/joint-search

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
from expectant.experiments.claims import judge_claims, replication_probability
from expectant.experiments.study import Detail, DetailChoice, read_study

STUDY = read_study()
FIGURES, STEP_LIMIT = ("5a", "5b"), 300  # some combinations are stuck in most episodes
PUBLISHED = frozenset(range(10, 18))  # the claims that describe the figure as it was published
SETS = CONFIRMED = 6  # the largest sets of claims, and how many combinations of each run again
CLAIMS = [
    claim
    for claim in STUDY.claims
    if claim.clauses and all((part.figure or claim.figure) in FIGURES for part in claim.clauses)
]
Combination = dict[str, DetailChoice]  # the choice of every open detail, by name


def find_agents(detail: Detail) -> frozenset[str]:
    """Find the agents of figure 5 to which the choices make a difference."""
    agents: set[str] = set()
    for figure in filter(detail.concerns, FIGURES):
        experiment = STUDY.experiments[figure]
        changed = [experiment.with_changes(choice.changes).trials() for choice in detail.choices]
        for first, *others in zip(*changed, strict=True):
            if any(other.identity() != first.identity() for other in others):
                agents.add(first.agent_key)
    return frozenset(agents)


def draw_combinations(count: int, seed: int) -> list[Combination]:
    """Draw different combinations, context by context, those of the interpretations first."""
    rng = np.random.Generator(np.random.PCG64(seed))
    groups: dict[frozenset[str], list[Detail]] = {frozenset(): []}
    for detail in STUDY.details:
        agents = find_agents(detail)
        if agents:
            groups.setdefault(agents if len(agents) == 1 else frozenset(), []).append(detail)
    combinations: dict[str, Combination] = {}
    interpretations = list(STUDY.interpretations)
    while len(combinations) < count:
        named = interpretations.pop(0) if interpretations else None
        drawn: list[list[Combination]] = []
        for agents, details in groups.items():
            choices = [{d.name: d.choice_in(named) for d in details}] if named else []
            while len(choices) < (2 if agents else 1):
                choices.append(
                    {d.name: d.choices[int(rng.random() * len(d.choices))] for d in details}
                )
            drawn.append(choices)
        for parts in product(*drawn):
            merged = {name: choice for part in parts for name, choice in part.items()}
            combinations.setdefault(json.dumps(names_of(merged), sort_keys=True), merged)
    return list(combinations.values())[:count]


def names_of(combination: Combination) -> dict[str, str]:
    return {detail: choice.name for detail, choice in combination.items()}


def run(
    combinations: Sequence[Combination], out: Path, runs: int, seed: int
) -> list[dict[str, Any]]:
    """Run combinations as panels of one sweep per figure, and judge every claim under each."""
    panels: list[list[ex.analysis.Panel]] = [[] for _ in combinations]
    for figure in FIGURES:
        tables: list[dict[str, Any]] = []
        for combination in combinations:
            experiment = STUDY.experiment(figure, STUDY.interpretations[0], combination)
            (table,) = experiment.panels
            tables.append({k: getattr(table, k) for k in ("domain", "features", "agents")})
        sweep = ex.Sweep(
            name=figure, episodes=experiment.episodes, bin=experiment.bin, runs=runs, seed=seed,
            step_limit=STEP_LIMIT, **tables[0],
            panels=[{"name": str(n), **table} for n, table in enumerate(tables)],
        )  # fmt: skip
        for panel in sweep.run(out / figure).panels():
            panels[int(panel.panel)].append(replace(panel, panel="", interpretation=panel.panel))
    rows = []
    for combination, own in zip(combinations, panels, strict=True):
        verdicts = {v.id: v for v in judge_claims(CLAIMS, own, STUDY.sizes)}
        holds = frozenset(id for id, found in verdicts.items() if found.verdict == "holds")
        published = [part for c in CLAIMS if c.id in PUBLISHED for part in c.parts(own)]
        probability = replication_probability(published, STUDY.sizes)
        rows.append({"of": combination, "verdicts": verdicts, "holds": holds, "all": probability})
    return rows


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count verdicts by claim, and find the largest sets of published claims that hold at once."""
    held = {row["holds"] & PUBLISHED for row in rows} - {frozenset()}
    largest = [claims for claims in held if not any(claims < other for other in held)]
    together = {(a, b) for row in rows for a, b in product(row["holds"], repeat=2)}
    claims = {}
    for a in CLAIMS:
        verdicts = [row["verdicts"][a.id] for row in rows]
        claims[a.id] = {
            "verdicts": Counter(verdict.verdict for verdict in verdicts),
            "replication_probability": max(v.replication_probability for v in verdicts),
            "never_with": [b.id for b in CLAIMS if a != b and (a.id, b.id) not in together],
        }
    sets = [
        {"claims": sorted(claims), "under": [r["of"] for r in rows if claims <= r["holds"]]}
        for claims in sorted(largest, key=len, reverse=True)[:SETS]
    ]
    probability = max(row["all"] for row in rows)
    return {"claims": claims, "sets": sets, "published_replication_probability": probability}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--combinations", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("results/joint-search"))
    asked = parser.parse_args()
    found = summarise(run(draw_combinations(asked.combinations, 0), asked.out, asked.runs, 0))
    for number, largest in enumerate(found["sets"]):
        again = run(largest["under"][:CONFIRMED], asked.out / f"again-{number}", asked.runs, 1)
        held = sum(set(largest["claims"]) <= row["holds"] for row in again)
        largest |= {"under": [*map(names_of, largest["under"])], "again": [held, len(again)]}
        print(f"claims {largest['claims']} hold at once under {len(largest['under'])} combinations")
        print(f"run again, under {held} of {len(again)}")
    (asked.out / "joint.json").write_text(json.dumps(found, indent=1, ensure_ascii=False), "utf-8")
    probability = found["published_replication_probability"]
    print(f"a published figure shows all of it with probability {probability:.3f}")


if __name__ == "__main__":
    main()
