"""Verbs of step sizes; an update is w_i ← w_i + α_i δ s_i.

A step size is told of every update by :func:`adapt` and then asked for α_i by :func:`rate`.
"""

from __future__ import annotations

from expectant.core.dispatch import optional, verb

__all__ = [
    "adapt",
    "adapt_columns",
    "adapt_listed",
    "mean_rate",
    "rate",
    "tick",
    "value_change",
]


@verb
def adapt(step, row, state, error):
    """Prepare an update of row ``row`` of the weights by α_i · error · s_i."""


@verb
def adapt_columns(step, action, state, surprise, errors):
    """Prepare an update of a linear model by its errors ``surprise`` of r, ``errors`` (D,) of s̄."""


@verb
def rate(step, row, state, n):
    """Return α_i of the n-th active feature in the prepared update."""


@verb
def mean_rate(step, row, state):
    """Return Σ α_i s_i² / Σ s_i² of the prepared update."""


@verb
def value_change(step, row, state, error):
    """Return the change of wᵀs by the prepared update."""


# ---------------------------------------------------------------------------------- optional


@optional
def tick(step):
    """Count a real step, before anything is learned from it."""


@optional
def adapt_listed(step, columns, action, state, surprise):
    """Do as :func:`adapt_columns` for sparse columns, whose errors are in their scratch row."""
    adapt_columns(step, action, state, surprise, columns.work[0])
