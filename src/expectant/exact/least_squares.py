"""Least squares on transitions: LSTD, the linear model, and the values of a linear model.

Data are transitions in rows: features φ (n, d), rewards (n,), next features φ' (n, d), zero at the
end of an episode. On the same data, the values of the least-squares model are the LSTD solution
(Sutton et al. 2008; Parr et al. 2008).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.core.rules import between
from expectant.exact.dynamic_programming import as_array, as_frequencies


class LinearModel(NamedTuple):
    """``matrix`` (d, d) is F and ``rewards`` (d,) is b: s̄ = F s and r = bᵀ s."""

    matrix: np.ndarray
    rewards: np.ndarray


def lstd(
    features: ArrayLike,
    rewards: ArrayLike,
    next_features: ArrayLike,
    *,
    discount: float = 1.0,
    weights: ArrayLike | None = None,
) -> np.ndarray:
    """The fixed point θ (d,) of TD(0) on these transitions (Bradtke & Barto 1996).

    Solves Σ φ (φ − γ φ')ᵀ θ = Σ φ r, with minimal norm if θ is not unique. ``weights`` (n,) are
    frequencies of the transitions.
    """
    phi, reward, next_phi, share = _as_data("lstd", features, rewards, next_features, weights)
    discount = between(0, 1).check("lstd", "discount", discount)
    left = (phi * share).T @ (phi - discount * next_phi)
    return np.linalg.lstsq(left, (phi * share).T @ reward, rcond=None)[0]


def least_squares_model(
    features: ArrayLike,
    rewards: ArrayLike,
    next_features: ArrayLike,
    *,
    weights: ArrayLike | None = None,
) -> LinearModel:
    """The linear model with the least squared errors on these transitions."""
    owner = "least_squares_model"
    phi, reward, next_phi, share = _as_data(owner, features, rewards, next_features, weights)
    root = np.sqrt(share)
    targets = np.column_stack([next_phi, reward]) * root
    solution = np.linalg.lstsq(phi * root, targets, rcond=None)[0]
    return LinearModel(solution[:, :-1].T, solution[:, -1])


def model_values(model: LinearModel, *, discount: float = 1.0) -> np.ndarray:
    """θ* = (I − γ Fᵀ)⁻¹ b, the fixed point of planning with a linear model from any states."""
    discount = between(0, 1).check("model_values", "discount", discount)
    rewards = as_array("model_values", "rewards", model[1], (None,))
    matrix = as_array("model_values", "matrix", model[0], (rewards.size, rewards.size))
    try:
        return np.linalg.solve(np.eye(rewards.size) - discount * matrix.T, rewards)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"model_values: the model has no values at discount={discount:g}: I − γ Fᵀ is singular"
        ) from None


def _as_data(
    owner: str,
    features: ArrayLike,
    rewards: ArrayLike,
    next_features: ArrayLike,
    weights: ArrayLike | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Validate data; the weights become a column (n, 1)."""
    phi = as_array(owner, "features", features, (None, None))
    reward = as_array(owner, "rewards", rewards, phi.shape[:1])
    next_phi = as_array(owner, "next_features", next_features, phi.shape)
    return phi, reward, next_phi, as_frequencies(owner, "weights", weights, len(phi))[:, None]
