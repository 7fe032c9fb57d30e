"""The mountain car: too weak to climb straight out of its valley, it has to swing up."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Domain, Drawing, Exit, ReferenceValues
from expectant.core.rules import Rule, between, number, or_none, whole
from expectant.core.verbs import function, observation, reset, step

POSITION, SPEED = 0, 1


def _positive(value: Any) -> float:
    result: float = number().convert(value)
    if result <= 0.0:
        raise ValueError
    return result


POSITIVE = Rule("a number above 0", _positive)


class Valley(NamedTuple):
    """What the car moves in: where it may be, how fast it may go, and what pushes it."""

    min_position: float
    max_position: float
    max_speed: float
    force: float
    gravity: float


class MountainCarPart(NamedTuple):
    """``car`` (2,) is the present position and speed."""

    car: np.ndarray
    valley: Valley
    goal_position: float
    goal_velocity: float
    min_start: float
    max_start: float
    reward: float


@function
def clipped(value, low, high):
    """The nearest number from ``low`` to ``high``."""
    if value < low:
        return low
    return high if value > high else value


@function
def drive_car(valley, car, thrust):
    """Move a car for one step with a thrust of −1, 0 or 1; the left wall stops it."""
    pull = math.cos(3.0 * car[POSITION]) * (-valley.gravity)
    speed = car[SPEED] + (thrust * valley.force + pull)
    speed = clipped(speed, -valley.max_speed, valley.max_speed)
    position = clipped(car[POSITION] + speed, valley.min_position, valley.max_position)
    if position == valley.min_position and speed < 0.0:
        speed = 0.0
    car[POSITION] = position
    car[SPEED] = speed


def drive_cars(valley: Valley, cars: np.ndarray, thrust: Any) -> np.ndarray:
    """Where cars (n, 2) are one step later; ``thrust`` is one number or (n,)."""
    position, speed = cars.T
    pull = np.cos(3.0 * position) * (-valley.gravity)
    speed = np.clip(speed + (thrust * valley.force + pull), -valley.max_speed, valley.max_speed)
    position = np.clip(position + speed, valley.min_position, valley.max_position)
    stopped = (position == valley.min_position) & (speed < 0.0)
    return np.stack([position, np.where(stopped, 0.0, speed)], axis=1)


@reset.register(MountainCarPart)
def _(domain, episode, rng):
    width = domain.max_start - domain.min_start
    domain.car[POSITION] = domain.min_start + width * rng.random()
    domain.car[SPEED] = 0.0


@step.register(MountainCarPart)
def _(domain, action, rng):
    car = domain.car
    drive_car(domain.valley, car, action - 1)
    if car[POSITION] >= domain.goal_position and car[SPEED] >= domain.goal_velocity:
        return domain.reward, 0.0
    return domain.reward, 1.0


@observation.register(MountainCarPart)
def _(domain):
    return domain.car


def car_drawing(exits: tuple[Exit, ...], phases: tuple[str, ...] = ("",)) -> Drawing:
    """A plane of positions and speeds."""
    pushes = ("push left", "no push", "push right")
    return Drawing(("position", "speed"), pushes, exits=exits, phases=phases)


class CarDomain(Domain, abstract=True):
    """A domain in which a car is pushed through a valley; its arguments say through which one."""

    min_position: float
    max_position: float
    max_speed: float
    force: float
    gravity: float

    @property
    def actions(self) -> int:
        return 3

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return (
            (self.min_position, self.max_position),
            (-self.max_speed, self.max_speed),
        )

    def valley(self) -> Valley:
        """The part of the dynamics that every mountain car has."""
        return Valley(
            self.min_position, self.max_position, self.max_speed, self.force, self.gravity
        )

    def check_order(self, *pairs: tuple[str, str]) -> None:
        """An error where the first of two arguments is not below the second."""
        for low, high in pairs:
            below, above = getattr(self, low), getattr(self, high)
            if not below < above:
                raise ValueError(
                    f"{type(self).__name__}: {low} must be below {high}={above!r}, "
                    f"got {low}={below!r}"
                )


class MountainCar(CarDomain):
    """A car in a valley that must gather speed to get out: Gymnasium's MountainCar-v0.

    Observation
        position and speed, as float64 (Gymnasium gives the same numbers as float32).
    Dynamics
        three actions: push left (0), nothing (1), push right (2). speed += (action − 1) ``force``
        − ``gravity`` cos(3 position), then position += speed, both clipped to their ranges; the
        wall on the left stops the car.
    Reward
        ``reward`` on every step.
    Start
        at rest, uniformly between ``min_start`` and ``max_start``.
    End
        at ``goal_position`` or beyond, at ``goal_velocity`` or faster. Episodes are cut off after
        ``step_limit`` steps, which is not an end.
    """

    min_position: float = parameter(number(), default=-1.2)
    max_position: float = parameter(number(), default=0.6)
    max_speed: float = parameter(POSITIVE, default=0.07)
    goal_position: float = parameter(number(), default=0.5)
    goal_velocity: float = parameter(number(), default=0.0)
    force: float = parameter(number(), default=0.001)
    gravity: float = parameter(number(), default=0.0025)
    min_start: float = parameter(number(), default=-0.6)
    max_start: float = parameter(number(), default=-0.4)
    reward: float = parameter(number(), default=-1.0)
    step_limit: int | None = parameter(or_none(whole(1)), default=200)

    def validate(self) -> None:
        self.check_order(
            ("min_position", "min_start"),
            ("min_start", "max_start"),
            ("max_start", "goal_position"),
        )
        if self.goal_position > self.max_position:
            raise ValueError(
                f"{type(self).__name__}: goal_position must be at most "
                f"max_position={self.max_position!r}, got {self.goal_position!r}"
            )

    @property
    def drawing(self) -> Drawing:
        return car_drawing((Exit(self.goal_position, 0.0, ()),))

    def build(self, rng: np.random.Generator) -> MountainCarPart:
        return MountainCarPart(
            np.zeros(2),
            self.valley(),
            self.goal_position,
            self.goal_velocity,
            self.min_start,
            self.max_start,
            self.reward,
        )


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

    step_limit: int | None = parameter(or_none(whole(1)), default=1000)
    noise: float = parameter(between(0, 1), default=0.1)

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

    def reference_values(self, discount: float) -> ReferenceValues:
        """What states on the way are worth, each the mean of many trips from there.

        The states are drawn from all that some journeys come to. Both are drawn once, from a seed
        of their own, so they are the same for everybody.
        """
        return _reference_values(self, discount)


@lru_cache(maxsize=8)  # every run of a cell asks
def _reference_values(domain: DrivenCar, discount: float) -> ReferenceValues:
    rng = np.random.Generator(np.random.PCG64(KNOWN_SEED))
    visited = journeys(domain, JOURNEYS, rng)
    chosen = visited[rng.choice(len(visited), size=OBSERVATIONS, replace=False)]
    earned = trips(domain, np.repeat(chosen, TRIPS, axis=0), discount, rng)
    by_state = earned.reshape(OBSERVATIONS, TRIPS)
    errors = by_state.std(axis=1, ddof=1) / np.sqrt(TRIPS)
    return ReferenceValues(chosen, by_state.mean(axis=1), errors)


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
