"""Verbs of step sizes."""

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
    """Take note that a row of weights is about to move by rate · error · s."""


@verb
def adapt_columns(step, action, state, surprise, errors):
    """The same of a linear model, whose reward was off by ``surprise`` and s̄ by ``errors`` (D,)."""


@optional
def adapt_listed(step, columns, action, state, surprise):
    """The same where columns are lists of entries, the errors being in their scratch row."""
    adapt_columns(step, action, state, surprise, columns.work[0])


@verb
def rate(step, row, state, n):
    """The step size of the n-th active feature, in the update that was taken note of last."""


@optional
def tick(step):
    """Take note of a real step, before anything is learned from it."""


@verb
def mean_rate(step, row, state):
    """The mean of those step sizes, Σ α_i x_i² / Σ x_i²."""


@verb
def value_change(step, row, state, error):
    """How far that update moves wᵀs."""
