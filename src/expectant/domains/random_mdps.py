"""Random tasks: branching MDPs and lotteries of the textbook, and Garnet MDPs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from expectant.core.config import parameter
from expectant.core.rng import SEED
from expectant.core.rules import at_least, between, flag, or_none, whole
from expectant.domains.finite import END, FiniteMDP, TabularDomain


def _sample_distinct(rng: np.random.Generator, size: int, count: int, rows: int) -> np.ndarray:
    """Draw rows of ``count`` distinct numbers below ``size`` (Floyd's algorithm).

    Equal to ``rng.choice(size, count, replace=False)`` for every row, a hundred times faster.
    """
    last = np.arange(size - count, size)
    positions = np.arange(count - 1, 0, -1)
    bounds = np.concatenate([last, positions])
    drawn = rng.integers(0, bounds, size=(rows, bounds.size), endpoint=True)
    samples = np.empty((rows, count), np.int64)
    for column in range(count):
        candidates = drawn[:, column]
        repeated = (samples[:, :column] == candidates[:, None]).any(axis=1)
        samples[:, column] = np.where(repeated, last[column], candidates)
    row = np.arange(rows)
    for position, other in zip(positions, drawn[:, count:].T, strict=True):  # shuffle
        swapped = samples[row, other]
        samples[row, other] = samples[:, position]
        samples[:, position] = swapped
    return samples


class RandomTask(TabularDomain, abstract=True):
    """A random MDP, the same in all runs, or a new one in every run."""

    task_seed: int = parameter(SEED, default=0, kw_only=True, meaning="seed of the task")
    task_per_run: bool = parameter(flag(), default=False, kw_only=True)

    def for_run(self, number: int) -> RandomTask:
        return _task_of_run(self, number) if self.task_per_run else self

    @property
    def rng(self) -> np.random.Generator:
        """A generator that draws the task."""
        return np.random.Generator(np.random.PCG64(self.task_seed))


@lru_cache(maxsize=16)
def _task_of_run(task: RandomTask, run: int) -> RandomTask:
    return replace(task, task_seed=task.task_seed + run, task_per_run=False)


class Branching(RandomTask):
    """A random MDP with a branching factor (Sutton & Barto 2018, figure 8.8).

    Dynamics
        each of ``actions`` actions in each of ``states`` states leads to one of ``branches``
        distinct states, equally likely. The task fixes these states.
    Reward
        a fixed number for every transition, drawn from N(0, 1) with the task. The last transition
        pays 0, or with ``ends_pay`` a number drawn like the others.
    Start
        state 0.
    End
        with probability ``ending`` at every step.
    """

    states: int = parameter(whole(1), default=1000, meaning="states of the task")
    branches: int = parameter(whole(1), default=1, meaning="states that an action can lead to")
    actions: int = parameter(whole(1), default=2, meaning="actions in every state")
    ending: float = parameter(between(0, 1), default=0.1)
    ends_pay: bool = parameter(flag(), default=False, meaning="draw a reward for the end too")

    def validate(self) -> None:
        if self.branches > self.states:
            raise ValueError(
                f"Branching: branches must be at most states={self.states}, got {self.branches}"
            )

    def table(self) -> FiniteMDP:
        rng = self.rng
        shape = (self.states, self.actions, self.branches)
        targets = _sample_distinct(rng, self.states, self.branches, self.states * self.actions)
        rewards = rng.standard_normal((self.states, self.actions, self.branches + 1))
        if not self.ends_pay:
            rewards[..., -1] = 0.0
        probabilities = np.full(self.branches + 1, (1.0 - self.ending) / self.branches)
        probabilities[-1] = self.ending
        ends = np.full((self.states, self.actions, 1), END)
        return FiniteMDP(
            probabilities=np.broadcast_to(probabilities, rewards.shape),
            rewards=rewards,
            successors=np.concatenate([np.reshape(targets, shape), ends], axis=-1),
            start=np.eye(1, self.states)[0],
            endless=self.ending == 0.0,
        )


class Garnet(RandomTask):
    """A random MDP (Archibald, McKinnon & Thomas 1995; Bhatnagar et al. 2009).

    Dynamics
        each of ``actions`` actions in each of ``states`` states leads to one of ``branching``
        distinct states. The task fixes these states and their probabilities, which are uniform over
        all distributions (Dirichlet).
    Reward
        every state and action has a mean, drawn from N(0, 1) with the task; only a fraction
        ``paying`` of them pays, the others have mean 0. The outcomes of an action differ from its
        mean by N(0, ``noise``²), drawn with the task. With ``switch_every`` there are four tasks
        in turn that differ in their rewards.
    Start
        uniform over all states.
    End
        with probability ``ending`` at every step.
    """

    states: int = parameter(whole(1), default=50, meaning="states of the task")
    actions: int = parameter(whole(1), default=4, meaning="actions in every state")
    branching: int = parameter(whole(1), default=3, meaning="states that an action can lead to")
    ending: float = parameter(between(0, 1), default=0.03)
    paying: float = parameter(between(0, 1), default=1.0)
    noise: float = parameter(at_least(0.0), default=0.0)
    switch_every: int | None = parameter(or_none(whole(1)), default=None, kw_only=True)

    def validate(self) -> None:
        if self.branching > self.states:
            raise ValueError(
                f"Garnet: branching must be at most states={self.states}, got {self.branching}"
            )
        if self.switch_every is not None and self.ending == 0.0:
            raise ValueError("Garnet: switch_every counts episodes, which ending=0 never ends")

    def table(self) -> FiniteMDP:
        rng = self.rng
        pairs, shape = self.states * self.actions, (self.states, self.actions)
        targets = _sample_distinct(rng, self.states, self.branching, pairs)
        probabilities = rng.dirichlet(np.ones(self.branching), pairs) * (1.0 - self.ending)
        outcomes = (*shape, self.branching + 1)

        def draw_rewards() -> np.ndarray:
            means = rng.standard_normal(shape) * (rng.random(shape) < self.paying)
            return means[..., None] + self.noise * rng.standard_normal(outcomes)

        phases = 1 if self.switch_every is None else 4
        rewards = np.array([draw_rewards() for _ in range(phases)])
        return FiniteMDP(
            probabilities=np.c_[probabilities, np.full(pairs, self.ending)].reshape(outcomes),
            rewards=rewards,
            successors=np.c_[targets, np.full(pairs, END)].reshape(outcomes),
            endless=self.ending == 0.0,
            switch_every=self.switch_every,
        )


class Lottery(RandomTask):
    """A single random reward (Sutton & Barto 2018, figure 8.7).

    Dynamics
        one state and one action, which ends the episode.
    Reward
        one of ``prizes`` numbers, equally likely, drawn from N(0, 1) with the task.
    """

    prizes: int = parameter(whole(1), default=10, meaning="equally likely rewards")

    def sampling_error(self, samples: np.ndarray) -> np.ndarray:
        """Expected squared error of the mean of ``samples`` draws, over all lotteries."""
        with np.errstate(divide="ignore"):
            error = (self.prizes - 1) / (self.prizes * np.asarray(samples, float))
        return np.where(np.asarray(samples) > 0, error, np.nan)

    def table(self) -> FiniteMDP:
        rng = self.rng
        shape = (1, 1, self.prizes)
        return FiniteMDP(
            probabilities=np.full(shape, 1.0 / self.prizes),
            rewards=rng.standard_normal(shape),
            successors=np.full(shape, END),
        )
