"""Random branching tasks: large problems without any structure."""

from __future__ import annotations

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.finite import FiniteMDP
from expectant.domains.outcomes import END
from expectant.domains.tabular import TabularDomain
from expectant.rules import between, flag, whole
from expectant.seeds import SEED


@description
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

    The task is drawn from ``task_seed`` alone: all runs of an experiment share it.
    """

    states: int = option(whole(1), default=1000)
    branches: int = option(whole(1), default=1)
    actions: int = option(whole(1), default=2)
    ending: float = option(between(0, 1), default=0.1)
    ends_pay: bool = option(flag(), default=False)
    task_seed: int = option(SEED, default=0)

    def validate(self) -> None:
        if self.branches > self.states:
            raise ValueError(
                f"Branching: branches must be at most states={self.states}, got {self.branches}"
            )

    def table(self) -> FiniteMDP:
        rng = np.random.Generator(np.random.PCG64(self.task_seed))
        shape = (self.states, self.actions, self.branches)
        pairs = self.states * self.actions
        drawn = [rng.choice(self.states, self.branches, replace=False) for _ in range(pairs)]
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
