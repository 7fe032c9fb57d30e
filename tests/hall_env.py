"""A small hall as a compiled domain and as a Gymnasium environment, also with faults."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import expectant as ex
from expectant.core.verbs import observation, reset, step

CELLS = 6


class HallPart(NamedTuple):
    cell: np.ndarray


@reset.register(HallPart)
def _(hall, episode, rng):
    hall.cell[0] = episode % (CELLS - 1)


@step.register(HallPart)
def _(hall, action, rng):
    """1 forward, 0 back; the end pays 1, every step costs a tenth."""
    hall.cell[0] = max(hall.cell[0] + 2 * action - 1, 0)
    return (0.9, 0.0) if hall.cell[0] == CELLS - 1 else (-0.1, 1.0)


@observation.register(HallPart)
def _(hall):
    return hall.cell


class Hall(ex.Domain):
    """A deterministic hall, in which only the agent uses random numbers."""

    actions = 2
    states = CELLS

    def build(self, rng: np.random.Generator) -> HallPart:
        return HallPart(np.zeros(1, np.int64))


class HallEnv(gymnasium.Env[Any, Any]):
    """The hall as an environment; ``seeds`` and ``closed`` record calls."""

    def __init__(self, observation_space: Any = None, action_space: Any = None) -> None:
        self.observation_space = observation_space or gymnasium.spaces.Discrete(CELLS)
        self.action_space = action_space or gymnasium.spaces.Discrete(2)
        self.episode, self.cell = -1, 0
        self.seeds: list[int | None] = []
        self.closed = False

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.seeds.append(seed)
        self.episode += 1
        self.cell = self.episode % (CELLS - 1)
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.cell = max(self.cell + 2 * (int(action) - self.first_action()) - 1, 0)
        ended = self.cell == CELLS - 1
        return self.seen(), 0.9 if ended else -0.1, ended, False, {}

    def first_action(self) -> int:
        return int(getattr(self.action_space, "start", 0))

    def seen(self) -> Any:
        space: Any = self.observation_space
        if isinstance(space, gymnasium.spaces.Box):
            return np.full(space.shape, self.cell, space.dtype)
        if isinstance(space, gymnasium.spaces.MultiDiscrete):
            return np.array(divmod(self.cell, 3))
        return np.int64(self.cell + space.start)

    def close(self) -> None:
        self.closed = True


class Motor(Exception):
    """An exception whose constructor takes other arguments than its message."""

    def __init__(self, name: str, current: float) -> None:
        super().__init__(f"{name} broke at {current} A")


class Troubled(HallEnv):
    """Observations of two numbers, and one kind of ``trouble`` in the third step."""

    def __init__(self, trouble: str = "none") -> None:
        super().__init__(gymnasium.spaces.Box(0.0, float(CELLS), (2,)))
        self.trouble, self.taken = trouble, 0

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        seen, reward, _, _, info = super().step(action)
        if self.taken == 3:
            if self.trouble == "fails":
                raise Motor("left", 2.5)
            if self.trouble == "hangs":
                time.sleep(1000.0)
            if self.trouble == "dies":
                os._exit(3)
            if self.trouble == "nan":
                seen = np.array([0.0, np.nan])
            if self.trouble == "shape":
                seen = np.zeros(3)
        return seen, reward, False, self.taken % 5 == 0, info


class FailsIn(HallEnv):
    """Fails in its second step in some ``runs``, which it identifies by their seeds."""

    def __init__(self, runs: Sequence[int] = (), dies: bool = False) -> None:
        super().__init__()
        self.runs, self.dies, self.run, self.taken = runs, dies, -1, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            seeds = [ex.Gym(HallEnv).make_env(0, run).seed for run in range(40)]
            self.run, self.taken = seeds.index(seed), 0
        return super().reset(options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        if self.run in self.runs and self.taken == 2:
            if self.dies:
                os._exit(3)
            raise RuntimeError("motor broke")
        return super().step(action)
