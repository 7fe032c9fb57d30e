"""The scenes of ``expectant watch``: domains, each with agents that learn in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from expectant.agents.cached_policy import CachedPolicy
from expectant.agents.cached_values import CachedValues
from expectant.agents.lookahead import Lookahead
from expectant.agents.q_learning import QLearning
from expectant.agents.q_planning import QPlanning
from expectant.descriptions import near_miss
from expectant.domains.corridor import Corridor
from expectant.domains.loca_car import LocaMountainCar
from expectant.domains.loca_grid import LocaGrid
from expectant.domains.mazes import DynaMaze
from expectant.domains.mountain_car import MountainCar
from expectant.features.table import OneHot
from expectant.features.tiles import Tiles
from expectant.parts import Agent, Domain, Features

DEFAULT_AGENT = "lookahead"


class Scene(NamedTuple):
    """What is watched, and for how long: either of the two counts is None."""

    domain: Domain
    features: Features
    agent: Agent
    episodes: int | None
    steps: int | None
    step_limit: int | None = None


class Preset(NamedTuple):
    """A domain with features and agents, by name."""

    domain: Domain
    features: Features
    agents: Callable[[], Mapping[str, Agent]]
    episodes: int | None
    steps: int | None


def _loca_agents() -> dict[str, Agent]:
    """The agents of the adaptation test with its settings, planning from all states."""
    from expectant.lab.specs.spec import read_config

    folder = Path(str(resources.files("expectant").joinpath("studies", "loca")))
    specs = [
        read_config(folder / f"{name}.toml") for name in ("planning", "q-learning", "published")
    ]
    return {
        cell.panel or cell.experiment: cell.agent
        for spec in specs
        for cell in spec.cells()
        if cell.agent_key in ("all", "none")
    }


PRESETS = {
    "corridor": Preset(
        Corridor(switch_every=500), OneHot(), lambda: {
            "lookahead": Lookahead(0.1, 0.1),
            "cached_values": CachedValues(0.1, 0.1, 0.1),
            "cached_policy": CachedPolicy(0.1, 0.1, 0.1),
            "q_learning": QLearning(0.1),
            "q_planning": QPlanning(0.1, 0.1),
        }, 1500, None,
    ),
    "dyna_maze": Preset(
        DynaMaze(), OneHot(), lambda: {
            "lookahead": Lookahead(0.5, 0.5, planning_steps=10, discount=0.95),
            "q_learning": QLearning(0.5, discount=0.95),
        }, 30, None,
    ),
    "loca_grid": Preset(LocaGrid(), OneHot(), _loca_agents, None, 200_000),
    "mountain_car": Preset(
        MountainCar(), Tiles(8, 8), lambda: {
            "lookahead": Lookahead(0.02, 0.02, epsilon=0.0),
            "cached_values": CachedValues(0.02, 0.02, 0.02, epsilon=0.0),
            "q_learning": QLearning(0.05, epsilon=0.0),
        }, 150, None,
    ),
    "loca_mountain_car": Preset(
        LocaMountainCar(), Tiles(8, 8), lambda: {
            "lookahead": Lookahead(0.03, 0.03, discount=0.99, initial_value=4.0),
            "q_learning": QLearning(0.05, discount=0.99, initial_value=4.0),
        }, None, 200_000,
    ),
}  # fmt: skip


def scene(domain: str, agent: str | None) -> Scene:
    """A preset with one of its agents; or the first trial of an agent in a spec, FILE.toml."""
    if domain.endswith(".toml"):
        from expectant.lab.specs.spec import read_config

        cells = read_config(Path(domain), trust=True).cells()
        first = {cell.agent_key: cell for cell in reversed(cells)}
        key = cells[0].agent_key if agent is None else _known(agent, first)
        cell = first[key]
        return Scene(
            cell.domain, cell.features, cell.agent, cell.episodes or None, cell.steps or None,
            cell.step_limit,
        )  # fmt: skip
    if domain not in PRESETS:
        known = [*PRESETS, "FILE.toml"]
        raise ValueError(f"--domain: unknown {domain!r}" + near_miss(domain, known))
    preset = PRESETS[domain]
    agents = preset.agents()
    chosen = agents[_known(agent or DEFAULT_AGENT, agents)]
    return Scene(preset.domain, preset.features, chosen, preset.episodes, preset.steps)


def _known(agent: str, agents: Mapping[str, object]) -> str:
    if agent not in agents:
        raise ValueError(f"--agent: unknown {agent!r}" + near_miss(agent, list(agents)))
    return agent
