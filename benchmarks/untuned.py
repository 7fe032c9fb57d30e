"""What agents earn without any setting, on ten environments: docs/untuned.json, and its table.

Features are those that ``expectant try`` proposes; agents are made without arguments, with a sparse
model where there are many features. Beside them random play, and Q-learning with the step that was
best on other runs. No setting of the defaults was chosen here (``benchmarks/choose_defaults.py``).

    python benchmarks/untuned.py             # environments that are not stored yet
    python benchmarks/untuned.py NAME …      # these again
    python benchmarks/untuned.py --tables    # only writes the table of the page again
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ten_environments import TEN, Judged

import expectant as ex
from expectant.analysis.curves import interval
from expectant.analysis.paired import paired_difference
from expectant.features.random_play import play_at_random
from expectant.lab.trying.proposal import propose
from expectant.lab.trying.tried import NAMES, PLANNERS
from expectant.lab.trying.try_on import MANY_FEATURES, PLAY_EPISODES, default_agents

DOCS = Path(__file__).parents[1] / "docs"
sys.path.append(str(DOCS / "site"))
from guide import with_tables  # noqa: E402

STORED, PAGE = DOCS / "untuned.json", DOCS / "your-problem.md"
RUNS, SEED = 10, 1
TUNING_RUNS, TUNING_SEED = 3, 2
STEPS = (0.05, 0.1, 0.2, 0.5, 1.0)
LAST = 0.25  # of a run
ROWS = {"random": "random play", "q_learning": "Q-learning", "tuned": "Q-learning, tuned step"}
ROWS |= {kind: NAMES[kind] for kind in ("sarsa", *PLANNERS)}


def judged(judged: Judged) -> dict[str, Any]:
    """Everything that is stored of one environment."""
    domain, limit = judged.domain(), judged.step_limit
    seen = play_at_random(domain, PLAY_EPISODES, SEED)
    features = propose(domain, seen)
    agents = default_agents(features.shape(domain).size > MANY_FEATURES)

    def earned(agent: ex.Agent, runs: int, seed: int) -> Any:
        return ex.run(
            domain, features, agent, episodes=judged.episodes, runs=runs, seed=seed,
            step_limit=limit or domain.step_limit or 10_000, progress=False,
        )  # fmt: skip

    steps = {step: earned(agents["q_learning"].replace(action_step=step), TUNING_RUNS, TUNING_SEED)
             for step in STEPS}  # fmt: skip
    best = max(steps, key=lambda step: np.nan_to_num(steps[step].means.mean(), nan=-math.inf))
    made = {
        "random": ex.QLearning(0.0, epsilon=1.0),
        "tuned": agents["q_learning"].replace(action_step=best),
        **agents,
    }
    rows = {kind: row_of(earned(made[kind], RUNS, SEED)) for kind in ROWS}
    return {"episodes": judged.episodes, "features": repr(features), "tuned_step": best, **rows}


def row_of(result: Any) -> dict[str, Any]:
    """Mean returns of all runs, over all episodes and over the last ones, and how many steps."""
    last = max(1, int(LAST * result.returns.shape[1]))
    means, late = result.returns.mean(axis=1), result.returns[:, -last:].mean(axis=1)
    return {
        "means": [_short(mean) for mean in means],
        "last": [_short(mean) for mean in late],
        "steps": round(float(result.lengths.sum(axis=1).mean())),
        "diverged": int(result.diverged.sum()),
    }


def _short(number: float) -> float | None:
    return float(f"{number:.5g}") if math.isfinite(number) else None


def verdict(row: dict[str, Any], other: dict[str, Any]) -> str:
    """Whether an agent earns more than another in the same runs, by a paired interval of 95 %."""
    if row["diverged"] or other["diverged"]:
        return "less" if row["diverged"] else "more"
    found = paired_difference(np.array(row["means"]), np.array(other["means"]))
    return "more" if found.low > 0.0 else "less" if found.high < 0.0 else "alike"


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The tables of the page by their names."""
    made = {"untuned": _rows, "untuned-counts": _counts, "untuned-highest": _highest}
    return {name: "\n".join(make(stored)) for name, make in made.items()}


def _rows(stored: dict[str, Any]) -> Iterator[str]:
    yield "| environment | episodes | agent | mean return (95 %) | last quarter | steps a run | |"
    yield "|---|---|---|---|---|---|---|"
    for name, found in stored.items():
        for kind, label in ROWS.items():
            row = found[kind]
            tuned = f", {found['tuned_step']:g}" if kind == "tuned" else ""
            against = verdict(row, found["q_learning"]) if kind in (*PLANNERS, "sarsa") else ""
            lead = f"{name} | {found['episodes']:,}" if kind == "random" else " | "
            yield f"| {lead} | {label}{tuned} | {_mean(row)} | {row['steps']:,} | {against} |"


def _mean(row: dict[str, Any]) -> str:
    if row["diverged"]:
        return f"{row['diverged']} runs diverged | "
    mean, low, high = (float(each) for each in interval(np.array(row["means"])))
    places = max(0, 2 - math.floor(math.log10(max(abs(mean), high - low, 1e-9))))
    late = float(np.mean(row["last"]))
    return f"{mean:.{places}f} ({low:.{places}f} to {high:.{places}f}) | {late:.{places}f}"


def _counts(stored: dict[str, Any]) -> Iterator[str]:
    of = f"{len(stored)} of {len(TEN)} environments"
    yield f"| against untuned Q-learning, {of} | higher mean | surely more | surely less |"
    yield "|---|---|---|---|"
    for kind in ("sarsa", *PLANNERS):
        found = [(each[kind], each["q_learning"]) for each in stored.values()]
        higher = sum(mean_of(row) > mean_of(plain) for row, plain in found)
        sure = [verdict(row, plain) for row, plain in found]
        yield f"| {ROWS[kind]} | {higher} | {sure.count('more')} | {sure.count('less')} |"


def _highest(stored: dict[str, Any]) -> Iterator[str]:
    """Where every agent has the highest mean of those without settings, and how it compares."""
    kinds = ("q_learning", "sarsa", *PLANNERS)
    best = {
        name: max(kinds, key=lambda kind: mean_of(found[kind])) for name, found in stored.items()
    }
    yield f"| without settings, {len(stored)} environments | highest mean on |"
    yield "|---|---|"
    for kind in kinds:
        names = "; ".join(name for name, winner in best.items() if winner == kind)
        yield f"| {ROWS[kind]} | {names or 'none'} |"


def mean_of(row: dict[str, Any]) -> float:
    return -math.inf if row["diverged"] else float(np.mean(row["means"]))


def write_tables() -> None:
    PAGE.write_text(with_tables(PAGE.read_text(), tables(json.loads(STORED.read_text()))))


def main() -> None:
    wanted = [name for name in sys.argv[1:] if name != "--tables"]
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    missing = [name for name in TEN if name in wanted or (not wanted and name not in stored)]
    for name in [] if "--tables" in sys.argv else missing:
        stored[name] = judged(TEN[name])
        ordered = {name: stored[name] for name in TEN if name in stored}
        STORED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
        print(f"{name} is stored", flush=True)
    write_tables()


if __name__ == "__main__":
    main()
