"""Statistics on plain arrays; importable without Numba."""

from expectant.analysis.curves import Interval, interval, learning_curve

__all__ = ["Interval", "interval", "learning_curve"]
