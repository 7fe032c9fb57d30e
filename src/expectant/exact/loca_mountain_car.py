"""References for the mountain car with two exits, by value iteration on a grid.

Between the points of the grid values are interpolated; how good a policy is, is then measured in
the car itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from expectant.core.interfaces import Domain
from expectant.domains.loca import (
    EVALUATION_STARTS,
    INSIDE,
    LEFT_EXIT,
    RIGHT_EXIT,
    LocaMountainCar,
)
from expectant.domains.mountain_car import POSITION, SPEED, drive_cars

DISCOUNT = 0.99
THRUSTS = (-1, 0, 1)


class References(NamedTuple):
    """Mean returns: the optimum before and after the change, and the first optimum after it."""

    before: float
    after: float
    outdated: float


class Lattice(NamedTuple):
    """``axes``: the positions (n,) and speeds (m,); ``points`` (n m, 2) are all pairs of them."""

    axes: tuple[np.ndarray, np.ndarray]
    points: np.ndarray


def grid_points(domain: LocaMountainCar, size: tuple[int, int]) -> Lattice:
    """Evenly spaced points over the whole box."""
    across, along = (np.linspace(*bound, n) for bound, n in zip(domain.bounds, size, strict=True))
    return Lattice((across, along), pairs_of(across, along))


def pairs_of(positions: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """Every position with every speed: (n m, 2)."""
    return np.stack(np.meshgrid(positions, speeds, indexing="ij"), axis=-1).reshape(-1, 2)


def moved(domain: LocaMountainCar, cars: np.ndarray, thrust: Any) -> np.ndarray:
    """Where cars (N, 2) are one step later; ``thrust`` is one number or (N,)."""
    position, speed = cars.T
    zone = (position >= domain.zone_position) & (speed >= domain.zone_speed)
    return drive_cars(domain.valley(), cars, np.where(zone, 1, thrust))


def exits_of(domain: LocaMountainCar, cars: np.ndarray) -> np.ndarray:
    """Which exit each of the cars (N, 2) is in."""
    position, speed = cars[:, POSITION], cars[:, SPEED]
    right = (position >= domain.max_position) & (speed >= 0.0)
    away = (position - domain.left_position) ** 2 + domain.left_stretch * speed**2
    return np.where(right, RIGHT_EXIT, np.where(away <= domain.left_size, LEFT_EXIT, INSIDE))


def interpolation(grid: Lattice, cars: np.ndarray) -> Any:
    """The sparse matrix (N, n m) that interpolates values of the grid's points, bilinearly."""
    from scipy import sparse

    low, share = [], []
    for axis, component in zip(grid.axes, cars.T, strict=True):
        place = (component - axis[0]) / (axis[-1] - axis[0]) * (axis.size - 1)
        below = np.clip(np.floor(place).astype(int), 0, axis.size - 2)
        low.append(below)
        share.append(place - below)
    columns, weights = [], []
    for up, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        columns.append((low[0] + up) * grid.axes[1].size + low[1] + across)
        weights.append(np.abs(1 - up - share[0]) * np.abs(1 - across - share[1]))
    rows = np.tile(np.arange(len(cars)), 4)
    entries = np.concatenate(weights), (rows, np.concatenate(columns))
    return sparse.csr_matrix(entries, shape=(len(cars), len(grid.points)))


def lookahead(
    domain: LocaMountainCar, grid: Lattice, cars: np.ndarray, pays: tuple[float, float]
) -> list[tuple[np.ndarray, Any]]:
    """Rewards (N,) and γ P (N, n m) of every thrust from all cars; the left and right exit pay."""
    ahead = []
    for thrust in THRUSTS:
        after = moved(domain, cars, thrust)
        reached = exits_of(domain, after)
        alive = (reached == INSIDE).astype(float)
        future = interpolation(grid, after).multiply(DISCOUNT * alive[:, None]).tocsr()
        ahead.append((np.array([0.0, *pays])[reached], future))
    return ahead


def action_values(ahead: list[tuple[np.ndarray, Any]], values: np.ndarray) -> np.ndarray:
    """r + γ v(s') for every thrust: (A, N)."""
    return np.stack([rewards + future @ values for rewards, future in ahead])


def grid_values(
    domain: LocaMountainCar, grid: Lattice, pays: tuple[float, float], tolerance: float = 1e-5
) -> np.ndarray:
    """Optimal values of the grid's points, by value iteration."""
    ahead = lookahead(domain, grid, grid.points, pays)
    values = np.zeros(len(grid.points))
    while True:
        old, values = values, action_values(ahead, values).max(axis=0)
        if np.abs(values - old).max() <= tolerance:
            return values


def greedy_returns(
    domain: LocaMountainCar,
    grid: Lattice,
    values: np.ndarray,
    believed: tuple[float, float],
    pays: tuple[float, float],
    cars: np.ndarray,
    horizon: int = 500,
) -> np.ndarray:
    """Discounted returns (N,) of driving greedily by values that were made for ``believed`` pays,
    where the exits pay ``pays``."""
    returns, inside = np.zeros(len(cars)), np.arange(len(cars))
    for step in range(horizon):
        best = action_values(lookahead(domain, grid, cars, believed), values).argmax(axis=0)
        cars = moved(domain, cars, np.array(THRUSTS)[best])
        reached = exits_of(domain, cars)
        returns[inside] += DISCOUNT**step * np.array([0.0, *pays])[reached]
        inside, cars = inside[reached == INSIDE], cars[reached == INSIDE]
        if inside.size == 0:
            break
    return returns


def car_references(
    domain: LocaMountainCar, *, size: tuple[int, int] = (341, 141), starts: int = 11
) -> References:
    """Returns from the evaluation starts: best before, best after, and the outdated policy.

    ``size`` is how many positions and speeds the grid has, ``starts`` how many of each are driven
    from.
    """
    grid = grid_points(domain, size)
    cars = pairs_of(*(np.linspace(*bound, starts) for bound in EVALUATION_STARTS))
    old, new = (domain.left_reward, domain.right_reward), (domain.left_reward, domain.later_reward)
    old_values, new_values = (grid_values(domain, grid, pays) for pays in (old, new))
    drives = ((old_values, old, old), (new_values, new, new), (old_values, old, new))
    return References(
        *(
            float(greedy_returns(domain, grid, values, believed, pays, cars).mean())
            for values, believed, pays in drives
        )
    )


@lru_cache  # every figure of a study asks
def reference_levels(domain: Domain, phases: int) -> list[dict[str, float]]:
    """The lines to hold returns of episodes against, phase by phase, where they are known."""
    if not isinstance(domain, LocaMountainCar):
        return [{} for _ in range(phases)]
    found = car_references(domain)
    after = {"optimum": found.after, "outdated policy": found.outdated}
    return [{"optimum": found.before}, *(after for _ in range(phases - 1))]
