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
    Estimate,
    bootstrap,
    difference,
)
from expectant.analysis.curves import Interval, interval, learning_curve
from expectant.analysis.judging import Finding, Statement, find, pseudo_values, verdict
from expectant.analysis.paired import PairedDifference, holm_adjusted, paired_difference
from expectant.analysis.panel import Panel

__all__ = [
    "Estimate",
    "Finding",
    "Interval",
    "PairedDifference",
    "Panel",
    "Statement",
    "bootstrap",
    "censored",
    "difference",
    "drop",
    "find",
    "holm_adjusted",
    "interval",
    "learning_curve",
    "lowest",
    "paired_difference",
    "pooled_drop",
    "pooled_recovery",
    "pseudo_values",
    "recovery",
    "recovery_threshold",
    "verdict",
]
