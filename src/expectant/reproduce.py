"""The first result of the paper: planning with an expectation model follows a moving goal."""

from __future__ import annotations

from pathlib import Path

from expectant.agents.lookahead import Lookahead
from expectant.agents.q_learning import QLearning
from expectant.analysis.curves import interval, learning_curve
from expectant.domains.corridor import Corridor
from expectant.exact import epsilon_greedy_optimal_return
from expectant.features.table import RandomBinary
from expectant.running.run import Result, run

DOMAIN = Corridor(slip=0.1, switch_every=500)
FEATURES = RandomBinary(size=14, active=5)
AGENTS = {
    "Algorithm 1": Lookahead(value_step=0.01, model_step=0.1, planning_steps=5),
    "Q-learning": QLearning(action_step=0.001),
}
EPISODES, RUNS, BIN, PHASE = 2_000, 30, 50, 500


def reproduce(folder: Path, seed: int, threads: int | None) -> None:
    """Run both agents, print a table, write the learning curves as a picture."""
    results = {
        name: run(DOMAIN, FEATURES, agent, episodes=EPISODES, runs=RUNS, seed=seed, threads=threads)
        for name, agent in AGENTS.items()
    }
    _print(results)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "corridor.png"
    _draw(results, path)
    print(f"learning curves: {path}")


def _print(results: dict[str, Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    phases = range(0, EPISODES, PHASE)
    table = Table(title=f"mean return per phase of {PHASE} episodes, 95 % intervals, {RUNS} runs")
    table.add_column("agent")
    for phase in phases:
        table.add_column(f"{phase}-{phase + PHASE - 1}", justify="right")
    for name, result in results.items():
        cells = []
        for phase in phases:
            mean, low, high = interval(result.returns[:, phase : phase + PHASE].mean(axis=1))
            cells.append(f"{mean:.2f} ({low:.2f} to {high:.2f})")
        table.add_row(name, *cells)
    optimum = epsilon_greedy_optimal_return(DOMAIN, 0.1)
    console = Console()
    console.print(table)
    console.print(f"best possible with ε = 0.1: {optimum:.2f}")


def _draw(results: dict[str, Result], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), constrained_layout=True)
    for (name, result), colour, style in zip(
        results.items(), ("#0072B2", "#D55E00"), ("-", "--"), strict=True
    ):
        curve = interval(learning_curve(result.returns, BIN))
        episodes = [BIN * (n + 0.5) for n in range(curve.mean.size)]
        axes.plot(episodes, curve.mean, style, color=colour, label=name)
        axes.fill_between(episodes, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0)
    axes.axhline(epsilon_greedy_optimal_return(DOMAIN, 0.1), color="0.4", linestyle=":")
    for switch in range(PHASE, EPISODES, PHASE):
        axes.axvline(switch, color="0.8", linewidth=0.8, zorder=0)
    axes.set(
        xlabel="episode", ylabel="return per episode", title="The goal moves every 500 episodes"
    )
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
