"""What ``expectant watch`` shows when it is told little: domains with agents that learn in them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.descriptions import near_miss
from expectant.domains.corridor import Corridor
from expectant.domains.dyna_maze import DynaMaze
from expectant.domains.loca_car import LocaMountainCar
from expectant.domains.loca_grid import LocaGrid
from expectant.domains.mountain_car import MountainCar
from expectant.features.table import OneHot
from expectant.features.tiles import Tiles
from expectant.parts import Agent, Domain, Features

DEFAULT_AGENT = "lookahead"

Chosen = TypeVar("Chosen")


class Scene(NamedTuple):
    """What is watched, and for how long: either of the two counts is None."""

    domain: Domain
    features: Features
    agent: Agent
    episodes: int | None
    steps: int | None
    step_limit: int | None = None


def _corridor(agent: str) -> Scene:
    """Algorithm 1, or another agent, while the goal changes ends twice."""
    agents = {
        "lookahead": Lookahead(0.1, 0.1),
        "cached_values": CachedValues(0.1, 0.1, 0.1),
        "cached_policy": CachedPolicy(0.1, 0.1, 0.1),
        "q_learning": QLearning(0.1),
        "q_planning": QPlanning(0.1, 0.1),
    }
    return Scene(Corridor(switch_every=500), OneHot(), _chosen(agents, agent), 1500, None)


def _dyna_maze(agent: str) -> Scene:
    agents = {
        "lookahead": Lookahead(0.5, 0.5, planning_steps=10, discount=0.95),
        "q_learning": QLearning(0.5, discount=0.95),
    }
    return Scene(DynaMaze(), OneHot(), _chosen(agents, agent), 30, None)


def _loca_grid(agent: str) -> Scene:
    """The adaptation test with the settings it is run with, planning from all states."""
    from expectant.lab.specs.spec import read_spec

    folder = Path(str(resources.files("expectant").joinpath("studies", "loca")))
    specs = [read_spec(folder / f"{name}.toml") for name in ("planning", "q-learning", "published")]
    known = {
        cell.panel or cell.experiment: cell.agent
        for spec in specs
        for cell in spec.cells()
        if cell.agent_key in ("all", "none")
    }
    return Scene(LocaGrid(), OneHot(), _chosen(known, agent), None, 200_000)


def _mountain_car(agent: str) -> Scene:
    agents = {
        "lookahead": Lookahead(0.02, 0.02, epsilon=0.0),
        "cached_values": CachedValues(0.02, 0.02, 0.02, epsilon=0.0),
        "q_learning": QLearning(0.05, epsilon=0.0),
    }
    return Scene(MountainCar(), Tiles(8, 8), _chosen(agents, agent), 150, None)


def _loca_mountain_car(agent: str) -> Scene:
    shared: dict[str, Any] = {"discount": 0.99, "initial_value": 4.0}
    agents = {
        "lookahead": Lookahead(0.03, 0.03, **shared),
        "q_learning": QLearning(0.05, **shared),
    }
    return Scene(LocaMountainCar(), Tiles(8, 8), _chosen(agents, agent), None, 200_000)


PRESETS = {
    "corridor": _corridor,
    "dyna_maze": _dyna_maze,
    "loca_grid": _loca_grid,
    "mountain_car": _mountain_car,
    "loca_mountain_car": _loca_mountain_car,
}


def scene(domain: str, agent: str | None) -> Scene:
    """A domain by its name with one of its agents; or an agent of a spec, FILE.toml."""
    if domain.endswith(".toml"):
        return _from_spec(Path(domain), agent)
    if domain not in PRESETS:
        known = [*PRESETS, "FILE.toml"]
        raise ValueError(f"--domain: unknown {domain!r}" + near_miss(domain, known))
    return PRESETS[domain](agent or DEFAULT_AGENT)


def _chosen(agents: Mapping[str, Chosen], agent: str) -> Chosen:
    if agent not in agents:
        raise ValueError(f"--agent: unknown {agent!r}" + near_miss(agent, list(agents)))
    return agents[agent]


def _from_spec(path: Path, agent: str | None) -> Scene:
    """The first cell of an agent in a spec; of its first agent if none is named."""
    from expectant.lab.specs.spec import read_spec

    cells = read_spec(path, trust=True).cells()
    first = {cell.agent_key: cell for cell in reversed(cells)}
    cell = _chosen(first, agent) if agent else cells[0]
    return Scene(
        cell.domain, cell.features, cell.agent, cell.episodes or None, cell.steps or None,
        cell.step_limit,
    )  # fmt: skip
