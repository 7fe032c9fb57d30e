"""The sparse linear model against the dense one on the mountain car: speed, and what is learned.

python benchmarks/sparse.py           # what is learned; stores docs/measured/sparse.json
python benchmarks/sparse.py 648       # the same with so many features only
python docs/site/tables.py            # writes the table
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.engine.memory.refusal import TooLargeError
from expectant.models.columns import COUNT

STORED = Path(__file__).parents[1] / "docs" / "measured" / "sparse.json"
DOMAIN = ex.MountainCar()
EPISODES = 60
REPEATS = 3
SMALL, LARGER = 16, (111, 353)  # tiles a side: 2,312, 100,352 and 1,002,528 features
LEARNING_RUNS, LEARNING_EPISODES = {8: 120, 16: 60}, 100  # runs by the tiles a side
TILINGS, MODEL_STEP = 8, 0.2
DEFAULT = ex.SparseExpectation()
SETTINGS = (  # capacity and threshold
    (DEFAULT.capacity, DEFAULT.threshold),
    (2 * DEFAULT.capacity, DEFAULT.threshold),
    (4 * DEFAULT.capacity, 0.01),
)


def agent(model: str | ex.Model) -> ex.Lookahead:
    """Algorithm 1, optimistic enough to explore without ε."""
    steps: dict[str, Any] = {"model_step": MODEL_STEP} if isinstance(model, str) else {}
    return ex.Lookahead(
        value_step=0.2, step_unit="total", planning_steps=5, epsilon=0.0, model=model, **steps
    )  # fmt: skip


def features_of(tiles: int) -> int:
    """How many features 8 tilings of so many tiles a side have."""
    return ex.Tiles(TILINGS, tiles).shape(DOMAIN).size


def speeds(ours: Callable[..., Any], nanoseconds: Callable[..., float]) -> dict[str, float]:
    """Nanoseconds a step, by model and number of features; without what does not fit."""
    wanted = [("dense", "expectation", SMALL), ("sparse", "sparse", SMALL)]
    wanted += [("sparse", "sparse", tiles) for tiles in LARGER]
    measures = {}
    for name, model, tiles in wanted:
        try:
            run = ours(DOMAIN, ex.Tiles(TILINGS, tiles), agent(model), EPISODES, 200)
        except TooLargeError:
            continue
        measures[f"{name} {features_of(tiles)}"] = run
    times = dict.fromkeys(measures, float("inf"))
    for _ in range(REPEATS):
        for name, measure in measures.items():
            times[name] = min(times[name], nanoseconds(measure, 1))
    return times


def learning(tiles: int) -> dict[str, Any]:
    """Steps an episode in the second half: dense, sparse, and how they differ run by run."""
    dense = _late_steps(_learned(tiles, "expectation"))
    rows = []
    for capacity, threshold in SETTINGS:
        model = ex.SparseExpectation(MODEL_STEP / TILINGS, capacity, threshold)
        result = _learned(tiles, model)
        rows.append({
            "capacity": capacity,
            "threshold": threshold,
            "steps": ex.analysis.interval(_late_steps(result)),
            "apart": ex.analysis.interval(_late_steps(result) - dense),
            "entries": _entries(result),
            "evicted": float(result.evicted.mean()),
        })  # fmt: skip
    return {
        "features": features_of(tiles), "runs": LEARNING_RUNS[tiles],
        "dense": ex.analysis.interval(dense), "sparse": rows,
    }  # fmt: skip


def _learned(tiles: int, model: str | ex.Model) -> ex.Result:
    return ex.run(
        DOMAIN, ex.Tiles(TILINGS, tiles), agent(model), episodes=LEARNING_EPISODES,
        runs=LEARNING_RUNS[tiles], keep_agents=not isinstance(model, str), progress=False,
    )  # fmt: skip


def _late_steps(result: ex.Result) -> np.ndarray:
    late: np.ndarray = result.lengths[:, LEARNING_EPISODES // 2 :].mean(axis=1)
    return late


def _entries(result: ex.Result) -> float:
    """How many entries a column has that has any."""
    counts = [run.agent.planner.model.columns.headers[..., COUNT] for run, _ in result.kept]
    return float(sum(each.sum() for each in counts) / sum((each > 0).sum() for each in counts))


def tables(stored: list[dict[str, Any]]) -> dict[str, str]:
    """The table of what is learned, by its name."""
    heads = "features | runs | capacity | threshold | steps an episode | sparse − dense"
    lines = [f"| {heads} | entries a column | evicted |", "|---|---|---|---|---|---|---|---|"]
    for size in stored:
        lead = f"{size['features']:,} | {size['runs']}"
        lines.append(
            f"| {lead} | dense | | {_interval(size['dense'])} | | {size['features']:,} | |"
        )
        for row in size["sparse"]:
            cells = " | ".join(map(_interval, (row["steps"], row["apart"])))
            counts = f"{row['entries']:.0f} | {row['evicted']:,.0f}"
            lines.append(f"| | | {row['capacity']} | {row['threshold']:g} | {cells} | {counts} |")
    return {"sparse": "\n".join(lines)}


def _interval(found: list[float]) -> str:
    mean, low, high = found
    return f"{mean:.1f} ({low:.1f} to {high:.1f})".replace("-", "−")


def main() -> None:
    """Store what is learned; docs/site/tables.py writes the table."""
    wanted = {int(word) for word in sys.argv[1:]}
    stored = json.loads(STORED.read_text("utf-8")) if STORED.exists() else []
    found = {row["features"]: row for row in stored}
    for tiles in LEARNING_RUNS:
        if not wanted or features_of(tiles) in wanted:
            found[features_of(tiles)] = learning(tiles)
            rows = [found[size] for size in sorted(found)]
            STORED.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
