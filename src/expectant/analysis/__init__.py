"""Statistics on plain arrays; importable without Numba."""

from expectant.analysis.curves import Interval, interval, learning_curve
from expectant.analysis.panel import Panel
from expectant.analysis.verdicts import (
    Finding,
    PairedDifference,
    Statement,
    find,
    holm_adjusted,
    paired_difference,
    pseudo_values,
    verdict,
)

__all__ = [
    "Finding",
    "Interval",
    "PairedDifference",
    "Panel",
    "Statement",
    "find",
    "holm_adjusted",
    "interval",
    "learning_curve",
    "paired_difference",
    "pseudo_values",
    "verdict",
]
