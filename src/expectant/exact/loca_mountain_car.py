"""Reference returns of ``LocaMountainCar``, by value iteration on a grid.

Values are interpolated between grid points; greedy policies are then evaluated in the domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from expectant.core.interfaces import Domain
from expectant.domains.loca import (
    BOTTOM,
    EVALUATION_STARTS,
    INSIDE,
    LEFT_EXIT,
    RIGHT_END,
    RIGHT_EXIT,
    SIZE,
    STRETCH,
    THRUSTS,
    ZONE,
    LocaMountainCar,
)
from expectant.domains.mountain_car import POSITION, SPEED, drive_cars

DISCOUNT = 0.99
HORIZON = 500
NOISY_EPISODES = 20  # from every start, if actions are noisy
TOLERANCE = 1e-5

Pays = tuple[float, float]  # rewards of the left and the right exit


class References(NamedTuple):
    """Mean returns of the optimal policies before and after the change, and of the former after."""

    before: float
    after: float
    outdated: float


class Grid(NamedTuple):
    """``axes`` are positions (n,) and speeds (m,); ``points`` (n m, 2) all pairs of them."""

    axes: tuple[np.ndarray, np.ndarray]
    points: np.ndarray


def make_grid(bounds: Sequence[tuple[float, float]], size: tuple[int, int]) -> Grid:
    """Evenly spaced points over a box of positions and speeds."""
    positions, speeds = (
        np.linspace(low, high, n) for (low, high), n in zip(bounds, size, strict=True)
    )
    points = np.stack(np.meshgrid(positions, speeds, indexing="ij"), axis=-1).reshape(-1, 2)
    return Grid((positions, speeds), points)


def drive(cars: np.ndarray, thrust: Any) -> np.ndarray:
    """Return cars (N, 2) one step later; ``thrust`` is a number or (N,)."""
    position, speed = cars.T
    zone = (position >= ZONE) & (speed >= 0.0)
    return drive_cars(cars, np.where(zone, 1, thrust), RIGHT_END)


def exits_of(cars: np.ndarray) -> np.ndarray:
    """Return the exit (N,) that each of the cars (N, 2) is in."""
    position, speed = cars[:, POSITION], cars[:, SPEED]
    right = (position >= RIGHT_END) & (speed >= 0.0)
    distance = (position - BOTTOM) ** 2 + STRETCH * speed**2
    return np.where(right, RIGHT_EXIT, np.where(distance <= SIZE, LEFT_EXIT, INSIDE))


def interpolation_matrix(grid: Grid, cars: np.ndarray) -> Any:
    """The sparse matrix (N, n m) of bilinear interpolation between the grid's points."""
    from scipy import sparse

    low, share = [], []
    for axis, component in zip(grid.axes, cars.T, strict=True):
        coordinate = (component - axis[0]) / (axis[-1] - axis[0]) * (axis.size - 1)
        below = np.clip(np.floor(coordinate).astype(int), 0, axis.size - 2)
        low.append(below)
        share.append(coordinate - below)
    columns, weights = [], []
    for up, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        columns.append((low[0] + up) * grid.axes[1].size + low[1] + across)
        weights.append(np.abs(1 - up - share[0]) * np.abs(1 - across - share[1]))
    rows = np.tile(np.arange(len(cars)), 4)
    entries = np.concatenate(weights), (rows, np.concatenate(columns))
    return sparse.csr_matrix(entries, shape=(len(cars), len(grid.points)))


def lookahead(
    domain: LocaMountainCar, grid: Grid, cars: np.ndarray, pays: Pays
) -> list[tuple[np.ndarray, Any]]:
    """Rewards (N,) and γ P (N, n m) of every thrust."""
    steps = []
    for thrust in THRUSTS:
        successors = drive(cars, thrust)
        exits = exits_of(successors)
        alive = (exits == INSIDE).astype(float)
        future = interpolation_matrix(grid, successors).multiply(DISCOUNT * alive[:, None]).tocsr()
        steps.append((np.array([0.0, *pays])[exits], future))
    if domain.noise == 0.0:
        return steps
    intended, share = 1.0 - domain.noise, domain.noise / len(steps)
    rewards, future = (sum(parts) * share for parts in zip(*steps, strict=True))
    return [(intended * step[0] + rewards, intended * step[1] + future) for step in steps]


def action_values(steps: list[tuple[np.ndarray, Any]], values: np.ndarray) -> np.ndarray:
    """r + γ v(s') for every thrust: (A, N)."""
    return np.stack([rewards + future @ values for rewards, future in steps])


def grid_values(domain: LocaMountainCar, grid: Grid, pays: Pays) -> np.ndarray:
    """Optimal values of the grid's points, by value iteration."""
    steps = lookahead(domain, grid, grid.points, pays)
    values = np.zeros(len(grid.points))
    while True:
        old, values = values, action_values(steps, values).max(axis=0)
        if np.abs(values - old).max() <= TOLERANCE:
            return values


def greedy_returns(
    domain: LocaMountainCar,
    grid: Grid,
    values: np.ndarray,
    believed: Pays,
    pays: Pays,
    cars: np.ndarray,
) -> np.ndarray:
    """Discounted returns (N,) of acting greedily on optimal values for ``believed`` pays."""
    rng = np.random.default_rng(0)
    cars = np.repeat(cars, NOISY_EPISODES if domain.noise > 0.0 else 1, axis=0)
    returns, inside = np.zeros(len(cars)), np.arange(len(cars))
    for step in range(HORIZON):
        best = action_values(lookahead(domain, grid, cars, believed), values).argmax(axis=0)
        random = rng.random(best.size) < domain.noise
        best[random] = rng.integers(len(THRUSTS), size=best.size)[random]
        cars = drive(cars, np.array(THRUSTS)[best])
        exits = exits_of(cars)
        returns[inside] += DISCOUNT**step * np.array([0.0, *pays])[exits]
        inside, cars = inside[exits == INSIDE], cars[exits == INSIDE]
        if inside.size == 0:
            break
    return returns


def car_references(
    domain: LocaMountainCar, *, size: tuple[int, int] = (341, 141), starts: int = 11
) -> References:
    """Mean returns from ``starts`` × ``starts`` evaluation starts, by a grid of ``size`` points."""
    grid = make_grid(domain.bounds, size)
    cars = make_grid(EVALUATION_STARTS, (starts, starts)).points
    old, new = (domain.left_reward, domain.right_reward), (domain.left_reward, domain.later_reward)
    old_values, new_values = (grid_values(domain, grid, pays) for pays in (old, new))
    cases = ((old_values, old, old), (new_values, new, new), (old_values, old, new))
    return References(
        *(
            float(greedy_returns(domain, grid, values, believed, pays, cars).mean())
            for values, believed, pays in cases
        )
    )


@lru_cache
def reference_levels(domain: Domain, phases: int) -> list[dict[str, float]]:
    """Reference returns of each phase by name; empty for other domains."""
    if not isinstance(domain, LocaMountainCar):
        return [{} for _ in range(phases)]
    references = car_references(domain)
    after = {"optimum": references.after, "outdated policy": references.outdated}
    return [{"optimum": references.before}, *(after for _ in range(phases - 1))]
