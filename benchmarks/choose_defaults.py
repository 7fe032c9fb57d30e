"""Where the settings of agents without arguments come from: a grid on twelve problems.

Nine of the problems have chance in them, one is continuous, and none is among the environments that
these agents are judged on (``benchmarks/untuned.py``). Every setting has ten runs; its mean return
of an episode, over all episodes, is put on a scale from random play (0) to the best of all settings
of all agents (1), no less than −1, which is also what a run that diverges counts; scales are
averaged over the problems. Every agent gets the setting with the highest average. Because the best
of many has been lucky too, the chosen ones are run again, with another seed, on the same scale.

    python benchmarks/choose_defaults.py [folder]    # resumed where it stopped
    python benchmarks/choose_defaults.py --tables    # only writes the tables of the page again

It writes docs/defaults.json, and the tables in docs/step-sizes.md from that.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from choosing_problems import PuddleWorld

import expectant as ex

DOCS = Path(__file__).parents[1] / "docs"
sys.path.append(str(DOCS / "site"))
from guide import with_tables  # noqa: E402

STORED, PAGE = DOCS / "defaults.json", DOCS / "step-sizes.md"
RUNS, SEED, FRESH_SEED = 10, 1, 2
SHOWN = 3  # settings of every agent that are stored, the best first
MAZE = """
##########
#S..#....#
#.#...#P.#
#.P.#....#
#...#.P..#
#.#....#G#
##########
"""


class Problem(NamedTuple):
    """A world to choose in: how long its runs and episodes are, and whether chance plays a part."""

    domain: ex.Domain
    features: ex.Features
    episodes: int
    step_limit: int
    chance: bool


SWIM = {"forward": 0.6, "back": 0.1, "hold": 0.6, "low_reward": 0.1, "high_reward": 1.0}
FEW, SOME = ex.RandomBinary(14, 5), ex.RandomBinary(60, 5)
PROBLEMS = {
    "corridor, slip 0.1": Problem(ex.Corridor(slip=0.1), ex.OneHot(), 150, 2_000, True),
    "corridor, slip 0.3": Problem(ex.Corridor(slip=0.3), ex.OneHot(), 150, 2_000, True),
    "corridor, slip 0.1, random binary": Problem(ex.Corridor(slip=0.1), FEW, 300, 2_000, True),
    "Dyna maze": Problem(ex.DynaMaze(), ex.OneHot(), 40, 100, False),
    "Dyna maze, steps cost 1": Problem(
        ex.DynaMaze(goal_reward=0.0, step_reward=-1.0), ex.OneHot(), 60, 1_000, False
    ),
    "LoCA grid, first phase": Problem(
        ex.LocaGrid(phase_steps=(10_000_000, 1, 1)), ex.OneHot(), 300, 100, True
    ),
    "river swim, 4 states": Problem(ex.RiverSwim(4, **SWIM), ex.OneHot(), 100, 100, True),
    "two rooms, slip 0.1": Problem(ex.TwoRooms(slip=0.1), ex.OneHot(), 100, 200, True),
    "two rooms, random binary": Problem(ex.TwoRooms(), SOME, 60, 300, False),
    "maze with pits, slip 0.3": Problem(ex.Rooms(MAZE, slip=0.3), ex.OneHot(), 150, 200, True),
    "random task, 50 states": Problem(
        ex.Branching(states=50, branches=3), ex.OneHot(), 500, 2_000, True
    ),
    "puddle world, tiles": Problem(PuddleWorld(depth=100.0), ex.Tiles(4, 5), 40, 300, True),
}
COMMON: dict[str, Any] = {"step_unit": "total", "bounded_step": True, "discount": 0.99}
GRADIENT = {**COMMON, "planning_update": "gradient"}  # planning that cannot run away
ADAPTIVE = ex.Autostep(0.3, 0.1)
FINE = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)  # where there is one step
FITS = (0, 2)
GRID: dict[str, tuple[type[Any], dict[str, Any], dict[str, Sequence[Any]]]] = {
    "q_learning": (ex.QLearning, COMMON, {"action_step": FINE}),
    "sarsa": (
        ex.Sarsa,
        {"step_unit": "total", "discount": 0.99},
        {"action_step": (0.1, 0.2, 0.3, 0.5, 1.0), "trace": (0.5, 0.8, 0.9)},
    ),
    "lookahead": (
        ex.Lookahead,
        GRADIENT,
        {"value_step": (0.1, 0.3), "model_step": (0.1, 0.3, 1.0, ADAPTIVE), "replayed_fits": FITS},
    ),
    "cached_values": (
        ex.CachedValues,
        GRADIENT,
        {"value_step": (0.3,), "action_step": (0.1, 0.3, 1.0), "model_step": (0.1, 0.3, ADAPTIVE),
         "replayed_fits": FITS},
    ),
    "cached_policy": (
        ex.CachedPolicy,
        COMMON,
        {"value_step": (0.3,), "policy_step": (0.3, 1.0, 3.0), "model_step": (0.3, ADAPTIVE),
         "replayed_fits": FITS},
    ),
}  # fmt: skip
RANDOM = "random"


def settings() -> Iterator[tuple[str, dict[str, Any], ex.Agent]]:
    """Every setting: the kind of agent, what is varied, and the agent."""
    for kind, (made, common, axes) in GRID.items():
        for values in itertools.product(*axes.values()):
            varied = dict(zip(axes, values, strict=True))
            yield kind, varied, made(**varied, **common)


def sweep_of(name: str) -> ex.Sweep:
    """All settings on one problem, as a sweep: to be written down (``to_toml``), and resumed."""
    problem = PROBLEMS[name]
    agents = {f"{kind}-{n}": agent for n, (kind, _, agent) in enumerate(settings())}
    return ex.Sweep(
        name=name, domain=problem.domain, features=problem.features,
        agents={RANDOM: ex.QLearning(0.0, epsilon=1.0), **agents}, episodes=problem.episodes,
        bin=problem.episodes, runs=RUNS, seed=SEED, step_limit=problem.step_limit,
    )  # fmt: skip


def means_of(name: str, folder: Path) -> np.ndarray:
    """The mean return of every setting, that of random play first; NaN where a run diverged."""
    rows = sweep_of(name).run(folder).table().to_pylist()
    found = {row["agent"]: row["mean"] if row["diverged"] == 0 else np.nan for row in rows}
    names = [RANDOM, *(f"{kind}-{n}" for n, (kind, _, _) in enumerate(settings()))]
    return np.array([found[name] for name in names], float)


def scaled(means: np.ndarray) -> np.ndarray:
    """From means (P, 1 + C), random play first, to scores (P, C)."""
    random, rest = means[:, :1], means[:, 1:]
    best = np.nanmax(rest, axis=1, keepdims=True)
    return np.clip(np.nan_to_num((rest - random) / (best - random), nan=-1.0), -1.0, 1.0)


def chosen(means: np.ndarray) -> dict[str, Any]:
    """What is stored: the problems, and the best settings of every agent."""
    scores = scaled(means)
    problems = [
        {"name": name, "chance": problem.chance, "episodes": problem.episodes,
         "random": _short(row[0]), "best": _short(np.nanmax(row[1:]))}
        for (name, problem), row in zip(PROBLEMS.items(), means, strict=True)
    ]  # fmt: skip
    agents: dict[str, list[Any]] = {kind: [] for kind in GRID}
    for n, (kind, varied, _) in enumerate(settings()):
        row = [_short(score) for score in scores[:, n]]
        agents[kind].append(
            {"settings": _data(varied), "score": _short(scores[:, n].mean()), "each": row}
        )
    tried = {kind: len(rows) for kind, rows in agents.items()}
    best = {k: sorted(rows, key=lambda row: -row["score"])[:SHOWN] for k, rows in agents.items()}
    return {"runs": RUNS, "problems": problems, "tried": tried, "best": best}


def fresh(stored: dict[str, Any]) -> dict[str, float]:
    """The scores of the chosen settings in runs that had no part in choosing them."""
    found = {}
    by_settings = {(kind, json.dumps(_data(varied))): made for kind, varied, made in settings()}
    for kind, rows in stored["best"].items():
        agent = by_settings[kind, json.dumps(rows[0]["settings"])]
        scores = [_fresh_score(agent, row) for row in stored["problems"]]
        found[kind] = _short(float(np.mean(scores)))
    return found


def _fresh_score(agent: ex.Agent, row: dict[str, Any]) -> float:
    problem = PROBLEMS[row["name"]]
    result = ex.run(
        problem.domain, problem.features, agent, episodes=problem.episodes, runs=RUNS,
        seed=FRESH_SEED, step_limit=problem.step_limit, progress=False,
    )  # fmt: skip
    score = (float(result.means.mean()) - row["random"]) / (row["best"] - row["random"])
    return -1.0 if np.isnan(score) else min(max(score, -1.0), 1.0)


def _data(varied: dict[str, Any]) -> dict[str, Any]:
    """Settings as they are stored."""
    return {key: v.to_dict() if isinstance(v, ex.Autostep) else v for key, v in varied.items()}


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def shown(value: Any) -> str:
    """A setting in a table."""
    if isinstance(value, dict):
        return f"Autostep({value['initial_step']:g}, {value['meta_step']:g})"
    return value if isinstance(value, str) else f"{value:g}"


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The tables of the page by their names."""
    return {
        "problems": "\n".join(_problem_rows(stored)),
        "defaults": "\n".join(_default_rows(stored)),
    }


def _problem_rows(stored: dict[str, Any]) -> Iterator[str]:
    kinds = list(stored["best"])
    names = (f"`{GRID[kind][0].__name__}`" for kind in kinds)
    yield f"| problem | chance | episodes | random play | best of all | {' | '.join(names)} |"
    yield "|---|---|---|---|---|" + "---|" * len(kinds)
    for n, row in enumerate(stored["problems"]):
        scores = (f"{stored['best'][kind][0]['each'][n]:.2f}" for kind in kinds)
        chance = "yes" if row["chance"] else "no"
        means = f"{row['random']:.4g} | {row['best']:.4g}"
        yield f"| {row['name']} | {chance} | {row['episodes']} | {means} | {' | '.join(scores)} |"


def _default_rows(stored: dict[str, Any]) -> Iterator[str]:
    yield "| agent | settings tried | | score | fresh runs | settings |"
    yield "|---|---|---|---|---|---|"
    for kind, rows in stored["best"].items():
        for place, row in enumerate(rows):
            words = ", ".join(f"`{name}` {shown(v)}" for name, v in row["settings"].items())
            first = (f"`{GRID[kind][0].__name__}`", str(stored["tried"][kind]))
            lead = " | ".join(first if place == 0 else ("", ""))
            order = "chosen" if place == 0 else ("second", "third")[place - 1]
            again = f"{stored['fresh'][kind]:.3f}" if place == 0 else ""
            yield f"| {lead} | {order} | {row['score']:.3f} | {again} | {words} |"


def write_tables() -> None:
    stored = json.loads(STORED.read_text())
    PAGE.write_text(with_tables(PAGE.read_text(), tables(stored)))


def main() -> None:
    if "--tables" not in sys.argv:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/defaults")
        means = np.array([means_of(name, folder / name) for name in PROBLEMS])
        stored = chosen(means)
        stored["fresh"] = fresh(stored)
        STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    write_tables()


if __name__ == "__main__":
    main()
