"""Stability of planning: the spectral radius of its expected update."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.rules import at_least, between, one_of

UPDATES = ("levi", "gradient", "gtd2")


class PlanningRadius(NamedTuple):
    """Spectral ``radius`` of one expected planning update: below 1 planning converges.

    LEVI converges with value steps below ``largest_step``, with none if that is 0 (NaN for other
    updates).
    """

    radius: float
    largest_step: float

    @property
    def converges(self) -> bool:
        return self.radius < 1.0


def planning_radius(
    transitions: ArrayLike,
    states: ArrayLike,
    *,
    value_step: float,
    rewards: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    discount: float = 1.0,
    state_weights: ArrayLike | None = None,
    update: str = "levi",
    correction_step: float = 0.01,
) -> PlanningRadius:
    """The spectral radius of planning with the linear model s̄ = F_a s from a set of states.

    ``transitions`` (A, d, d) are the F_a and ``rewards`` (A, d) the b_a; ``states`` (n, d) are
    planned from with frequencies ``state_weights`` (n,) (None: equal). The greedy actions are those
    of the values w = ``weights`` (d,), which are needed if there are several actions. For fixed
    greedy actions the expected update is linear in w (and h). Step sizes are per active feature.
    """
    owner = "planning_radius"
    one_of(*UPDATES).check(owner, "update", update)
    step = at_least(0.0).check(owner, "value_step", value_step)
    helper_step = at_least(0.0).check(owner, "correction_step", correction_step)
    discount = between(0, 1).check(owner, "discount", discount)
    matrices, rows = np.asarray(transitions, float), np.asarray(states, float)
    if matrices.ndim == 2:
        matrices = matrices[None]
    size = matrices.shape[-1]
    if matrices.ndim != 3 or matrices.shape[1] != size:
        raise ValueError(f"{owner}: transitions must be (A, d, d), got {matrices.shape}")
    if rows.ndim != 2 or rows.shape[1] != size or not len(rows):
        raise ValueError(f"{owner}: states must be (n, {size}) rows, got {rows.shape}")
    if not (np.isfinite(matrices).all() and np.isfinite(rows).all()):
        raise ValueError(f"{owner}: transitions and states must be finite")
    expected = np.einsum("aij,nj->nai", matrices, rows)
    greedy = _greedy_actions(expected, rows, rewards, weights, discount)
    shares = np.ones(len(rows)) if state_weights is None else np.asarray(state_weights, float)
    if shares.shape != (len(rows),) or not (shares >= 0).all() or shares.sum() == 0:
        raise ValueError(f"{owner}: state_weights must be {len(rows)} numbers, 0 or more")
    expected = expected[np.arange(len(rows)), greedy]
    return update_radius(rows, expected, shares / shares.sum(), step, discount, update, helper_step)


def update_radius(
    states: np.ndarray,
    expected: np.ndarray,
    shares: np.ndarray,
    value_step: float,
    discount: float,
    update: str = "levi",
    correction_step: float = 0.01,
) -> PlanningRadius:
    """The spectral radius for states s (n, d), their s̄ (n, d) and frequencies ``shares`` (n,)."""
    weighted = states * shares[:, None]
    slope = weighted.T @ (states - discount * expected)  # A: the expected update is −α (A w − c)
    if update == "levi":
        values = _eigenvalues(slope)
        largest_step = (2.0 * values.real / np.abs(values) ** 2).min(initial=np.inf)
        return PlanningRadius(_radius(value_step * slope), float(max(0.0, largest_step)))
    scatter, led = weighted.T @ states, discount * expected.T @ weighted
    first = [slope, led] if update == "gradient" else [np.zeros_like(slope), -slope.T]
    system = np.block([[value_step * part for part in first],
                       [correction_step * part for part in (slope, scatter)]])  # fmt: skip
    return PlanningRadius(_radius(system), np.nan)


def _eigenvalues(system: np.ndarray) -> np.ndarray:
    """Eigenvalues other than zero, whose directions no update changes."""
    values = np.linalg.eigvals(system)
    return values[np.abs(values) > 1e-12 * max(1.0, float(np.abs(system).max()))]


def _radius(system: np.ndarray) -> float:
    """The largest |1 − λ|."""
    return float(np.abs(1.0 - _eigenvalues(system)).max(initial=0.0))


def _greedy_actions(
    expected: np.ndarray,
    rows: np.ndarray,
    rewards: ArrayLike | None,
    weights: ArrayLike | None,
    discount: float,
) -> np.ndarray:
    """Greedy action (n,) of every state, given s̄ (n, A, d) of all actions."""
    actions = expected.shape[1]
    if weights is None:
        if actions > 1:
            raise ValueError(
                f"planning_radius: weights (d,) must say which of {actions} actions is the best"
            )
        return np.zeros(len(rows), int)
    values = discount * expected @ np.asarray(weights, float)
    if rewards is not None:
        values = values + rows @ np.asarray(rewards, float).reshape(actions, -1).T
    return values.argmax(axis=1)
