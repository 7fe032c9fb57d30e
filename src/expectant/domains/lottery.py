"""One state, one action and some equally likely prizes: what sampling is worth."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.finite import FiniteMDP, TabularDomain
from expectant.domains.outcomes import END
from expectant.rules import flag, whole
from expectant.seeds import SEED


@lru_cache(maxsize=8)  # a run asks more than once, and several run at a time
def _lottery_of(lottery: Lottery, run: int) -> Lottery:
    return replace(lottery, task_seed=lottery.task_seed + run, task_per_run=False)


@description
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

    prizes: int = option(whole(1), default=10)
    task_seed: int = option(SEED, default=0)
    task_per_run: bool = option(flag(), default=False)

    def of_run(self, number: int) -> Lottery:
        return _lottery_of(self, number) if self.task_per_run else self

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
