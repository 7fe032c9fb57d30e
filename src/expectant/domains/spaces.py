"""What Gymnasium's spaces mean to these agents: numbered actions, numbers or vectors to observe."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

MOST_STATES = 1_000_000  # more combinations than that are better observed as a vector


class Observations(NamedTuple):
    """How observations are read: as numbers of states, or as vectors.

    ``states`` is how many states there are if they are numbered: the combinations of whole numbers
    below ``counts``, each from its ``starts`` on. Otherwise ``bounds`` has (low, high) of every
    component of a vector, where they are known.
    """

    states: int | None = None
    bounds: tuple[tuple[float, float], ...] | None = None
    counts: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()

    def read(self, observation: Any) -> Any:
        """An observation as a number or a flat array."""
        if self.states is None:
            return np.ravel(observation)
        if len(self.counts) == 1:
            return int(observation) - self.starts[0]
        number = 0
        for value, count, start in zip(
            np.ravel(observation), self.counts, self.starts, strict=True
        ):
            number = number * count + int(value) - start
        return number

    def buffer(self) -> np.ndarray:
        """An array that holds one observation."""
        return np.zeros(len(self.bounds or ())) if self.states is None else np.zeros(1, np.int64)


def numbers(states: int) -> Observations:
    """Observations that are the numbers of states."""
    return Observations(states, None, (states,), (0,))


def action_count(space: Any, owner: str) -> int:
    """How many actions a space has; an error where they are not numbered."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return int(space.n)
    advice = {
        "Box": "wrap it so that each number stands for one of some fixed actions "
        "(gymnasium.wrappers.TransformAction)",
        "MultiDiscrete": "wrap it so that one number stands for each combination of actions",
    }.get(type(space).__name__, "wrap it so that its actions are numbered from 0")
    raise ValueError(
        f"{owner}: these agents choose among numbered actions (Discrete), and its action space is "
        f"{space}: {advice}"
    )


def observations(space: Any, numbered: bool | None, owner: str) -> Observations:
    """How to read a space. ``numbered`` says whether whole numbers count as states or as a vector.

    Left open (None), they count as states where there are not too many of them.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        if numbered:
            raise ValueError(f"{owner}: numbered=True, but its observations are vectors: {space}")
        pairs = zip(space.low.ravel().tolist(), space.high.ravel().tolist(), strict=True)
        return Observations(bounds=tuple(pairs))
    if isinstance(space, spaces.Discrete):
        counts: tuple[int, ...] = (int(space.n),)
        starts: tuple[int, ...] = (int(space.start),)
    elif isinstance(space, spaces.MultiDiscrete):
        counts = tuple(int(n) for n in space.nvec.ravel())
        starts = tuple(int(n) for n in np.ravel(space.start))
    elif isinstance(space, spaces.MultiBinary):
        counts = (2,) * math.prod(space.shape)
        starts = (0,) * len(counts)
    else:
        raise ValueError(
            f"{owner}: observations of {type(space).__name__} are not numbers or vectors "
            "(Discrete, MultiDiscrete, MultiBinary or Box); gymnasium.wrappers.FlattenObservation "
            "makes one vector of them"
        )
    states = math.prod(counts)
    if numbered is None:
        numbered = states <= MOST_STATES
    if not numbered:
        limits = zip(counts, starts, strict=True)
        return Observations(bounds=tuple((float(s), float(s + n - 1)) for n, s in limits))
    return Observations(states, None, counts, starts)
