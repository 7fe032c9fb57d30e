"""Sequential testing: after how many runs a claim is judged, and at which level.

A claim is judged by a part of the runs first, and by all of them only if that leaves it unclear.
The error rate is divided among the two looks (Bonferroni), so that both intervals together cover
with the nominal level: repeated confidence intervals (Jennison and Turnbull 1989), which stay valid
whatever the reason for which runs ended. The first look is late, and spends little: with fewer
runs, rare bad ones may all be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from expectant.analysis.verdicts import LEVEL

EARLY_RUNS = 0.3  # share of the runs at the first look
EARLY_ERROR = 0.02  # share of the error rate that it spends
STEP = 10  # its number of runs is a multiple of this
Looks = Mapping[str, Sequence[int]]  # numbers of runs by figure
Arm = tuple[str, str, str, str]  # figure, panel, interpretation, agent
RULE = (
    f"Claims are judged by {EARLY_RUNS:.0%} of the runs first, and by all if that leaves them "
    f"unclear. The first look spends {EARLY_ERROR:.0%} of the error rate (its intervals are of "
    f"{1 - EARLY_ERROR * (1 - LEVEL):.1%}), the last one the rest, so that both together keep the "
    "stated level."
)


def look_sizes(drawn: int, most: int) -> tuple[int, ...]:
    """Return the numbers of runs of the looks; only one if few more than those drawn can be had.

    >>> look_sizes(30, 300), look_sizes(30, 40)
    ((90, 300), (40,))
    """
    if most < 2 * drawn:
        return (most,)
    return max(drawn, STEP * round(EARLY_RUNS * most / STEP)), most


def error_share(sizes: Sequence[int], runs: int) -> float:
    """Return the share of the error rate at the look after so many runs, or fewer."""
    if len(sizes) < 2:
        return 1.0
    return EARLY_ERROR if runs < sizes[-1] else 1.0 - EARLY_ERROR
