"""Draw docs/figures/idea.svg: the counterexample, and what planning with means does to it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch

import expectant as ex

TARGET = Path(__file__).parents[1] / "figures" / "idea.svg"
BLUE, RED, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#595959"
EPISODES, RUNS, BIN = 200, 1_000, 5
AGENTS = {
    "state values (Algorithm 1)": (ex.Lookahead.paper(0.3, 0.3, planning_steps=20), GREEN, "-"),
    "no planning (Q-learning)": (ex.QLearning.paper(0.3), BLUE, "--"),
    "action values (Q-planning)": (ex.QPlanning.paper(0.3, 0.3, planning_steps=20), RED, "-."),
}


def draw_arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=14, color=GREY, shrinkA=17, shrinkB=17
        )
    )
    middle = np.add(start, end) / 2
    axes.text(
        *middle,
        text,
        ha="center",
        va="center",
        fontsize=11,
        bbox={"fc": "white", "ec": "none", "pad": 1.5},
    )


def draw_counterexample(axes: Axes) -> None:
    """The three states, with the two ways to combine maximum and mean."""
    domain = ex.Counterexample(exit_reward=-1.0)
    values = ex.exact.optimal_action_values(domain)
    mean_of_max, max_of_mean = values[1:].max(axis=1).mean(), values[1:].mean(axis=0).max()
    states = {"1": (0.0, 0.0), "2": (2.0, 1.0), "3": (2.0, -1.0)}
    for name, centre in states.items():
        axes.add_patch(Circle(centre, 0.24, fc="white", ec="black", lw=1.4, zorder=3))
        axes.text(*centre, name, ha="center", va="center", fontsize=13, zorder=4)
    draw_arrow(axes, states["1"], states["2"], "A, ½")
    draw_arrow(axes, states["1"], states["3"], "A, ½")
    draw_arrow(axes, states["1"], (0.0, -1.25), "B")
    axes.text(0.0, -1.33, "−1", ha="center", va="center", fontsize=12)
    for row, state in ((1, "2"), (2, "3")):
        for action, height in ((0, 0.32), (1, -0.32)):
            end = (4.0, states[state][1] + height)
            draw_arrow(axes, states[state], end, "AB"[action])
            axes.text(
                4.05,
                end[1],
                f"{values[row, action] + 0.0:.0f}".replace("-", "−"),
                va="center",
                fontsize=12,
            )
    axes.add_patch(Circle((2.0, 0.0), 0.24, fc="#eeeeee", ec=GREY, lw=1.2, ls="--", zorder=3))
    axes.text(2.0, 0.0, "mean", ha="center", va="center", fontsize=8, color=GREY, zorder=4)
    axes.text(
        2.4, 0.0, "what the model predicts: half 2, half 3", va="center", fontsize=11, color=GREY
    )
    axes.text(4.2, 1.55, "reward", ha="center", fontsize=11, color=GREY)
    lines = {
        f"state values:  mean of the max = {mean_of_max:.0f}  →  A is right": GREEN,
        f"action values:  max of the mean = {max_of_mean:.1f}  →  B looks better": RED,
    }
    for row, (text, colour) in enumerate(lines.items()):
        place, shown = (2.1, -2.2 - 0.5 * row), text.replace("-", "−")
        axes.text(*place, shown, ha="center", color=colour, fontsize=13, weight="bold")
    axes.set(xlim=(-0.9, 5.3), ylim=(-2.9, 1.7), aspect="equal")
    axes.set_title("A leads to state 2 or 3; each needs a different action", fontsize=13)
    axes.axis("off")


def draw_curves(axes: Axes) -> None:
    """Learning curves of planning with action values, with state values, and not at all."""
    episodes = np.arange(EPISODES).reshape(-1, BIN).mean(axis=1)
    for label, (agent, colour, dashes) in AGENTS.items():
        result = ex.run(
            ex.Counterexample(), ex.OneHot(), agent, episodes=EPISODES, runs=RUNS, progress=False
        )
        curve = result.returns.mean(axis=0).reshape(-1, BIN).mean(axis=1)
        axes.plot(episodes, curve, color=colour, ls=dashes, lw=2, label=label)
    optimum = ex.exact.epsilon_greedy_optimal_return(ex.Counterexample(), epsilon=0.1)
    axes.axhline(optimum, color=GREY, lw=1, ls=":")
    axes.text(EPISODES, -0.16, "dotted: optimal with ε = 0.1", ha="right", color=GREY, fontsize=11)
    axes.set(xlabel="episode", xlim=(0, EPISODES), ylim=(-1.75, 0))
    axes.set_title("Return when planning with an expectation model", fontsize=13)
    axes.legend(loc="lower right", frameon=False, fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    mpl.rcParams.update({"svg.hashsalt": "expectant", "font.family": "DejaVu Sans"})
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    draw_counterexample(left)
    draw_curves(right)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
