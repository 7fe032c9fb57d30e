"""Would the printed step sizes be chosen? Run a grid of them for every agent of every figure.

    python parameter_study.py --runs 30 --out results/paper-parameters --figure 5a

Every agent is run over a grid of its step sizes, as long as in the paper's parameter study, under
each interpretation. These runs choose the best by mean return; fresh runs compare it with the
printed one, and judge figure 5 with every agent at its best. Interrupted, the study resumes.
"""

from __future__ import annotations

import argparse
import json
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

STUDY = read_study(Path(__file__).parent)
CLAIM, AT_BEST = 22, ("5a", "5b")  # that printed steps are the best; figures judged at the best
EPISODES, RUNS, FRESH = 1_000, 30, 100
MARGINS = {"1": 0.05, "3": 0.3}  # of a return, below which a difference does not matter; else 0.2
GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
COARSE = (0.001, 0.01, 0.03, 0.1, 0.3)  # for agents of three step sizes, which are many settings
CLOSE = 1.5  # factor below which two values of a grid tell nothing new
Steps = dict[str, float]


def largest_step(name: str, trial: Trial) -> float:
    """The step that removes an error at once, beyond which it overshoots; a policy's has none."""
    active = trial.features.shape(trial.domain).active
    return 1.0 if name == "policy_step" else 1.0 / (active * factor_of(name, trial.agent))


def factor_of(name: str, agent: Any) -> float:
    """How many times the step size of the paper an agent's own is."""
    return 2.0 if agent.interpretation.doubled_gradients and name != "policy_step" else 1.0


def with_steps(agent: Any, steps: Steps) -> Any:
    """Return the agent with other step sizes of the paper."""
    changed = {
        name: getattr(agent, name).replace(step=step * factor_of(name, agent))
        for name, step in steps.items()
    }
    return agent.replace(**changed)


def list_settings(trial: Trial) -> list[Steps]:
    """List the printed step sizes of an agent, then all others of the grid."""
    names = [n for n in ("value_step", "action_step", "policy_step") if hasattr(trial.agent, n)]
    names += ["model_step"] if getattr(trial.agent, "model", None) == "expectation" else []
    agent: Any = trial.agent
    printed = {name: getattr(agent, name).step / factor_of(name, agent) for name in names}
    grid = COARSE if len(names) > 2 else GRID
    largest = [largest_step(name, trial) for name in names]
    values = [(*grid, last) if last > CLOSE * grid[-1] else grid for last in largest]
    settings = [dict(zip(names, row, strict=True)) for row in product(*values)]
    return [printed, *(steps for steps in settings if steps != printed)]


def is_at_edge(name: str, value: float, settings: list[Steps], trial: Trial) -> bool:
    """True if there may be better steps beyond an end of the grid."""
    tried = [steps[name] for steps in settings]
    useful = name == "policy_step" or CLOSE * value <= largest_step(name, trial)
    return value == min(tried) or (value == max(tried) and useful)


def run_agents(trial: Trial, agents: dict[str, Any], runs: int, out: Path) -> ex.analysis.Panel:
    """Run agents in the domain, features and length of a trial, as one sweep."""
    sweep = ex.Sweep(
        name=trial.experiment, domain=trial.domain, features=trial.features, agents=agents,
        runs=runs, episodes=trial.episodes, bin=trial.bin, seed=trial.seed,
        step_limit=trial.step_limit,
    )  # fmt: skip
    (panel,) = sweep.run(out).panels()
    return panel


def mean_returns(panel: ex.analysis.Panel, keys: list[str], first: int = 0) -> np.ndarray:
    """Mean returns (settings, runs) from the ``first`` run on; bins count as in claims."""
    curves = clip_at_floor([panel.curves[key][first:] for key in keys], panel.floor)
    return np.stack([curve.mean(axis=1) for curve in curves])


def tune(trials: list[Trial], interpretation: str, runs: int, out: Path) -> list[dict[str, Any]]:
    """Choose the best setting of every agent of a panel, and compare it with the printed one."""
    settings = {trial.agent_key: list_settings(trial) for trial in trials}
    described = {
        f"{trial.agent_key} {number}": with_steps(trial.agent, steps)
        for trial in trials
        for number, steps in enumerate(settings[trial.agent_key])
    }
    panel = run_agents(trials[0], described, runs, out / "grid")
    means = {
        key: trial_means(mean_returns(panel, [f"{key} {n}" for n, _ in enumerate(tried)]))
        for key, tried in settings.items()
    }
    pairs = {key: [f"{key} 0", f"{key} {best_index(means[key])}"] for key in settings}
    compared = {name: described[name] for pair in pairs.values() for name in pair}
    panel = run_agents(trials[0], compared, runs + FRESH, out / "fresh")
    choices = []
    for trial in trials:
        key, margin = trial.agent_key, MARGINS.get(trial.experiment, 0.2)
        tried, best = settings[key], settings[key][best_index(means[key])]
        printed, other = mean_returns(panel, pairs[key], runs)
        behind = ex.analysis.assess(printed - other, ex.analysis.Statement(AT_LEAST, 0.0, margin))
        choices.append({
            "interpretation": interpretation, "figure": trial.experiment, "panel": trial.panel,
            "agent": key, "label": trial.label, "printed": tried[0], "best": best,
            "at_edge": [n for n, value in best.items() if is_at_edge(n, value, tried, trial)],
            "rank": 1 + int((means[key] > means[key][0]).sum()), "tried": len(tried),
            "printed_return": round(float(printed.mean()), 4),
            "best_return": round(float(other.mean()), 4),
            "behind": [round(x, 4) for x in (behind.effect, behind.low, behind.high)],
            "margin": margin, "verdict": behind.outcome, "finding": behind,
        })  # fmt: skip
        print(f"{interpretation} {trial.experiment} {trial.label}: printed {tried[0]}, best {best}")
    return choices


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="runs that choose")
    parser.add_argument("--figure", action="append", help="one figure only; repeatable")
    parser.add_argument("--out", type=Path, default=Path("results/paper-parameters"))
    asked = parser.parse_args()
    choices, panels, verdicts = [], [], []
    figures = asked.figure or [name for name in STUDY.figures if name not in STUDY.only]
    for figure, interpretation in product(figures, STUDY.interpretations):
        trials, out = (
            STUDY.experiment(figure, interpretation).trials(),
            asked.out / figure / interpretation,
        )
        episodes, width = min(EPISODES, trials[0].episodes), min(EPISODES, trials[0].bin)
        for panel in dict.fromkeys(trial.panel for trial in trials):
            short = [replace(c, episodes=episodes, bin=width) for c in trials if c.panel == panel]
            choices += tune(short, interpretation, asked.runs, out / (panel or "panel"))
        if figure in AT_BEST:  # figures of one panel
            best = {choice["agent"]: choice["best"] for choice in choices[-len(trials) :]}
            agents = {c.agent_key: with_steps(c.agent, best[c.agent_key]) for c in trials}
            found = run_agents(trials[0], agents, asked.runs + FRESH, out / "best")
            fresh = {key: curve[asked.runs :] for key, curve in found.curves.items()}
            panels.append(replace(found, interpretation=interpretation, curves=fresh))
    for interpretation in STUDY.interpretations:
        findings = [
            choice["finding"] for choice in choices if choice["interpretation"] == interpretation
        ]
        outcome, worst = ex.analysis.verdict(findings)
        numbers = {"effect": worst.effect, "low": worst.low, "high": worst.high}
        verdicts.append(
            {"id": CLAIM, "interpretation": interpretation, "verdict": outcome, **numbers}
        )
        print(f"claim {CLAIM} under {interpretation}: {outcome}")
    judged = judge_claims(STUDY.claims, panels, STUDY.sizes)
    at_best = [verdict.to_dict() for verdict in judged if verdict.runs]
    content = {"choices": choices, "verdicts": verdicts, "at_best": at_best}
    text = json.dumps(content, indent=1, ensure_ascii=False, default=str)
    (asked.out / "parameters.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
