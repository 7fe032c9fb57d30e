"""The sparse linear model against the dense one on the mountain car: speed, and what is learned.

python benchmarks/sparse.py     # what is learned; stores docs/measured/sparse.json
python docs/site/tables.py      # writes the table
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import expectant as ex
from expectant.engine.memory.refusal import TooLargeError
from expectant.models.columns import COUNT

STORED = Path(__file__).parents[1] / "docs" / "measured" / "sparse.json"
DOMAIN = ex.MountainCar()
EPISODES = 60
REPEATS = 3
SMALL, LARGER = 16, (111, 353)  # tiles a side: 2,312, 100,352 and 1,002,528 features
LEARNING_TILES, LEARNING_EPISODES, LEARNING_RUNS = (8, 16), 100, 30


def agent(model: str) -> ex.Lookahead:
    """Algorithm 1, optimistic enough to explore without ε."""
    return ex.Lookahead(
        value_step=0.2,
        model_step=0.2,
        step_unit="total",
        planning_steps=5,
        epsilon=0.0,
        model=model,
    )


def features_of(tiles: int) -> int:
    """How many features 8 tilings of so many tiles a side have."""
    return ex.Tiles(8, tiles).shape(DOMAIN).size


def speeds(ours: Callable[..., Any], nanoseconds: Callable[..., float]) -> dict[str, float]:
    """Nanoseconds a step, by model and number of features; without what does not fit."""
    wanted = [("dense", "expectation", SMALL), ("sparse", "sparse", SMALL)]
    wanted += [("sparse", "sparse", tiles) for tiles in LARGER]
    measures = {}
    for name, model, tiles in wanted:
        try:
            run = ours(DOMAIN, ex.Tiles(8, tiles), agent(model), EPISODES, 200)
        except TooLargeError:
            continue
        measures[f"{name} {features_of(tiles)}"] = run
    times = dict.fromkeys(measures, float("inf"))
    for _ in range(REPEATS):
        for name, measure in measures.items():
            times[name] = min(times[name], nanoseconds(measure, 1))
    return times


def learning(tiles: int) -> dict[str, Any]:
    """Steps an episode in the second half, dense and sparse, and how they differ run by run."""
    found = {}
    for model in ("expectation", "sparse"):
        result = ex.run(
            DOMAIN, ex.Tiles(8, tiles), agent(model), episodes=LEARNING_EPISODES,
            runs=LEARNING_RUNS, keep_agents=model == "sparse", progress=False,
        )  # fmt: skip
        found[model] = result.lengths[:, LEARNING_EPISODES // 2 :].mean(axis=1)
    counts = [run.agent.planner.model.columns.headers[..., COUNT] for run, _ in result.kept]
    entries = sum(count.sum() for count in counts) / sum((count > 0).sum() for count in counts)
    return {
        "features": features_of(tiles),
        "dense": ex.analysis.interval(found["expectation"]),
        "sparse": ex.analysis.interval(found["sparse"]),
        "apart": ex.analysis.interval(found["sparse"] - found["expectation"]),
        "entries": float(entries),
        "evicted": float(result.evicted.mean()),
    }


def tables(stored: list[dict[str, Any]]) -> dict[str, str]:
    """The table of what is learned, by its name."""
    lines = ["| features | dense | sparse | sparse − dense | entries a column | evicted |"]
    lines.append("|---|---|---|---|---|---|")
    for row in stored:
        cells = " | ".join(map(_interval, (row["dense"], row["sparse"], row["apart"])))
        counts = f"{row['entries']:.0f} | {row['evicted']:,.0f}"
        lines.append(f"| {row['features']:,} | {cells} | {counts} |")
    return {"sparse": "\n".join(lines)}


def _interval(found: list[float]) -> str:
    mean, low, high = found
    return f"{mean:.1f} ({low:.1f} to {high:.1f})".replace("-", "−")


def main() -> None:
    """Store what is learned; docs/site/tables.py writes the table."""
    rows = [learning(tiles) for tiles in LEARNING_TILES]
    STORED.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
