"""One run of an agent in a domain: its arrays, its loop, its records."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.descriptions import Setting
from expectant.features.vector import empty_state
from expectant.lanes import padded
from expectant.running.kernels import Kernel, compiled_for, use_compiled
from expectant.running.loop import DONE, FULL, NOT_FINITE, STEPS, Budget, Run, not_finite, simulate
from expectant.running.outside import play, responder
from expectant.running.progress import Reporter
from expectant.seeds import generator
from expectant.verbs import grown

UNLIMITED = 2**62
STEP_LIMIT = 10_000  # of an episode, where neither the user nor the domain says otherwise


@dataclass(frozen=True)
class Job:
    """One experiment: what is run, for how long, from which seed."""

    domain: Any
    features: Any
    agent: Any
    episodes: int
    steps: int
    bins: int
    step_limit: int | None
    seed: int

    @property
    def bin(self) -> int:
        return max(1, -(-self.steps // self.bins))

    def budget(self) -> Budget:
        limit = self.step_limit or getattr(self.domain, "step_limit", None) or STEP_LIMIT
        return Budget(self.episodes or UNLIMITED, self.steps or UNLIMITED, limit)

    def setting(self, domain_part: Any, features_part: Any, rng: Any) -> Setting:
        """What the agent's parts are built for."""
        shape = self.features.shape(self.domain)
        return Setting(
            shape=shape,
            width=padded(shape.size),
            actions=self.domain.actions,
            domain=self.domain,
            domain_part=domain_part,
            features_part=features_part,
            rng=rng,
        )

    def prepare(self, number: int) -> tuple[Run, np.random.Generator]:
        """All the arrays of one run, from its own seed."""
        rng = generator(self.seed, number)
        features_part = self.features.build(self.domain, rng)
        domain_part = self.domain.build(rng)
        setting = self.setting(domain_part, features_part, rng)
        prepared = Run(
            domain=domain_part,
            features=features_part,
            agent=self.agent.build(setting),
            state=empty_state(setting.shape),
            next_state=empty_state(setting.shape),
            clock=np.zeros(4, np.int64),
            total=np.zeros(1),
            returns=np.full(self.episodes, np.nan),
            lengths=np.zeros(self.episodes, np.int64),
            rewards=np.zeros(-(-self.steps // self.bin)),
            bin=self.bin,
        )
        return prepared, rng


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def loop_for(job: Job, compiled: bool | None, name: str, show: Reporter) -> Kernel:
    """The loop to call, compiled unless asked not to."""
    prepared, rng = job.prepare(0)
    if hasattr(job.domain, "world"):
        return responder(prepared, rng, use_compiled(compiled), name, show)
    if not use_compiled(compiled):
        return simulate
    return compiled_for(simulate, (prepared, Budget(0, 0, 1), rng, going_on()), name, show)


def whole_run(
    job: Job, kernel: Kernel, prepared: Run, number: int, rng: Any, control: np.ndarray
) -> tuple[Run, int]:
    """One whole run, in compiled code or through a world outside it."""
    if not hasattr(job.domain, "world"):
        return advanced(kernel, prepared, job.budget(), rng, control)
    world = job.domain.world(job.seed, number)
    try:
        return play(kernel, world, prepared, job.budget(), rng, control)
    finally:
        world.close()


def going_on() -> np.ndarray:
    """A control that lets loops go on."""
    return np.zeros(1, np.int64)


def advanced(
    kernel: Kernel, prepared: Run, budget: Budget, rng: np.random.Generator, control: np.ndarray
) -> tuple[Run, int]:
    """Call the loop until it is done, making room where a part asks; a bad observation raises."""
    status = kernel(prepared, budget, rng, control)
    while status == FULL:
        prepared = prepared._replace(agent=grown(prepared.agent))
        status = kernel(prepared, budget, rng, control)
    if status == NOT_FINITE:
        raise not_finite(prepared)
    return prepared, status


def closed(job: Job, prepared: Run, status: int) -> Run:
    """The records of a finished run: sums to means, and NaN from a divergence on."""
    rewards = prepared.rewards
    if rewards.size:
        sizes = np.full(rewards.size, job.bin)
        sizes[-1] = job.steps - job.bin * (rewards.size - 1)
        rewards = rewards / sizes
        if status != DONE:
            rewards[(prepared.clock[STEPS] - 1) // job.bin :] = np.nan
    # the parts themselves are not kept: thousands of runs would hold all their weights
    return prepared._replace(rewards=rewards, agent=None, domain=None, features=None)
