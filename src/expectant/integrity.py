"""Checks of numbers that come from a file, for the verb ``check_restored``."""

from __future__ import annotations

import numpy as np

MOST = 2**48  # that anything can have been counted to: years of steps of a microsecond


def require(condition: bool | np.bool_, what: str) -> None:
    """Raise a ``ValueError`` that says what must be so."""
    if not condition:
        raise ValueError(what)


def within(what: str, array: np.ndarray, low: int, high: int) -> None:
    """Every entry of an array must lie between two whole numbers, both included."""
    wrong = (array < low) | (array > high)
    if wrong.any():
        raise ValueError(f"{what} must be from {low} to {high}, got {array[wrong][0]}")


def finite(what: str, array: np.ndarray) -> None:
    """Every entry of an array must be a finite number."""
    require(np.isfinite(array).all(), f"{what} must be finite numbers")


def counted(what: str, array: np.ndarray) -> None:
    """Every entry of an array must be a count."""
    within(what, array, 0, MOST)


def unchanged(what: str, array: np.ndarray, built: np.ndarray) -> None:
    """An array that nothing ever changes must be as it was built."""
    require(np.array_equal(array, built), f"{what} must be as its settings make it")
