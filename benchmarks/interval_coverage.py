"""Coverage of the 95 % intervals of all metrics, by simulation with known truth.

    python benchmarks/interval_coverage.py [METRIC ...]    # writes docs/measured/coverage.json

A row has the share of simulated experiments whose interval contains the truth, for one metric and
one shape of the data, by number of runs.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import bdtrik, stdtrit

from expectant.analysis.panel import FLOOR, Level, Panel
from expectant.analysis.verdicts import bootstrap_t_interval
from expectant.experiments.clauses import Clause
from expectant.experiments.metrics import METRICS, SHARE

STORED = Path(__file__).parents[1] / "docs/measured/coverage.json"
EXPERIMENTS = {30: 2000, 100: 500, 300: 500}  # by number of runs
RUNS, TRUTH_RUNS = tuple(EXPERIMENTS), 200_000
OPTIMUM, AT_RANDOM = 10.0, -5.0
PHASE = [-3.0, -4.0, -3.7, -3.0, -1.0, 2.0, 5.0, 7.0, 8.0, 8.0]  # gently sloping at its lowest
SETTLING = 15.0 + 90.0 * np.exp(-np.arange(50) / 4.0)
PROBED = 2.3 - 1.3 * np.exp(-np.arange(25) / 8.0)
MEDIAN = -0.0059  # of normal noise of variance 2 with 1 run in 300 stuck
ON_PROBES = ("learned-share", "adaptation", "attainment")
Noise = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def normal(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Noise of runs as a whole and of single bins."""
    return rng.normal(size=(size[0], 1)) + rng.normal(size=size)


def skewed(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return 2.0 - rng.exponential(size=(size[0], 1)) - rng.exponential(size=size)


def stuck(rng: np.random.Generator, size: tuple[int, int], share: float, loss: float) -> np.ndarray:
    """Normal noise, and in a share of the runs a loss, in units of the noise."""
    return normal(rng, size) - loss * (rng.random((size[0], 1)) < share)


SHAPES: dict[str, Noise] = {
    "normal": normal,
    "skewed": skewed,
    "1 run in 5 stuck": lambda rng, size: stuck(rng, size, 0.2, 10.0),
    "1 run in 300 stuck": lambda rng, size: stuck(rng, size, 1 / 300, 40.0),
}


def make_panel(metric: str) -> tuple[Panel, np.ndarray, float]:
    """Return a panel on which the metric is defined, its mean curve and the size of the noise."""
    if metric == "settling":
        mean, scale = SETTLING, -3.0
    elif metric == "worsened":
        mean, scale = np.linspace(15.0, 13.0, 20), -2.0
    elif metric in ON_PROBES:
        mean, scale = np.concatenate([PROBED, 0.5 * PROBED, PROBED]), 0.1
    else:
        mean, scale = np.array([8.0] * 10 + 3 * PHASE), 2.0
    floor = AT_RANDOM - FLOOR * (OPTIMUM - AT_RANDOM)
    panel = Panel("f", "", "", 50, 500, OPTIMUM, {"a": mean[None]}, {"a": "a"}, floor=floor)
    if metric not in ON_PROBES:
        return panel, mean, scale
    levels = Level(0, 25, 2.5, "optimum"), Level(25, 75, 1.5, "optimum")
    outdated = Level(25, 75, 0.5, "outdated policy")
    points, phases = np.arange(75), np.repeat([0, 1, 2], 25)
    return replace(panel, points=points, phases=phases, levels=(*levels, outdated)), mean, scale


def coverage(
    metric: str, shape: str, runs: int, experiments: int, truth_runs: int = TRUTH_RUNS
) -> float:
    """Return the share of experiments whose interval contains the truth."""
    rng = np.random.default_rng(0)
    panel, mean, scale = make_panel(metric)
    clause = Clause(metric=METRICS[metric], of=("a",))

    def draw(count: int) -> Panel:
        curves = mean + scale * SHAPES[shape](rng, (count, mean.size))
        if metric == "diverged":
            curves[rng.random(count) < 0.05] = math.nan
        return replace(panel, curves={"a": curves}, floor=math.nan if scale < 0 else panel.floor)

    truth = true_value(clause, draw(truth_runs))
    findings = [clause.find([draw(runs)]) for _ in range(experiments)]
    slack = 1e-9 * max(1.0, abs(truth))
    covered = [finding.low - slack <= truth <= finding.high + slack for finding in findings]
    return float(np.mean(covered))


def true_value(clause: Clause, panel: Panel) -> float:
    """Return the metric of the mean curve of very many runs, or its mean over them."""
    (curves,) = clause.curves_of([panel])
    if not clause.metric.per_run:
        curves = curves.mean(axis=0)[None]
    return float(clause.metric.of(panel, curves).mean())


def group_of(metric: str) -> str:
    """Return the kind of interval that a metric has."""
    found = METRICS[metric]
    if found.unit == SHARE:
        return "shares of runs"
    if found.interval is not None and not found.per_run:
        return "times until a level is reached"
    return "lowest levels and drops" if found.crossed else "means"


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the least and the greatest coverage of every group and shape."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((group_of(row["metric"]), row["shape"]), []).append(row)
    return [
        {"interval": group, "shape": shape}
        | {f"n{n}": [f([row[str(n)] for row in members]) for f in (min, max)] for n in RUNS}
        for (group, shape), members in sorted(groups.items(), key=lambda item: item[0][0])
    ]


def cover_rare_runs(runs: int, experiments: int = 2000) -> dict[str, float]:
    """Return the coverage of four intervals of runs of which 1 in 300 is stuck.

    The first three are of the mean: Student's t, a bootstrapped t, and t moved down by the greatest
    share of stuck runs of which none may be seen (3 / n), each of which loses all that the floor
    allows. The last one is of the median, from order statistics.
    """
    rng, floor = np.random.default_rng(0), -75.0
    covered = np.zeros(4)
    for _ in range(experiments):
        values = stuck(rng, (runs, 1), 1 / 300, 40.0)[:, 0]
        error = values.std(ddof=1) / math.sqrt(runs)
        low, high = values.mean() + error * stdtrit(runs - 1, np.array([0.025, 0.975]))
        rank = int(bdtrik(0.025, runs, 0.5))
        ordered = np.sort(values)
        intervals = [
            (low, high),
            bootstrap_t_interval(values, 0.025),
            (low - 3.0 / runs * (values.mean() - floor), high),
        ]
        covered[:3] += [low <= -40.0 / 300.0 <= high for low, high in intervals]
        covered[3] += ordered[rank] <= MEDIAN <= ordered[runs - 1 - rank]
    names = ("t", "bootstrapped t", "widened t", "median")
    return dict(zip(names, (covered / experiments).tolist(), strict=True))


if __name__ == "__main__":
    stored = json.loads(STORED.read_text("utf-8"))["rows"] if sys.argv[1:] else []
    rows: list[dict[str, Any]] = [row for row in stored if row["metric"] not in sys.argv[1:]]
    for metric in sys.argv[1:] or sorted(METRICS):
        for shape in SHAPES:
            row = {"metric": metric, "shape": shape}
            rows.append(row | {str(n): coverage(metric, shape, n, EXPERIMENTS[n]) for n in RUNS})
            print(rows[-1], flush=True)
    rows.sort(key=lambda row: (row["metric"], [*SHAPES].index(row["shape"])))
    rare = {str(n): cover_rare_runs(n) for n in RUNS}
    content = {"experiments": EXPERIMENTS, "ranges": summarise(rows), "rare": rare, "rows": rows}
    STORED.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
