"""What the sparse linear model learns on the mountain car, compared with the dense one.

python benchmarks/sparse.py           # stores docs/measured/sparse.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import expectant as ex
from expectant.models.sparse_columns import COUNT

STORED = Path(__file__).parents[1] / "docs" / "measured" / "sparse.json"
DOMAIN, TILINGS, MODEL_STEP = ex.MountainCar(), 8, 0.2
RUNS, EPISODES = {8: 120, 16: 60}, 100  # runs by the tiles a side
DEFAULT = ex.models.SparseExpectation()
SETTINGS = (  # capacity and threshold
    (DEFAULT.capacity, DEFAULT.threshold),
    (2 * DEFAULT.capacity, DEFAULT.threshold),
    (4 * DEFAULT.capacity, 0.01),
)


def learn(tiles: int, model: str | ex.Model) -> tuple[ex.Result, np.ndarray]:
    """Run Algorithm 1, optimistic enough to explore without ε; return late steps an episode."""
    steps: dict[str, Any] = {"model_step": MODEL_STEP} if isinstance(model, str) else {}
    agent = ex.Lookahead.paper(0.2, step_unit="total", epsilon=0.0, model=model, **steps)
    result = ex.run(DOMAIN, ex.Tiles(TILINGS, tiles), agent, episodes=EPISODES, runs=RUNS[tiles],
                    keep_agents=not isinstance(model, str), progress=False)  # fmt: skip
    return result, result.lengths[:, EPISODES // 2 :].mean(axis=1)


def entries(result: ex.Result) -> float:
    """Return how many entries a column has that has any."""
    counts = [run.agent.planner.model.columns.headers[..., COUNT] for run, _ in result.kept]
    return float(sum(each.sum() for each in counts) / sum((each > 0).sum() for each in counts))


def compare(tiles: int) -> list[dict[str, Any]]:
    """Compare steps an episode in the second half, run by run."""
    size = ex.Tiles(TILINGS, tiles).shape(DOMAIN).size
    where = {"features": size, "runs": RUNS[tiles]}
    _, dense = learn(tiles, "expectation")
    steps = ex.analysis.interval(dense)
    rows = [{**where, "capacity": "dense", "steps": steps, "entries": size}]
    for capacity, threshold in SETTINGS:
        model = ex.models.SparseExpectation(MODEL_STEP, capacity, threshold)
        result, late = learn(tiles, model)
        rows.append({
            **where, "capacity": capacity, "threshold": threshold,
            "steps": ex.analysis.interval(late), "apart": ex.analysis.interval(late - dense),
            "entries": entries(result), "evicted": float(result.evicted.mean()),
        })  # fmt: skip
    return rows


if __name__ == "__main__":
    found = [row for tiles in RUNS for row in compare(tiles)]
    STORED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
