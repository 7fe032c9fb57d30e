"""Update targets of the paper on plain arrays, as references for models and theorems.

For one state and all its actions: expected ``rewards`` (A,); ``probabilities`` (A, n) of n
successors with ``features`` (n, d), where missing mass is termination; ``expected`` (A, d), s̄ of a
zero-terminal expectation model; ``survivors`` (A, d), ŝ, and ``endings`` (A,), β, of a general
episodic one. ``weights`` are (d,) for state values, (A, d) for action values.
"""

from __future__ import annotations

import numpy as np


def avi(
    rewards: np.ndarray,
    probabilities: np.ndarray,
    features: np.ndarray,
    weights: np.ndarray,
    discount: float,
) -> float:
    """Approximate value iteration: max_a [r + γ Σ p(s' | s, a) wᵀs']."""
    return float((rewards + discount * probabilities @ (features @ weights)).max())


def evi(
    rewards: np.ndarray,
    survivors: np.ndarray,
    endings: np.ndarray,
    weights: np.ndarray,
    discount: float,
) -> float:
    """Expectation value iteration: max_a [r + γ (1 − β) wᵀŝ]."""
    return float((rewards + discount * (1.0 - endings) * (survivors @ weights)).max())


def levi(rewards: np.ndarray, expected: np.ndarray, weights: np.ndarray, discount: float) -> float:
    """Linear expectation value iteration: max_a [r + γ wᵀs̄]."""
    return float((rewards + discount * expected @ weights).max())


def aavi(
    rewards: np.ndarray,
    probabilities: np.ndarray,
    features: np.ndarray,
    weights: np.ndarray,
    discount: float,
) -> np.ndarray:
    """Approximate action-value iteration, all actions: r + γ Σ p(s' | s, a) max_a' w_a'ᵀs'."""
    return rewards + discount * probabilities @ (features @ weights.T).max(axis=1)


def invalid(
    rewards: np.ndarray, expected: np.ndarray, weights: np.ndarray, discount: float
) -> np.ndarray:
    """Action values with an expectation model (Sorg & Singh 2010): r + γ max_a' w_a'ᵀs̄."""
    return rewards + discount * (expected @ weights.T).max(axis=1)
