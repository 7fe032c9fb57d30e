"""Sums over rows in a fixed order of addition, which give the same bits on every machine.

If a compiler may reorder additions, the last digits depend on the vector width. These sums are
therefore *defined* as eight interleaved partial sums ("lanes") that are folded in halves at the
end, an order that vector instructions and plain Python can both follow. Rows are padded with zeros
to a multiple of :data:`LANES`. :mod:`expectant.jit.reductions` has the vector code.
"""

from __future__ import annotations

import numpy as np

LANES = 8


def padded_size(size: int) -> int:
    """Round ``size`` up to a multiple of :data:`LANES` (D in docstrings)."""
    return -(-size // LANES) * LANES


def _fold(products: np.ndarray) -> float:
    total = np.zeros(LANES)
    for block in products.reshape(-1, LANES):
        total = total + block
    while total.shape[0] > 1:
        half = total.shape[0] // 2
        total = total[:half] + total[half:]
    return float(total[0])


def dot_rows(rows: np.ndarray, action: int, active: np.ndarray, weights: np.ndarray) -> float:
    """Σ_j rows[action, j] · weights over the active j."""
    combined = np.zeros(weights.shape[0])
    for j in active:
        combined = combined + rows[action, j]
    return _fold(combined * weights)


def dot_weighted_rows(
    rows: np.ndarray, action: int, active: np.ndarray, values: np.ndarray, weights: np.ndarray
) -> float:
    """Σ_j x_j rows[action, j] · weights over the active j with values x_j."""
    combined = np.zeros(weights.shape[0])
    for n in range(active.shape[0]):
        combined = combined + values[n] * rows[action, active[n]]
    return _fold(combined * weights)


def dot_row(rows: np.ndarray, row: int, weights: np.ndarray) -> float:
    """rows[row] · weights, for a table (n, D) of rows."""
    return _fold(rows[row] * weights)


def dot_listed(values: np.ndarray, indices: np.ndarray, row: int, weights: np.ndarray) -> float:
    """Σ_e values[row, e] · weights[indices[row, e]], for tables (n, m) padded to whole lanes."""
    return _fold(values[row] * weights[indices[row]])


def sum_rows(total: np.ndarray, rows: np.ndarray, action: int, active: np.ndarray) -> None:
    """total = Σ_j rows[action, j] over the active j."""
    total[:] = 0.0
    for j in active:
        total += rows[action, j]


def sum_weighted_rows(
    total: np.ndarray, rows: np.ndarray, action: int, active: np.ndarray, values: np.ndarray
) -> None:
    """total = Σ_j x_j rows[action, j] over the active j with values x_j."""
    total[:] = 0.0
    for n in range(active.shape[0]):
        total += values[n] * rows[action, active[n]]


def add_to_row(rows: np.ndarray, action: int, row: int, amount: float, added: np.ndarray) -> None:
    """rows[action, row] += amount · added, which must not overlap the rows."""
    rows[action, row] += amount * added
