"""The mountain car, and the mountain car driven by a fixed policy, for prediction."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Domain, Drawing, Exit, ReferenceValues
from expectant.core.rules import between, number, or_none, whole
from expectant.core.verbs import delegate, function, observation, reset, step

POSITION, SPEED = 0, 1
LEFT_END, RIGHT_END, MAX_SPEED, FORCE, GRAVITY = -1.2, 0.6, 0.07, 0.001, 0.0025
GOAL, MIN_START, MAX_START = 0.5, -0.6, -0.4


class MountainCarPart(NamedTuple):
    """``car`` (2,) is position and speed."""

    car: np.ndarray
    goal_velocity: float
    reward: float


@function
def drive_car(car, thrust, right_end):
    """Advance a car (2,) by one step with a thrust of −1, 0 or 1; the left wall stops it."""
    pull = math.cos(3.0 * car[POSITION]) * (-GRAVITY)
    speed = car[SPEED] + (thrust * FORCE + pull)
    speed = min(max(speed, -MAX_SPEED), MAX_SPEED)
    position = min(max(car[POSITION] + speed, LEFT_END), right_end)
    if position == LEFT_END and speed < 0.0:
        speed = 0.0
    car[POSITION] = position
    car[SPEED] = speed


def drive_cars(cars: np.ndarray, thrust: Any, right_end: float) -> np.ndarray:
    """``drive_car`` for cars (n, 2), returned as a new array; ``thrust`` is a number or (n,)."""
    position, speed = cars.T
    pull = np.cos(3.0 * position) * (-GRAVITY)
    speed = np.clip(speed + (thrust * FORCE + pull), -MAX_SPEED, MAX_SPEED)
    position = np.clip(position + speed, LEFT_END, right_end)
    stopped = (position == LEFT_END) & (speed < 0.0)
    return np.stack([position, np.where(stopped, 0.0, speed)], axis=1)


@reset.register(MountainCarPart)
def _(domain, episode, rng):
    domain.car[POSITION] = MIN_START + (MAX_START - MIN_START) * rng.random()
    domain.car[SPEED] = 0.0


@step.register(MountainCarPart)
def _(domain, action, rng):
    car = domain.car
    drive_car(car, action - 1, RIGHT_END)
    if car[POSITION] >= GOAL and car[SPEED] >= domain.goal_velocity:
        return domain.reward, 0.0
    return domain.reward, 1.0


@observation.register(MountainCarPart)
def _(domain):
    return domain.car


def car_drawing(exits: tuple[Exit, ...], phases: tuple[str, ...] = ("",)) -> Drawing:
    """Drawing of the plane of positions and speeds."""
    pushes = ("push left", "no push", "push right")
    return Drawing(("position", "speed"), pushes, exits=exits, phases=phases)


class MountainCar(Domain):
    """The mountain car of Gymnasium's MountainCar-v0 (Moore 1990).

    Observation
        position and speed, as float64 (Gymnasium rounds the same numbers to float32).
    Dynamics
        push left (0), no push (1) or push right (2). speed += 0.001 (action − 1) − 0.0025 cos(3
        position), then position += speed, clipped to [−0.07, 0.07] and [−1.2, 0.6]; the wall on the
        left stops the car.
    Reward
        ``reward`` on every step.
    Start
        at rest, uniform between −0.6 and −0.4.
    End
        at 0.5 or beyond, at ``goal_velocity`` or faster. Truncated after ``step_limit`` steps.
    """

    goal_velocity: float = parameter(number(), default=0.0, meaning="the least speed at the goal")
    reward: float = parameter(number(), default=-1.0, meaning="reward of every step")
    step_limit: int | None = parameter(or_none(whole(1)), default=200)

    @property
    def actions(self) -> int:
        return 3

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return (LEFT_END, RIGHT_END), (-MAX_SPEED, MAX_SPEED)

    @property
    def sketch(self) -> Drawing:
        return car_drawing((Exit(GOAL, 0.0, ()),))

    def build(self, rng: np.random.Generator) -> MountainCarPart:
        return MountainCarPart(np.zeros(2), self.goal_velocity, self.reward)


LEFT, PUSHES, RIGHT = 0, 3, 2
# Monte-Carlo reference values: trajectories that states are drawn from, states, returns per state
TRAJECTORIES, OBSERVATIONS, RETURNS = 50, 100, 400
REFERENCE_SEED = 2008
HORIZON = 5_000


class DrivenCarPart(NamedTuple):
    """``driven`` is the car; with probability ``noise`` the action is random."""

    driven: MountainCarPart
    noise: float


delegate(DrivenCarPart, "driven", reset, observation)


@step.register(DrivenCarPart)
def _(domain, action, rng):
    action = RIGHT if domain.driven.car[SPEED] >= 0.0 else LEFT
    if rng.random() < domain.noise:
        action = int(rng.random() * PUSHES)
    return step(domain.driven, action, rng)


class DrivenCar(MountainCar):
    """The mountain car under a fixed policy, for prediction (Sutton et al. 2008).

    Dynamics
        a single action. The policy pushes in the direction of motion, to the right at rest; with
        probability ``noise`` its action is uniform over the three.
    Observation, reward, start, end
        as in ``MountainCar``. Truncated after ``step_limit`` steps.
    """

    step_limit: int | None = parameter(or_none(whole(1)), default=1000)
    noise: float = parameter(between(0, 1), default=0.1)

    @property
    def actions(self) -> int:
        return 1

    @property
    def sketch(self) -> Drawing:
        return Drawing(("position", "speed"), ("drive",), exits=(Exit(GOAL, 0.0, ()),))

    def build(self, rng: np.random.Generator) -> DrivenCarPart:  # type: ignore[override]
        return DrivenCarPart(super().build(rng), self.noise)

    def reference_values(self, discount: float) -> ReferenceValues:
        """Monte-Carlo values of states drawn from trajectories of the policy, with a fixed seed."""
        return _reference_values(self, discount)


@lru_cache(maxsize=8)
def _reference_values(domain: DrivenCar, discount: float) -> ReferenceValues:
    rng = np.random.Generator(np.random.PCG64(REFERENCE_SEED))
    visited = _sample_states(domain, TRAJECTORIES, rng)
    states = visited[rng.choice(len(visited), size=OBSERVATIONS, replace=False)]
    returns = sample_returns(domain, np.repeat(states, RETURNS, axis=0), discount, rng)
    by_state = returns.reshape(OBSERVATIONS, RETURNS)
    errors = by_state.std(axis=1, ddof=1) / np.sqrt(RETURNS)
    return ReferenceValues(states, by_state.mean(axis=1), errors)


def _sample_states(domain: DrivenCar, count: int, rng: np.random.Generator) -> np.ndarray:
    """All states (n, 2) of ``count`` trajectories."""
    cars = np.zeros((count, 2))
    cars[:, POSITION] = rng.uniform(MIN_START, MAX_START, count)
    visited = []
    while len(cars):
        visited.append(cars)
        cars, ended = _drive(domain, cars, rng)
        cars = cars[~ended]
    return np.concatenate(visited)


def sample_returns(
    domain: DrivenCar, cars: np.ndarray, discount: float, rng: np.random.Generator
) -> np.ndarray:
    """Discounted returns (n,) of one trajectory from each of the states (n, 2)."""
    returns, running, weight = np.zeros(len(cars)), np.arange(len(cars)), 1.0
    for _ in range(HORIZON):
        if not len(cars):
            break
        returns[running] += weight * domain.reward
        weight *= discount
        cars, ended = _drive(domain, cars, rng)
        cars, running = cars[~ended], running[~ended]
    return returns


def _drive(
    domain: DrivenCar, cars: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Cars (n, 2) after one step of the policy, and True (n,) for those at the goal."""
    thrust = np.where(cars[:, SPEED] >= 0.0, 1, -1)
    random = rng.random(len(cars)) < domain.noise
    thrust[random] = rng.integers(PUSHES, size=int(random.sum())) - 1
    cars = drive_cars(cars, thrust, RIGHT_END)
    fast = cars[:, SPEED] >= domain.goal_velocity
    return cars, (cars[:, POSITION] >= GOAL) & fast
