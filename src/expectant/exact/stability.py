"""When planning converges: the spectral radius of its expected update."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.rules import at_least, between, one_of

UPDATES = ("levi", "gradient", "gtd2")


class PlanningRadius(NamedTuple):
    """What one expected planning update does to errors, in the direction that shrinks least.

    ``radius`` below 1 means that planning converges, above 1 that it runs away. LEVI converges with
    any value step below ``largest_step``, and with none if that is 0 (NaN for other updates).
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
    """Whether planning with the linear model s̄ = F_a s converges from a distribution of states.

    ``transitions`` (A, d, d) are the F_a, ``rewards`` (A, d) the b_a; ``states`` (n, d) are planned
    from as often as ``state_weights`` (n,) say (None: equally). Which action is the best in a state
    is that of the values w = ``weights`` (d,), without which there must be one action. With these
    actions the mean update is linear in w (and h), and its largest eigenvalue decides. Step sizes
    are those of every active feature.
    """
    owner = "planning_radius"
    one_of(*UPDATES).check(owner, "update", update)
    step = at_least(0.0).check(owner, "value_step", value_step)
    helper_step = at_least(0.0).check(owner, "correction_step", correction_step)
    discount = between(0, 1).check(owner, "discount", discount)
    matrices, rows = _arrays(transitions, states)
    promised = np.einsum("aij,nj->nai", matrices, rows)
    chosen = _chosen(promised, rows, rewards, weights, discount)
    expected = promised[np.arange(len(rows)), chosen]
    shares = _shares(state_weights, len(rows))
    return radius_of(rows, expected, shares, step, discount, update, helper_step)


def radius_of(
    states: np.ndarray,
    expected: np.ndarray,
    shares: np.ndarray,
    value_step: float,
    discount: float,
    update: str = "levi",
    correction_step: float = 0.01,
) -> PlanningRadius:
    """The same from states s (n, d), their s̄ (n, d) and how often each is planned from (n,)."""
    weighted = states * shares[:, None]
    slope = weighted.T @ (states - discount * expected)  # A: the mean update is −α (A w − c)
    if update == "levi":
        return PlanningRadius(_radius(value_step * slope), _largest_step(slope))
    scatter, led = weighted.T @ states, discount * expected.T @ weighted
    first = [slope, led] if update == "gradient" else [np.zeros_like(slope), -slope.T]
    system = np.block([[value_step * part for part in first],
                       [correction_step * part for part in (slope, scatter)]])  # fmt: skip
    return PlanningRadius(_radius(system), np.nan)


def _eigenvalues(system: np.ndarray) -> np.ndarray:
    """All but those of directions in which nothing moves."""
    values = np.linalg.eigvals(system)
    return values[np.abs(values) > 1e-12 * max(1.0, float(np.abs(system).max()))]


def _radius(system: np.ndarray) -> float:
    """The largest |1 − λ|."""
    return float(np.abs(1.0 - _eigenvalues(system)).max(initial=0.0))


def _largest_step(slope: np.ndarray) -> float:
    values = _eigenvalues(slope)
    return float(max(0.0, (2.0 * values.real / np.abs(values) ** 2).min(initial=np.inf)))


def _arrays(transitions: ArrayLike, states: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    matrices, rows = np.asarray(transitions, float), np.asarray(states, float)
    if matrices.ndim == 2:
        matrices = matrices[None]
    size = matrices.shape[-1]
    if matrices.ndim != 3 or matrices.shape[1] != size:
        raise ValueError(f"planning_radius: transitions must be (A, d, d), got {matrices.shape}")
    if rows.ndim != 2 or rows.shape[1] != size or not len(rows):
        raise ValueError(f"planning_radius: states must be (n, {size}) rows, got {rows.shape}")
    if not (np.isfinite(matrices).all() and np.isfinite(rows).all()):
        raise ValueError("planning_radius: transitions and states must be finite")
    return matrices, rows


def _chosen(
    promised: np.ndarray,
    rows: np.ndarray,
    rewards: ArrayLike | None,
    weights: ArrayLike | None,
    discount: float,
) -> np.ndarray:
    """The best action of every state."""
    actions = promised.shape[1]
    if weights is None:
        if actions > 1:
            raise ValueError(
                f"planning_radius: weights (d,) must say which of {actions} actions is the best"
            )
        return np.zeros(len(rows), int)
    values = discount * promised @ np.asarray(weights, float)
    if rewards is not None:
        values = values + rows @ np.asarray(rewards, float).reshape(actions, -1).T
    return values.argmax(axis=1)


def _shares(state_weights: ArrayLike | None, count: int) -> np.ndarray:
    shares = np.ones(count) if state_weights is None else np.asarray(state_weights, float)
    if shares.shape != (count,) or not (shares >= 0).all() or shares.sum() == 0:
        raise ValueError(f"planning_radius: state_weights must be {count} numbers, 0 or more")
    return shares / shares.sum()
