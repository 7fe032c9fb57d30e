"""Random tasks: branching ones, large and without any structure, and lotteries."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from expectant.core.config import parameter
from expectant.core.rng import SEED
from expectant.core.rules import between, flag, whole
from expectant.domains.finite import END, FiniteMDP, TabularDomain


def _distinct(rng: np.random.Generator, size: int, count: int, rows: int) -> np.ndarray:
    """Rows of ``count`` different numbers below ``size``, in any order (Floyd's algorithm).

    As many calls of ``rng.choice`` draw the same numbers, a hundred times slower.
    """
    last = np.arange(size - count, size)
    places = np.arange(count - 1, 0, -1)
    bounds = np.concatenate([last, places])
    drawn = rng.integers(0, bounds, size=(rows, bounds.size), endpoint=True)
    found = np.empty((rows, count), np.int64)
    for column in range(count):
        wanted = drawn[:, column]
        taken = (found[:, :column] == wanted[:, None]).any(axis=1)
        found[:, column] = np.where(taken, last[column], wanted)
    each = np.arange(rows)
    for place, other in zip(places, drawn[:, count:].T, strict=True):
        swapped = found[each, other]
        found[each, other] = found[:, place]
        found[:, place] = swapped
    return found


@lru_cache(maxsize=16)  # a run asks more than once, and several run at a time
def _task_of(task: Any, run: int) -> Any:
    return replace(task, task_seed=task.task_seed + run, task_per_run=False)


class Branching(TabularDomain):
    """A random task: every action leads to one of a few states (Sutton & Barto, figure 8.8).

    Dynamics
        in each of ``states`` states, each of ``actions`` actions leads to one of ``branches``
        different states, equally likely, which are drawn once for the task.
    Reward
        of every transition a fixed number, drawn once for the task from a normal distribution of
        mean 0 and variance 1. That of the end is 0, or with ``ends_pay`` drawn like the others.
    Start
        state 0.
    End
        with probability ``ending`` at every step, instead of going on.

    The task is drawn from ``task_seed`` alone, so all runs of an experiment share it; or with
    ``task_per_run`` each has its own, run r that of ``task_seed`` + r. Exact answers are then those
    of run 0.
    """

    states: int = parameter(whole(1), default=1000)
    branches: int = parameter(whole(1), default=1)
    actions: int = parameter(whole(1), default=2)
    ending: float = parameter(between(0, 1), default=0.1)
    ends_pay: bool = parameter(flag(), default=False)
    task_seed: int = parameter(SEED, default=0)
    task_per_run: bool = parameter(flag(), default=False)

    def validate(self) -> None:
        if self.branches > self.states:
            raise ValueError(
                f"Branching: branches must be at most states={self.states}, got {self.branches}"
            )

    def for_run(self, number: int) -> Branching:
        return _task_of(self, number) if self.task_per_run else self

    def table(self) -> FiniteMDP:
        rng = np.random.Generator(np.random.PCG64(self.task_seed))
        shape = (self.states, self.actions, self.branches)
        drawn = _distinct(rng, self.states, self.branches, self.states * self.actions)
        rewards = rng.standard_normal((self.states, self.actions, self.branches + 1))
        if not self.ends_pay:
            rewards[..., -1] = 0.0
        chances = np.full(self.branches + 1, (1.0 - self.ending) / self.branches)
        chances[-1] = self.ending
        ends = np.full((self.states, self.actions, 1), END)
        return FiniteMDP(
            probabilities=np.broadcast_to(chances, rewards.shape),
            rewards=rewards,
            successors=np.concatenate([np.reshape(drawn, shape), ends], axis=-1),
            start=np.eye(1, self.states)[0],
            endless=self.ending == 0.0,
        )


class Lottery(TabularDomain):
    """A single draw among some prizes (Sutton & Barto 2018, figure 8.7).

    Dynamics
        one state and one action, which ends the episode.
    Reward
        one of ``prizes`` numbers, equally likely, which are drawn once from a normal distribution
        of mean 0 and variance 1.
    Start
        the one state.
    End
        after one step.

    The prizes are drawn from ``task_seed`` alone, so all runs of an experiment share them; or with
    ``task_per_run`` each has its own, run r those of ``task_seed`` + r. Exact answers are then
    those of run 0.
    """

    prizes: int = parameter(whole(1), default=10)
    task_seed: int = parameter(SEED, default=0)
    task_per_run: bool = parameter(flag(), default=False)

    def for_run(self, number: int) -> Lottery:
        return _task_of(self, number) if self.task_per_run else self

    def sampling_error(self, samples: np.ndarray) -> np.ndarray:
        """The squared error of the mean of so many draws, on average over lotteries."""
        with np.errstate(divide="ignore"):
            error = (self.prizes - 1) / (self.prizes * np.asarray(samples, float))
        return np.where(np.asarray(samples) > 0, error, np.nan)

    def table(self) -> FiniteMDP:
        rng = np.random.Generator(np.random.PCG64(self.task_seed))
        shape = (1, 1, self.prizes)
        return FiniteMDP(
            probabilities=np.full(shape, 1.0 / self.prizes),
            rewards=rng.standard_normal(shape),
            successors=np.full(shape, END),
        )
