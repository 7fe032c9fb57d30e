"""The puddle world (Sutton 1996), a continuous domain on which defaults are chosen."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import expectant as ex
from expectant.extend import function, observation, reset, step

RADIUS = 0.1  # of a puddle
GOAL = 1.9  # x + y from which on the corner is reached


class PuddlePart(NamedTuple):
    """``position`` (2,) is x and y, ``puddles`` (2, 4) the ends of the two lines that are wet."""

    position: np.ndarray
    puddles: np.ndarray
    stride: float
    noise: float
    depth: float


@function
def distance(puddles, row, x, y):
    """Return the distance of a point from a line from (x1, y1) to (x2, y2)."""
    x1, y1, x2, y2 = puddles[row, 0], puddles[row, 1], puddles[row, 2], puddles[row, 3]
    across, up = x2 - x1, y2 - y1
    share = ((x - x1) * across + (y - y1) * up) / (across * across + up * up)
    share = min(max(share, 0.0), 1.0)
    return math.hypot(x - x1 - share * across, y - y1 - share * up)


@reset.register(PuddlePart)
def _(world, episode, rng):
    world.position[0], world.position[1] = rng.random(), rng.random()
    while world.position[0] + world.position[1] >= GOAL:
        world.position[0], world.position[1] = rng.random(), rng.random()


@step.register(PuddlePart)
def _(world, action, rng):
    """0 to 3: right, up, left, down."""
    stride = world.stride if action < 2 else -world.stride
    position = world.position
    for axis in range(2):
        moved = stride if action % 2 == axis else 0.0
        position[axis] = min(
            max(position[axis] + moved + world.noise * rng.standard_normal(), 0.0), 1.0
        )
    reward = -1.0
    for row in range(world.puddles.shape[0]):
        within = RADIUS - distance(world.puddles, row, position[0], position[1])
        reward -= world.depth * max(within, 0.0)
    return reward, 0.0 if position[0] + position[1] >= GOAL else 1.0


@observation.register(PuddlePart)
def _(world):
    return world.position


class PuddleWorld(ex.Domain):
    """A square with two puddles, to be crossed to its upper right corner from anywhere.

    Moves of ``stride`` with Gaussian noise cost 1, and ``depth`` per unit of the way into a puddle.
    """

    stride: float = ex.parameter(ex.rules.between(0, 1), default=0.05)
    noise: float = ex.parameter(ex.rules.at_least(0), default=0.01)
    depth: float = ex.parameter(ex.rules.at_least(0), default=400.0)
    actions = 4
    bounds = ((0.0, 1.0), (0.0, 1.0))
    step_limit = 500

    def build(self, rng: np.random.Generator) -> Any:
        puddles = np.array([[0.1, 0.75, 0.45, 0.75], [0.45, 0.4, 0.45, 0.8]])
        return PuddlePart(np.zeros(2), puddles, self.stride, self.noise, self.depth)
