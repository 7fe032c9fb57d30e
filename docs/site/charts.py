"""Draw the charts of the documentation from stored results: docs/figures/*-chart.svg.

python docs/site/charts.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parent))
from fill_tables import DOCS, read

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = "osD^vPX"
STUDIES = {  # figures that are about returns
    "backup-distributions": ("corridor-9", "corridor-50", "loca-grid", "mountain-car"),
    "function-approximation": ("corridor-9", "corridor-50", "mountain-car"),
    "iterated-backups": ("corridor-9", "corridor-50", "rooms"),
    "model-kinds": ("corridor-9", "corridor-50", "rooms"),
    "nonlinear-values": ("corridor", "rooms"),
}
PLANNING_PAYS = ("lookahead", "q_learning", "q_free", "gradient", "lspi")
FAMILIES = {  # of problems, by words in their names; the first that fits
    "corridors": ("corridor",),
    "random MDPs, states share features": ("features",),
    "random MDPs, one feature a state": ("Garnet",),
    "rooms and mazes": ("room", "maze"),
    "inventory and queues": ("inventory", "access"),
    "a river with a misleading reward": ("river",),
}
UNTUNED = ("Q-learning", "Sarsa(λ)", "Algorithm 1", "Algorithm 2", "Algorithm 3")


def save(figure: Figure, name: str) -> None:
    figure.savefig(DOCS / f"figures/{name}-chart.svg", metadata={"Date": None})


def draw_study(study: str, columns: int = 3) -> None:
    """Draw the mean return of every agent with its 95 % interval, one panel beside the other."""
    panels: dict[str, list[dict[str, Any]]] = {}
    for entry in read(f"measured/{study}"):
        if entry["figure"] in STUDIES[study]:
            panels.setdefault(entry["panel"], []).append(entry)
    names = list(dict.fromkeys(entry["label"] for each in panels.values() for entry in each))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(9, rows * (0.8 + 0.26 * len(names))), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, (panel, entries) in zip(grid.flat, panels.items(), strict=False):
        for entry in entries:
            place = names.index(entry["label"])
            mean, low, high = entry["metrics"]["mean"]
            colour = COLOURS[place % len(COLOURS)]
            axes.plot([low, high], [place, place], color=colour, lw=2)
            axes.plot(mean, place, marker=MARKERS[place % len(MARKERS)], color=colour)
        axes.set_title(panel, fontsize=10)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(axis="x", color="#dddddd")
        axes.spines[["top", "right", "left"]].set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("mean return")
    save(figure, study)


def draw_untuned() -> None:
    """Draw the returns with default settings, from random play (0) to the best of the row (1)."""
    stored = read("untuned:rows")
    names = list(dict.fromkeys(row["environment"] for row in stored))
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(names):
        rows = {row["agent"]: row["mean"] for row in stored if row["environment"] == name}
        random, best = rows["random play"][0], max(rows[agent][0] for agent in UNTUNED)
        for number, agent in enumerate(UNTUNED):
            mean, low, high = (np.array(rows[agent]) - random) / (best - random)
            height = place + 0.14 * (number - 2)
            axes.plot([low, high], [height, height], color=COLOURS[number], lw=1.5)
            axes.plot(mean, height, MARKERS[number], color=COLOURS[number], ms=6,
                      label=agent if place == 0 else None)  # fmt: skip
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("mean return over all episodes; 0: random play, 1: the best agent of the row")
    axes.grid(axis="x", color="#dddddd")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=5, frameon=False)
    save(figure, "untuned")


def draw_planning_pays() -> None:
    """Draw the scores of the study planning-pays, one chart per family of problems."""
    labels = {row["agent"]: row["label"] for row in read("planning-pays:means/reporting")}
    families: dict[str, list[dict[str, Any]]] = {name: [] for name in FAMILIES}
    for row in read("planning-pays:reporting"):
        families[family_of(row["problem"])].append(row)
    heights = [len(rows) + 1 for rows in families.values()]
    figure = Figure(figsize=(9, 8), layout="constrained")
    charts = figure.subplots(len(families), sharex=True, height_ratios=heights)
    for axes, (family, rows) in zip(charts, families.items(), strict=True):
        for agent, marker, colour in zip(PLANNING_PAYS, MARKERS, COLOURS, strict=False):
            scores = [max(row[agent], -0.05) for row in rows]
            label = labels[agent] if axes is charts[0] else None
            axes.plot(scores, range(len(rows)), marker, color=colour, label=label, alpha=0.8)
        axes.set_title(family, fontsize=10, loc="left")
        axes.set_yticks(range(len(rows)), [row["problem"] for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(color="#dddddd")
        axes.spines[["top", "right", "left"]].set_visible(False)
    charts[-1].set_xlabel(
        "reward per step (corridors: per episode); 0: random actions (or less), 1: optimum"
    )
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    save(figure, "planning-pays")


def family_of(problem: str) -> str:
    """Return the family of a problem of the study planning-pays."""
    return next(name for name, words in FAMILIES.items() if any(w in problem for w in words))


def draw_interpretations() -> None:
    """Draw by how many margins each choice moves the number of each claim about figure 5."""
    rows = [r for r in read("measured/interpretations:rows") if r["interpretation"] == "preferred"]
    claims = [str(number) for number in range(10, 18)]
    moved = np.array([
        [r["moved"][c]["difference"] / r["moved"][c]["margin"] * r["moved"][c]["clear"]
         if c in r["moved"] else 0.0 for c in claims]
        for r in rows
    ])  # fmt: skip
    figure = Figure(figsize=(9, 0.3 * len(rows) + 1), layout="constrained")
    axes = figure.subplots()
    norm = SymLogNorm(linthresh=1, vmin=-50, vmax=50)
    picture = axes.imshow(moved, cmap="PuOr", norm=norm, aspect="auto")
    for y, row in enumerate(rows):
        for x, claim in enumerate(claims):
            if row["moved"].get(claim, {}).get("matters"):
                axes.plot(x, y, "o", mfc="white", mec="black", ms=4)
    axes.set_xticks(range(len(claims)), [f"claim {claim}" for claim in claims])
    axes.set_yticks(range(len(rows)), [f"{row['detail']}: {row['choice']}" for row in rows])
    axes.tick_params(length=0, labelsize=9)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(picture, ticks=[-50, -10, -1, 0, 1, 10, 50], format="%g")
    bar.set_label("change of the claim's number, in margins")
    save(figure, "interpretations")


if __name__ == "__main__":
    mpl.rcParams.update({"svg.hashsalt": "expectant", "font.family": "DejaVu Sans"})
    for study in STUDIES:
        draw_study(study)
    draw_untuned()
    draw_planning_pays()
    draw_interpretations()
