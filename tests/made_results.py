"""Results made by hand, for tests of what is shown of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import expectant as ex


def result_of(returns: Any = (), *, rewards: Any = (), steps: int | None = None, **changes: Any):
    """A result with these returns (runs, episodes), or rewards (runs, bins) of so many steps."""
    table = np.array(returns if steps is None else rewards, float)
    settings: dict[str, Any] = {
        "returns": table if steps is None else np.zeros((table.shape[0], 0)),
        "lengths": np.ones(table.shape if steps is None else (table.shape[0], 0), np.int64),
        "rewards": np.zeros((table.shape[0], 0)) if steps is None else table,
        "diverged": np.isnan(table).any(axis=1),
        "domain": ex.Corridor(),
        "features": ex.OneHot(),
        "agent": ex.QLearning.paper(0.1),
        "seed": 0,
        "compile_seconds": 0.0,
        "seconds": 0.25,
        "steps": steps,
    }
    return ex.Result(**{**settings, **changes})
