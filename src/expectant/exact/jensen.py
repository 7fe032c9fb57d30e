"""What planning with means loses where values are not linear: E[v̂(S')] − v̂(s̄)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from expectant.exact.fixed_points import feature_rows
from expectant.exact.solve import dynamics, expected_next
from expectant.parts import Domain


def jensen_gap(
    domain: Domain,
    value: np.ndarray | Callable[[np.ndarray], np.ndarray],
    *,
    features: np.ndarray | None = None,
    phase: int = 0,
) -> np.ndarray:
    """E[v̂(S')] − v̂(s̄(s, a)) for every state and action: (S, A), times γ AVI's bracket less LEVI's.

    ``value`` is v̂: weights (d,), for which the gap is zero, or a function from feature vectors
    (n, d) to their values (n,), such as ``Learner.value_of``. ``features`` (S, d) are the vectors
    of all states (None: one-hot). The end is a vector of zeros in s̄ and has no value, as in a
    zero-terminal model. The name is Jensen's, whose inequality says that the gap is never positive
    where v̂ is concave.
    """
    world = dynamics(domain, phase)
    rows = feature_rows(features, world.rewards.shape[0])
    values = _asked(value, rows)
    means = expected_next(world, rows)
    at_means = _asked(value, means.reshape(-1, rows.shape[1])).reshape(means.shape[:2])
    return expected_next(world, values) - at_means


def _asked(value: Any, vectors: np.ndarray) -> np.ndarray:
    """v̂ of feature vectors, whichever way it is given."""
    if not callable(value):
        weights = np.asarray(value, float)
        if weights.shape != vectors.shape[1:]:
            raise ValueError(
                f"jensen_gap: value must be {vectors.shape[1:]} weights or a function of feature "
                f"vectors, got weights of the shape {weights.shape}"
            )
        return vectors @ weights
    found = np.asarray(value(vectors), float)
    if found.shape != vectors.shape[:1]:
        raise ValueError(
            f"jensen_gap: value must return {vectors.shape[:1]} values of as many feature vectors, "
            f"got the shape {found.shape}"
        )
    return found
