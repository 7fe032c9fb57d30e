"""Gymnasium's toy-text environments as arrays: the table ``P`` that they carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from expectant.domains.gym import Gym
from expectant.domains.outcomes import END
from expectant.domains.spaces import GymSource

Table = Mapping[int, Mapping[int, list[tuple[float, int, float, bool]]]]


class Tabled(NamedTuple):
    """``probabilities``, ``rewards``, ``successors`` (S, A, O); ``start`` (S,) if it is known."""

    probabilities: np.ndarray
    rewards: np.ndarray
    successors: np.ndarray
    start: ArrayLike | None


def tabled(source: GymSource | Table, **options: object) -> Tabled:
    """The arrays of a toy-text environment: its id, itself, or its table ``P``."""
    if isinstance(source, Mapping):
        return _arrays(source, None)
    made: Any = Gym(source, **dict[str, Any](options)).make()
    env = made.unwrapped
    if not hasattr(env, "P"):
        raise ValueError(
            f"FiniteMDP.from_gym: {source!r} has no table P of its transitions; only toy-text "
            "environments do"
        )
    table, start = env.P, getattr(env, "initial_state_distrib", None)
    env.close()
    return _arrays(table, start)


def _arrays(table: Table, start: ArrayLike | None) -> Tabled:
    states, actions = len(table), len(table[0])
    most = max(len(table[s][a]) for s in range(states) for a in range(actions))
    probabilities = np.zeros((states, actions, most))
    rewards = np.zeros((states, actions, most))
    successors = np.full((states, actions, most), END)
    for s in range(states):
        for a in range(actions):
            for o, (probability, successor, reward, ended) in enumerate(table[s][a]):
                probabilities[s, a, o], rewards[s, a, o] = probability, reward
                successors[s, a, o] = END if ended else successor
    return Tabled(probabilities, rewards, successors, start)
