"""Stability of planning with LEVI: the spectral radius of its expected update."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.rules import at_least, between
from expectant.exact.dynamic_programming import as_array, as_frequencies


class PlanningRadius(NamedTuple):
    """Spectral ``radius`` of an expected backup: planning converges if it is below 1.

    It converges with value steps below ``largest_step``, with none if that is 0.
    """

    radius: float
    largest_step: float


def planning_radius(
    states: ArrayLike,
    expected: ArrayLike,
    *,
    value_step: float,
    discount: float = 1.0,
    state_weights: ArrayLike | None = None,
) -> PlanningRadius:
    """The spectral radius of w ← w − α (A w − c), A = Σ d(s) s (s − γ s̄)ᵀ.

    Rows of ``states`` (n, d) are planned from with frequencies d(s), ``state_weights`` (n,) (None:
    equal); rows of ``expected`` (n, d) are the mean next states s̄ of their greedy actions, which
    are held fixed. The step size is per active feature.
    """
    owner = "planning_radius"
    step = at_least(0.0).check(owner, "value_step", value_step)
    discount = between(0, 1).check(owner, "discount", discount)
    rows = as_array(owner, "states", states, (None, None))
    means = as_array(owner, "expected", expected, rows.shape)
    shares = as_frequencies(owner, "state_weights", state_weights, len(rows))
    slope = (rows * (shares / shares.sum())[:, None]).T @ (rows - discount * means)
    values = np.linalg.eigvals(slope)
    values = values[np.abs(values) > 1e-12 * max(1.0, float(np.abs(slope).max()))]
    largest_step = (2.0 * values.real / np.abs(values) ** 2).min(initial=np.inf)
    radius = float(np.abs(1.0 - step * values).max(initial=0.0))
    return PlanningRadius(radius, float(max(0.0, largest_step)))
