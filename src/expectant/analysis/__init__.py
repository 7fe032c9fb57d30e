"""Statistics on plain arrays; importable without Numba."""

from expectant.analysis.curves import Interval, interval, learning_curve
from expectant.analysis.panel import Panel
from expectant.analysis.verdicts import (
    Finding,
    PairedDifference,
    Statement,
    assess,
    holm_correction,
    paired_difference,
    pseudo_values,
    verdict,
)

__all__ = [
    "Finding", "Interval", "PairedDifference", "Panel", "Statement", "assess", "holm_correction",
    "interval", "learning_curve", "paired_difference", "pseudo_values", "verdict",
]  # fmt: skip
