"""Would the printed step sizes be chosen? Run a grid of them for every agent of every figure.

    python benchmarks/parameter_study.py --runs 30 --out results/paper-parameters --figure 5a

Every agent is run over a grid of its step sizes, as long as in the paper's parameter study, under
each interpretation. These runs choose the best by mean return; fresh runs compare it with the
printed one, and judge figure 5 with every agent at its best. Interrupted, the study resumes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.analysis.selection import best_index, trial_means
from expectant.analysis.verdicts import AT_LEAST, clip_at_floor
from expectant.experiments.claims import judge_claims
from expectant.experiments.study import read_study
from expectant.experiments.trials import Trial

STUDY = read_study()
CLAIM, AT_BEST = 22, ("5a", "5b")  # that printed steps are the best; figures judged at the best
EPISODES, FRESH = 1_000, 100  # of the parameter study; runs that judge
MARGINS = {"1": 0.05, "3": 0.3}  # of a return, below which a difference does not matter; else 0.2
GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
COARSE = (0.001, 0.01, 0.03, 0.1, 0.3)  # for agents of three step sizes, which are many settings
CLOSE = 1.5  # factor below which two values of a grid tell nothing new


def factor_of(name: str, agent: Any) -> float:
    """Return the ratio of an agent's own step size to that of the paper."""
    values = name in ("value_step", "action_step")
    return 2.0 if agent.interpretation.doubled_gradients and values else 1.0


def with_steps(agent: Any, steps: dict[str, float]) -> Any:
    """Return the agent with other step sizes of the paper."""
    own = {name: step * factor_of(name, agent) for name, step in steps.items()}
    return agent.replace(**{n: getattr(agent, n).replace(step=step) for n, step in own.items()})


def largest_step(name: str, trial: Trial) -> float:
    """The step that removes an error at once, beyond which it overshoots; a policy's has none."""
    active = trial.features.shape(trial.domain).active
    return 1.0 if name == "policy_step" else 1.0 / (active * factor_of(name, trial.agent))


def list_settings(trial: Trial) -> list[dict[str, float]]:
    """List the printed step sizes of an agent, then all others of the grid."""
    agent: Any = trial.agent
    names = [n for n in ("value_step", "action_step", "policy_step") if hasattr(agent, n)]
    names += ["model_step"] if getattr(agent, "model", None) == "expectation" else []
    printed = {name: getattr(agent, name).step / factor_of(name, agent) for name in names}
    grid = COARSE if len(names) > 2 else GRID
    largest = (largest_step(name, trial) for name in names)
    values = [(*grid, last) if last > CLOSE * grid[-1] else grid for last in largest]
    settings = [dict(zip(names, row, strict=True)) for row in product(*values)]
    return [printed, *(steps for steps in settings if steps != printed)]


def is_at_edge(name: str, value: float, tried: list[float], trial: Trial) -> bool:
    """True if there may be better steps beyond an end of the grid."""
    useful = name == "policy_step" or CLOSE * value <= largest_step(name, trial)
    return value == min(tried) or (value == max(tried) and useful)


def run_agents(trial: Trial, agents: dict[str, Any], runs: int, out: Path) -> ex.analysis.Panel:
    """Run agents in the domain, features and length of a trial, as one sweep."""
    names = ("domain", "features", "episodes", "bin", "seed", "step_limit")
    same: dict[str, Any] = {name: getattr(trial, name) for name in names}
    return ex.Sweep(name=trial.experiment, agents=agents, runs=runs, **same).run(out).panels()[0]


def mean_returns(panel: ex.analysis.Panel, keys: list[str], first: int = 0) -> np.ndarray:
    """Mean returns (settings, runs) from the ``first`` run on; bins count as in claims."""
    curves = clip_at_floor([panel.curves[key][first:] for key in keys], panel.floor)
    return np.stack([curve.mean(axis=1) for curve in curves])


def tune(trials: list[Trial], runs: int, out: Path) -> Iterator[dict[str, Any]]:
    """Choose the best setting of every agent of a panel, and compare it with the printed one."""
    settings, agents = dict[str, list[dict[str, float]]](), dict[str, Any]()
    for trial in trials:
        settings[trial.agent_key] = list_settings(trial)
        for number, steps in enumerate(settings[trial.agent_key]):
            agents[f"{trial.agent_key} {number}"] = with_steps(trial.agent, steps)
    panel, pairs, ranks = run_agents(trials[0], agents, runs, out / "grid"), {}, {}
    for key, tried in settings.items():
        means = trial_means(mean_returns(panel, [f"{key} {n}" for n, _ in enumerate(tried)]))
        pairs[key], ranks[key] = (0, best_index(means)), 1 + int((means > means[0]).sum())
    compared = [f"{key} {number}" for key, pair in pairs.items() for number in pair]
    panel = run_agents(trials[0], {n: agents[n] for n in compared}, runs + FRESH, out / "fresh")
    for trial in trials:
        key, margin = trial.agent_key, MARGINS.get(trial.experiment, 0.2)
        tried, best = settings[key], settings[key][pairs[key][1]]
        edges = [n for n in best if is_at_edge(n, best[n], [s[n] for s in tried], trial)]
        printed, other = mean_returns(panel, [f"{key} {n}" for n in pairs[key]], runs)
        behind = ex.analysis.assess(printed - other, ex.analysis.Statement(AT_LEAST, 0.0, margin))
        yield {
            "interpretation": trial.interpretation, "figure": trial.experiment,
            "panel": trial.panel, "agent": key, "label": trial.label, "printed": tried[0],
            "best": best, "at_edge": edges, "rank": ranks[key], "tried": len(tried),
            "printed_return": round(float(printed.mean()), 4),
            "best_return": round(float(other.mean()), 4),
            "behind": [round(x, 4) for x in (behind.effect, behind.low, behind.high)],
            "margin": margin, "verdict": behind.outcome, "finding": behind,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=30, help="runs that choose")
    parser.add_argument("--figure", action="append", help="one figure only; repeatable")
    parser.add_argument("--out", type=Path, default=Path("results/paper-parameters"))
    asked = parser.parse_args()
    choices, panels, verdicts = list[dict[str, Any]](), list[ex.analysis.Panel](), []
    figures = asked.figure or [name for name in STUDY.figures if name not in STUDY.only]
    for figure, interpretation in product(figures, STUDY.interpretations):
        trials = STUDY.experiment(figure, interpretation).trials(interpretation)
        out, first = asked.out / figure / interpretation, trials[0]
        episodes, width = min(EPISODES, first.episodes), min(EPISODES, first.bin)
        for name in dict.fromkeys(trial.panel for trial in trials):
            short = [replace(t, episodes=episodes, bin=width) for t in trials if t.panel == name]
            choices += tune(short, asked.runs, out / (name or "panel"))
        if figure in AT_BEST:  # figures of one panel
            best = {choice["agent"]: choice["best"] for choice in choices[-len(trials) :]}
            agents = {t.agent_key: with_steps(t.agent, best[t.agent_key]) for t in trials}
            panel = run_agents(first, agents, asked.runs + FRESH, out / "best")
            fresh = {key: curve[asked.runs :] for key, curve in panel.curves.items()}
            panels.append(replace(panel, interpretation=interpretation, curves=fresh))
    for interpretation in STUDY.interpretations:
        findings = [c["finding"] for c in choices if c["interpretation"] == interpretation]
        outcome, worst = ex.analysis.verdict(findings)
        about = {"id": CLAIM, "interpretation": interpretation, "verdict": outcome}
        verdicts.append({**about, "effect": worst.effect, "low": worst.low, "high": worst.high})
        print(f"claim {CLAIM} under {interpretation}: {outcome}")
    at_best = [v.to_dict() for v in judge_claims(STUDY.claims, panels, STUDY.sizes) if v.runs]
    content = {"choices": choices, "verdicts": verdicts, "at_best": at_best}
    (asked.out / "parameters.json").write_text(json.dumps(content, indent=1, default=str))


if __name__ == "__main__":
    main()
