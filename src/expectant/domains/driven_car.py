"""The mountain car with a driver, whose journeys are to be predicted."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.mountain_car import (
    POSITION,
    SPEED,
    MountainCar,
    MountainCarPart,
    drive_cars,
)
from expectant.parts import Drawing, Exit, KnownValues
from expectant.rules import between, or_none, whole
from expectant.verbs import function, observation, reset, step

LEFT, PUSHES, RIGHT = 0, 3, 2
OBSERVATIONS, JOURNEYS, TRIPS = 100, 50, 400  # known values: states of journeys, trips from each
KNOWN_SEED = 2008
FAR = 5_000  # steps, by which every trip has ended


class DrivenCarPart(NamedTuple):
    """``driven`` is the car; with probability ``noise`` its driver does anything."""

    driven: MountainCarPart
    noise: float


@function
def steer(domain, rng):
    """Push the way the car moves, to the right at rest; at times any way."""
    if rng.random() < domain.noise:
        return int(rng.random() * PUSHES)
    return RIGHT if domain.driven.car[SPEED] >= 0.0 else LEFT


@reset.register(DrivenCarPart)
def _(domain, episode, rng):
    reset(domain.driven, episode, rng)


@step.register(DrivenCarPart)
def _(domain, action, rng):
    return step(domain.driven, steer(domain, rng), rng)


@observation.register(DrivenCarPart)
def _(domain):
    return domain.driven.car


@description
class DrivenCar(MountainCar):
    """The mountain car under a given policy: what is left to learn is how long a journey takes.

    Observation
        position and speed, as in ``MountainCar``.
    Dynamics
        a single action, to let the driver drive: it pushes the way the car moves, to the right at
        rest, and with probability ``noise`` it pushes left, right or not at all, each as likely
        (Sutton, Szepesvári, Geramifard & Bowling 2008).
    Reward
        ``reward`` on every step.
    Start
        as in ``MountainCar``.
    End
        as in ``MountainCar``. Episodes are cut off after ``step_limit`` steps.
    """

    step_limit: int | None = option(or_none(whole(1)), default=1000)
    noise: float = option(between(0, 1), default=0.1)

    @property
    def actions(self) -> int:
        return 1

    @property
    def drawing(self) -> Drawing:
        return Drawing(
            ("position", "speed"), ("drive",), exits=(Exit(self.goal_position, 0.0, ()),)
        )

    def build(self, rng: np.random.Generator) -> DrivenCarPart:  # type: ignore[override]
        return DrivenCarPart(super().build(rng), self.noise)

    def known_values(self, discount: float) -> KnownValues:
        """What states on the way are worth, each the mean of many trips from there.

        The states are drawn from all that some journeys come to. Both are drawn once, from a seed
        of their own, so they are the same for everybody.
        """
        return _known_values(self, discount)


@lru_cache(maxsize=8)  # every run of a cell asks
def _known_values(domain: DrivenCar, discount: float) -> KnownValues:
    rng = np.random.Generator(np.random.PCG64(KNOWN_SEED))
    visited = journeys(domain, JOURNEYS, rng)
    chosen = visited[rng.choice(len(visited), size=OBSERVATIONS, replace=False)]
    earned = trips(domain, np.repeat(chosen, TRIPS, axis=0), discount, rng)
    by_state = earned.reshape(OBSERVATIONS, TRIPS)
    errors = by_state.std(axis=1, ddof=1) / np.sqrt(TRIPS)
    return KnownValues(chosen, by_state.mean(axis=1), errors)


def journeys(domain: DrivenCar, count: int, rng: np.random.Generator) -> np.ndarray:
    """All states (n, 2) that so many journeys from the start come to."""
    cars = np.zeros((count, 2))
    cars[:, POSITION] = rng.uniform(domain.min_start, domain.max_start, count)
    visited = []
    while len(cars):
        visited.append(cars)
        cars = _moved(domain, cars, rng)
        cars = cars[~_arrived(domain, cars)]
    return np.concatenate(visited)


def trips(
    domain: DrivenCar, cars: np.ndarray, discount: float, rng: np.random.Generator
) -> np.ndarray:
    """The discounted returns (n,) of trips from states (n, 2) to the goal."""
    returns, going, weight = np.zeros(len(cars)), np.arange(len(cars)), 1.0
    for _ in range(FAR):
        if not len(cars):
            break
        returns[going] += weight * domain.reward
        weight *= discount
        cars = _moved(domain, cars, rng)
        on = ~_arrived(domain, cars)
        cars, going = cars[on], going[on]
    return returns


def _moved(domain: DrivenCar, cars: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One step of many cars at once, as their drivers steer."""
    thrust = np.where(cars[:, SPEED] >= 0.0, 1, -1)
    astray = rng.random(len(cars)) < domain.noise
    thrust[astray] = rng.integers(PUSHES, size=int(astray.sum())) - 1
    return drive_cars(domain.valley(), cars, thrust)


def _arrived(domain: DrivenCar, cars: np.ndarray) -> np.ndarray:
    return (cars[:, POSITION] >= domain.goal_position) & (cars[:, SPEED] >= domain.goal_velocity)
