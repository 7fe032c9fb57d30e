"""Score the study planning-pays: docs/planning-pays.json.

A score is (reward per step − random) ÷ (optimum − random), where episodes start again after their
end; both ends are exact, and means over the tasks of all runs. Corridors are measured by the return
per episode, as in the paper.

    python benchmarks/planning_pays.py     # after docs/site/store_results.py results/planning-pays
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.engine.setup import Setup
from expectant.exact import gain, optimal_gain, optimal_values, policy_values

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = {"choosing": "choosing", "reporting": "reporting", "corridors": "reporting"}
VERDICTS = ("holds", "equal", "does not hold", "unclear")
STUDY = Path(ex.__file__).parent / "studies" / "planning-pays"


def make_continuing(mdp: Any, phase: int) -> ex.FiniteMDP:
    """Return the MDP of one phase with its ends leading back to the start."""
    table = mdp.outcomes
    states, actions, outcomes = table.successors.shape
    chances = table.probabilities[phase % len(table.probabilities)]
    rewards = table.rewards[phase % len(table.rewards)]
    probabilities = np.zeros((states, actions, states))
    for outcome in range(outcomes):
        ends = table.successors[..., outcome] < 0
        target = np.where(ends, 0, table.successors[..., outcome])
        moved = np.where(ends[..., None], table.start, np.eye(states)[target])
        probabilities += chances[..., outcome, None] * moved
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    means = (chances * rewards).sum(axis=-1)
    return ex.FiniteMDP(probabilities, means, start=table.start, endless=True)


def reference_rates(domain: ex.Domain, runs: int) -> tuple[float, float]:
    """Return the mean reward per step of random and of optimal actions."""
    tasks = {domain.for_run(run) for run in range(runs)}
    rates = []
    for mdp in (task.mdp() for task in tasks):
        assert mdp is not None
        for phase in range(mdp.phases):
            problem = make_continuing(mdp, phase)
            uniform = np.full((problem.states, problem.actions), 1.0 / problem.actions)
            rates.append((gain(problem, uniform), optimal_gain(problem)))
    low, high = np.mean(rates, axis=0)
    return float(low), float(high)


def reference_returns(domain: ex.Domain) -> tuple[float, float]:
    """Return the mean return of random and of optimal actions, from uniform starts."""
    mdp: Any = domain.mdp()
    uniform = np.full((mdp.states, mdp.actions), 1.0 / mdp.actions)
    phases = range(mdp.phases)
    low = np.mean([policy_values(mdp, uniform, phase=phase) for phase in phases])
    high = np.mean([optimal_values(mdp, phase=phase) for phase in phases])
    return float(low), float(high)


def read_references(figure: str) -> dict[str, tuple[float, float]]:
    """Return the references of all panels of a figure."""
    spec = tomllib.loads((STUDY / f"{figure}.toml").read_text("utf-8"))
    found = {}
    for row in spec["panels"]:
        domain: Any = ex.extend.Config.from_dict(row["domain"])
        by_return = "episodes" in spec
        found[row["name"]] = (
            reference_returns(domain) if by_return else reference_rates(domain, spec["runs"])
        )
    return found


def measure_figure_5(seeds: int = 5, runs: int = 100) -> dict[str, Any]:
    """Run Algorithm 1 on figure 5's domain; runs with linearly dependent features apart."""
    domain, features = ex.Corridor(slip=0.1, switch_every=500), ex.RandomBinary(14, 5)
    returns, ranks = np.zeros((seeds, runs)), np.zeros((seeds, runs))
    for seed in range(seeds):
        setup = Setup(domain, features, ex.Lookahead(), episodes=2000, seed=seed)
        found = ex.run(domain, features, setup.agent, episodes=2000, runs=runs, seed=seed)
        returns[seed] = found.returns.mean(axis=1)
        for run in range(runs):
            table: Any = setup.build(run)[0].features
            ranks[seed, run] = np.linalg.matrix_rank(np.eye(14)[table.active].sum(axis=1))
    dependent = ranks < domain.cells
    return {
        "means": sorted(np.round(returns.mean(axis=1), 2).tolist()),
        "mean": round(float(returns.mean()), 2),
        "runs": returns.size,
        "below": int((returns < 11.0).sum()),
        "dependent": int(dependent.sum()),
        "below_dependent": int((returns[dependent] < 11.0).sum()),
        "lowest": round(float(returns[~dependent].min()), 2),
    }


def main() -> None:
    stored = json.loads((DOCS / "measured" / "planning-pays.json").read_text("utf-8"))
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for figure, shown_as in FIGURES.items():
        references = read_references(figure)
        for row in stored:
            if row["figure"] == figure:
                low, high = references[row["panel"]]
                score = (row["metrics"]["mean"][0] - low) / (high - low)
                panel = scores.setdefault(shown_as, {}).setdefault(row["panel"], {})
                panel[row["agent"]] = round(score, 3)
    means = {
        figure: [
            {"agent": agent, "label": row_label(stored, figure, agent), "score": round(float(
                np.mean([panel[agent] for panel in panels.values()])), 3)}
            for agent in next(iter(panels.values()))
        ]
        for figure, panels in scores.items()
    }  # fmt: skip
    noises = ("no_noise", "recipe", "more_noise")
    best = [max(panel[agent] for agent in noises) for panel in scores["choosing"].values()]
    gained = np.mean(best) - np.mean([panel["recipe"] for panel in scores["choosing"].values()])
    verdicts: dict[str, Counter[str]] = {}
    for claim in json.loads((DOCS / "measured" / "planning-pays-claims.json").read_text("utf-8")):
        verdicts.setdefault(claim["claim"], Counter())[claim["verdict"]] += 1
    counts = [{"claim": claim, **{name: found[name] for name in VERDICTS}}
              for claim, found in verdicts.items()]  # fmt: skip
    rows = [{"problem": name, **panel} for name, panel in scores["reporting"].items()]
    content = json.dumps(
        {"means": means, "verdicts": counts, "reporting": rows, "figure_5": measure_figure_5(),
         "gain_by_noise": round(float(gained), 3)},
        indent=1, ensure_ascii=False,
    )  # fmt: skip
    (DOCS / "planning-pays.json").write_text(content + "\n", "utf-8")
    for figure, agents in means.items():
        print(figure, {row["label"]: row["score"] for row in agents})


def row_label(stored: list[dict[str, Any]], figure: str, agent: str) -> str:
    """Return the label of an agent in a figure."""
    return str(next(row["label"] for row in stored
                    if row["figure"] == figure and row["agent"] == agent))  # fmt: skip


if __name__ == "__main__":
    main()
