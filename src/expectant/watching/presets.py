"""The presets of ``expectant watch``: domains, each with agents that learn in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.descriptions import near_miss
from expectant.domains.corridor import Corridor
from expectant.domains.grids import DynaMaze
from expectant.domains.loca import LocaGrid, LocaMountainCar
from expectant.domains.mountain_car import MountainCar
from expectant.features.table import OneHot
from expectant.features.tiles import Tiles
from expectant.models.expectation import LinearExpectation
from expectant.parts import Agent, Domain, Features


class Scene(NamedTuple):
    """What is watched, and for how long: either of the two counts is None."""

    domain: Domain
    features: Features
    agents: Mapping[str, Agent]
    episodes: int | None
    steps: int | None
    step_limit: int | None = None


OPTIMISTIC = LinearExpectation(0.1, initial_reward=8.0)
PRESETS = {
    "corridor": Scene(
        Corridor(switch_every=500), OneHot(), {
            "lookahead": Lookahead(0.1, 0.1),
            "cached_values": CachedValues(0.1, 0.1, 0.1),
            "cached_policy": CachedPolicy(0.1, 0.1, 0.1),
            "q_learning": QLearning(0.1),
            "q_planning": QPlanning(0.1, 0.1),
        }, 1500, None,
    ),
    "dyna_maze": Scene(
        DynaMaze(), OneHot(), {
            "lookahead": Lookahead(0.5, 0.5, planning_steps=10, discount=0.95),
            "q_learning": QLearning(0.5, discount=0.95),
        }, 30, None,
    ),
    "loca_grid": Scene(
        LocaGrid(), OneHot(), {
            "lookahead": Lookahead(
                0.05, model=OPTIMISTIC, backups="all", initial_value=8.0, discount=0.97
            ),
            "q_learning": QLearning(0.3, initial_value=8.0, discount=0.97),
        }, None, 200_000,
    ),
    "mountain_car": Scene(
        MountainCar(), Tiles(8, 8), {
            "lookahead": Lookahead(0.02, 0.02, epsilon=0.0),
            "cached_values": CachedValues(0.02, 0.02, 0.02, epsilon=0.0),
            "q_learning": QLearning(0.05, epsilon=0.0),
        }, 150, None,
    ),
    "loca_mountain_car": Scene(
        LocaMountainCar(), Tiles(8, 8), {
            "lookahead": Lookahead(0.03, 0.03, discount=0.99, initial_value=4.0),
            "q_learning": QLearning(0.05, discount=0.99, initial_value=4.0),
        }, None, 200_000,
    ),
}  # fmt: skip


def find_scene(domain: str, agent: str | None) -> tuple[Scene, Agent]:
    """Return a preset, or the first trial of an agent in a spec (FILE.toml), and its agent.

    Without a name the first agent is meant.
    """
    if domain.endswith(".toml"):
        scene = _read_scene(Path(domain), agent)
    elif domain in PRESETS:
        scene = PRESETS[domain]
    else:
        known = [*PRESETS, "FILE.toml"]
        raise ValueError(f"--domain: unknown {domain!r}" + near_miss(domain, known))
    name = next(iter(scene.agents)) if agent is None else agent
    if name not in scene.agents:
        raise ValueError(f"--agent: unknown {name!r}" + near_miss(name, list(scene.agents)))
    return scene, scene.agents[name]


def _read_scene(path: Path, agent: str | None) -> Scene:
    from expectant.lab.specs.spec import read_config

    cells = read_config(path, trust=True).cells()
    agents = {cell.agent_key: cell.agent for cell in cells}
    cell = next((cell for cell in cells if cell.agent_key == agent), cells[0])
    return Scene(
        cell.domain, cell.features, agents | {cell.agent_key: cell.agent}, cell.episodes or None,
        cell.steps or None, cell.step_limit,
    )  # fmt: skip
