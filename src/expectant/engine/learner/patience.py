"""Which steps of a learner can be interrupted: those that may take long."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Any

from expectant.core import tree
from expectant.engine.compile.kernels import Kernel
from expectant.engine.course import going_on
from expectant.engine.crossing import FIRST, answered
from expectant.engine.learner.saving import CONTROL
from expectant.engine.loop import Run
from expectant.engine.workers import run_interruptibly
from expectant.parts import Agent
from expectant.seeds import Streams
from expectant.verbs import waiting

LONG_SECONDS = 0.3  # nobody minds to wait so long, and another thread costs a thousandth of it
GROWTH = 2.0  # how much longer a step may take than the one before: models grow by and by


class Patience:
    """``answered`` for an agent that plans, by steps of which a long one heeds an interruption.

    Compiled code is deaf to Ctrl-C, and to work on another thread costs more than a short step. So
    a step is taken there if it may be long, by how long the last one was. The first may be.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.longer = 0.0  # how many times as long as the last step the next one may take
        self.seconds = math.inf  # that the next step may take

    def __call__(
        self, kernel: Kernel, run: Run, action: int, reward: float, situation: int, streams: Streams
    ) -> tuple[Run, int]:
        if situation == FIRST:  # nothing is planned, and nothing can be told from that
            return answered(kernel, run, action, reward, situation, streams)
        work = partial(self._timed, kernel, run, action, reward, situation, streams)
        if self.seconds < LONG_SECONDS:
            return work()
        controls = (array for name, array in tree.arrays(run.agent) if name.endswith(CONTROL))
        control = next(controls, going_on())
        try:
            return run_interruptibly(work, control)
        except BaseException:
            control[0], self.seconds = (
                0,
                math.inf,
            )  # the next step plans again, for who knows how long
            raise

    def _timed(self, kernel: Kernel, run: Run, *arguments: Any) -> tuple[Run, int]:
        self.longer = self.longer or _longer(self.agent, run)
        begun = time.perf_counter()
        found = answered(kernel, run, *arguments)
        self.seconds = (time.perf_counter() - begun) * self.longer
        return found


def _longer(agent: Agent, run: Run) -> float:
    """How many times as long as the last step the next one may take.

    Backups that wait for something to do may do nothing in one step and all in the next; rollouts
    end where an episode does.
    """
    waits = any(type(node) in waiting.implementations for _, node in tree.nodes(run.agent))
    backups = getattr(agent, "planning_steps", 1) if waits else 1
    return GROWTH * float(backups * getattr(agent, "rollout", 1))
