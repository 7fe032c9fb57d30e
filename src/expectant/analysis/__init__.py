"""Statistics on plain arrays; importable without Numba."""

from expectant.analysis.adaptation import (
    censored,
    drop,
    lowest,
    pooled_drop,
    pooled_recovery,
    recovery,
    recovery_threshold,
)
from expectant.analysis.comparison import (
    Decision,
    Estimate,
    all_of,
    bootstrap,
    difference,
    greater,
    within,
)
from expectant.analysis.curves import Interval, interval, learning_curve
from expectant.analysis.pairs import PairedDifference, holm_adjusted, paired_difference
from expectant.analysis.panel import Panel

__all__ = [
    "Decision",
    "Estimate",
    "Interval",
    "PairedDifference",
    "Panel",
    "all_of",
    "bootstrap",
    "censored",
    "difference",
    "drop",
    "greater",
    "holm_adjusted",
    "interval",
    "learning_curve",
    "lowest",
    "paired_difference",
    "pooled_drop",
    "pooled_recovery",
    "recovery",
    "recovery_threshold",
    "within",
]
