"""The table on the mountain car: what examples/mountain_car.py finds in 30 runs of 200 episodes.

python docs/site/car_table.py     # runs it and stores what came out
python docs/site/tables.py        # writes the table
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "measured" / "mountain-car.json"
RUNS, EPISODES = 30, 200


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The table by its name."""
    return {"mountain-car": "\n".join(_rows(stored))}


def _rows(stored: dict[str, Any]) -> Iterator[str]:
    heads = ("agent", "steps in total of each update", "steps an episode, last half")
    yield f"| {' | '.join(heads)} | real steps to the level |"
    yield "|---|---|---|---|"
    for name, found in stored.items():
        late, needed = found["late"], found["needed"]
        yield (
            f"| {name} | {found['settings']} | {late[0]:.1f} ({late[1]:.1f} to {late[2]:.1f}) | "
            f"{needed[0]:,.0f} ({needed[1]:,.0f} to {needed[2]:,.0f}) |"
        )


def _measured() -> Iterator[tuple[str, dict[str, Any]]]:
    sys.path.insert(0, str(ROOT / "examples"))
    import mountain_car as car
    import numpy as np

    import expectant as ex

    for name, agent in car.agents.items():
        result = ex.run(car.domain, car.features, agent, episodes=EPISODES, runs=RUNS)
        steps = {
            key: value for key, value in agent.to_dict().items()
            if key.endswith("_step") and key not in ("bounded_step", "correction_step")
        }  # fmt: skip
        needed = np.array([car.steps_to_level(row) for row in result.lengths])
        yield (
            name,
            {
                "settings": ", ".join(f"{key[:-5]} {value}" for key, value in steps.items()),
                "late": ex.analysis.interval(result.lengths[:, EPISODES // 2 :].mean(axis=1)),
                "needed": ex.analysis.interval(needed),
            },
        )


if __name__ == "__main__":
    STORED.write_text(json.dumps(dict(_measured()), indent=1) + "\n")
