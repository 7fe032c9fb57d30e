"""Ten environments that agents without settings are judged on; nothing is chosen on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np

import expectant as ex

TORQUES = np.array([[-2.0], [0.0], [2.0]], np.float32)


def pendulum() -> Any:
    """Pendulum-v1 with three torques instead of any between −2 and 2."""
    world = gymnasium.make("Pendulum-v1")
    actions = gymnasium.spaces.Discrete(len(TORQUES))
    return gymnasium.wrappers.TransformAction(world, lambda action: TORQUES[action], actions)


class PlaceAndDirection(gymnasium.ObservationWrapper):
    """What MiniGrid's agent sees as where it is and where it looks: enough in an empty room."""

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        inner = world.unwrapped
        self.observation_space = gymnasium.spaces.MultiDiscrete([inner.width, inner.height, 4])

    def observation(self, observation: Any) -> np.ndarray:
        inner: Any = self.unwrapped
        return np.array([*inner.agent_pos, inner.agent_dir], np.int64)


def minigrid() -> Any:
    """MiniGrid's empty room of 5 × 5 (the package minigrid)."""
    import minigrid  # noqa: F401 (registers its environments)

    return PlaceAndDirection(gymnasium.make("MiniGrid-Empty-5x5-v0"))


class Judged(NamedTuple):
    """An environment and how long it is tried; ``step_limit`` where it has none of its own."""

    environment: Any
    episodes: int
    step_limit: int | None = None
    options: dict[str, Any] = {}  # noqa: RUF012 (never written to)

    def domain(self) -> ex.Domain:
        return ex.Gym(self.environment, **self.options)


TEN = {
    "CliffWalking": Judged("CliffWalking-v1", 150, 500),
    "Taxi": Judged("Taxi-v4", 200),
    "FrozenLake 4×4": Judged("FrozenLake-v1", 1_000),
    "FrozenLake 8×8": Judged("FrozenLake8x8-v1", 500),
    "Blackjack": Judged("Blackjack-v1", 5_000, 100),
    "CartPole": Judged("CartPole-v1", 100),
    "Acrobot": Judged("Acrobot-v1", 20),
    "MountainCar": Judged("MountainCar-v0", 100),
    "Pendulum, three torques": Judged("ten_environments:pendulum", 40),
    "MiniGrid, empty 5×5": Judged("ten_environments:minigrid", 100, 100),
}
