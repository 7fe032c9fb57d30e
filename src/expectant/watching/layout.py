"""Where the states of a domain lie when it is drawn: in a row, in a grid or in a plane."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from expectant.domains.corridor import Corridor
from expectant.domains.loca_car import LocaMountainCar
from expectant.domains.loca_grid import LocaGrid
from expectant.domains.mountain_car import MountainCar
from expectant.show.animation.frames import GRID, PLANE, ROW, Exit, Layout

PUSHES = ("push left", "no push", "push right")
WATCHABLE = "a domain with numbered states, or with two components that have finite bounds"


def layout_of(domain: Any, lattice: int) -> Layout:
    """How a domain is drawn; a plane is looked at in ``lattice`` × ``lattice`` points."""
    if isinstance(domain, Corridor):
        return _corridor(domain)
    if isinstance(domain, LocaGrid):
        return _grid(domain)
    if isinstance(domain, MountainCar):
        return _plane(domain, lattice, ("position", "speed"), PUSHES, _goal(domain))
    if isinstance(domain, LocaMountainCar):
        phases = _right_exit(domain)
        return _plane(domain, lattice, ("position", "speed"), PUSHES, _exits(domain), phases)
    if domain.states is not None:
        return _numbered(domain)
    bounds = domain.bounds or ()
    if len(bounds) == 2 and all(math.isfinite(end) for bound in bounds for end in bound):
        return _plane(domain, lattice, ("component 0", "component 1"), _numbers(domain))
    raise ValueError(f"watch: domain must be {WATCHABLE}, got {domain!r}")


def _numbers(domain: Any) -> tuple[str, ...]:
    return tuple(f"action {action}" for action in range(domain.actions))


def _states(domain: Any) -> np.ndarray:
    return np.arange(domain.states, dtype=np.int64).reshape(-1, 1)


def _numbered(domain: Any) -> Layout:
    """States in the order of their numbers."""
    phases = getattr(domain, "phases", 1)
    words = tuple(f"phase {phase + 1} of {phases}" for phase in range(phases))
    return Layout(
        kind=ROW,
        across=np.arange(domain.states, dtype=float),
        along=np.zeros(1),
        names=("state", ""),
        observations=_states(domain),
        actions=_numbers(domain),
        phases=words if phases > 1 else ("",),
    )


def _corridor(domain: Corridor) -> Layout:
    pays = (domain.goal_reward, domain.other_reward)
    switched = domain.switch_every is not None
    return Layout(
        kind=ROW,
        across=np.arange(domain.cells, dtype=float),
        along=np.zeros(1),
        names=("cell", ""),
        observations=_states(domain),
        actions=("left", "right"),
        directions=np.array([[-1.0, 0.0], [1.0, 0.0]]),
        exits=(
            Exit(-1.0, 0.0, pays[::-1] if switched else pays[1:]),
            Exit(float(domain.cells), 0.0, pays if switched else pays[:1]),
        ),
        phases=("goal on the right", "goal on the left")[: 2 if switched else 1],
    )


def _right_exit(domain: LocaGrid | LocaMountainCar) -> tuple[str, ...]:
    first, later = f"{domain.right_reward:g}", f"{domain.later_reward:g}"
    return (
        f"right exit pays {first}",
        f"right exit pays {later}, starts beside it",
        f"right exit pays {later}, starts anywhere",
    )


def _pays(domain: LocaGrid | LocaMountainCar) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What the left and the right exit pay in the three phases."""
    right = (domain.right_reward, domain.later_reward, domain.later_reward)
    return (domain.left_reward,) * 3, right


def _grid(domain: LocaGrid) -> Layout:
    middle = (domain.rows - 1) / 2
    left, right = _pays(domain)
    return Layout(
        kind=GRID,
        across=np.arange(domain.columns, dtype=float),
        along=np.arange(domain.rows, dtype=float),
        names=("column", "row"),
        observations=_states(domain),
        actions=("up", "right", "down", "left"),
        directions=np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]),
        exits=(Exit(-1.0, middle, left), Exit(float(domain.columns), middle, right)),
        phases=_right_exit(domain),
    )


def _goal(domain: MountainCar) -> tuple[Exit, ...]:
    return (Exit(domain.goal_position, 0.0, ()),)


def _exits(domain: LocaMountainCar) -> tuple[Exit, ...]:
    left, right = _pays(domain)
    zone = (domain.zone_position + domain.max_position) / 2  # only the right exit is beyond
    return Exit(domain.left_position, 0.0, left), Exit(zone, domain.max_speed / 2, right)


def _plane(
    domain: Any,
    lattice: int,
    names: tuple[str, str],
    actions: tuple[str, ...],
    exits: tuple[Exit, ...] = (),
    phases: tuple[str, ...] = ("",),
) -> Layout:
    """The middles of ``lattice`` × ``lattice`` equal cells of the bounds."""
    across, along = (_middles(low, high, lattice) for low, high in domain.bounds)
    pairs = np.stack(np.meshgrid(across, along), axis=-1).reshape(-1, 2)
    return Layout(PLANE, across, along, names, pairs, actions, None, exits, phases)


def _middles(low: float, high: float, cells: int) -> np.ndarray:
    return low + (high - low) * (np.arange(cells) + 0.5) / cells
