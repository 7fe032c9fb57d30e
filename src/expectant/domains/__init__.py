"""Domains: the paper's, the textbook's, tests of adaptation and average reward, and Gymnasium."""

from expectant.core.interfaces import Domain
from expectant.domains.average_reward import (
    AccessControl,
    Inventory,
    RiverSwim,
    TransientChain,
    TwoChoice,
)
from expectant.domains.corridor import BoyanChain, Corridor, Counterexample
from expectant.domains.external import ExternalDomain
from expectant.domains.finite import FiniteMDP
from expectant.domains.grids import (
    BlockingMaze,
    Cliff,
    DynaMaze,
    FourRooms,
    Rooms,
    ShortcutMaze,
    TwoRooms,
)
from expectant.domains.gym import Gym
from expectant.domains.loca import LocaGrid, LocaMountainCar
from expectant.domains.mountain_car import DrivenCar, MountainCar
from expectant.domains.random_mdps import Branching, Garnet, Lottery

__all__ = [
    "AccessControl", "BlockingMaze", "BoyanChain", "Branching", "Cliff", "Corridor",
    "Counterexample", "Domain", "DrivenCar", "DynaMaze", "ExternalDomain", "FiniteMDP",
    "FourRooms", "Garnet", "Gym", "Inventory", "LocaGrid", "LocaMountainCar", "Lottery",
    "MountainCar", "RiverSwim", "Rooms", "ShortcutMaze", "TransientChain", "TwoChoice", "TwoRooms",
]  # fmt: skip
