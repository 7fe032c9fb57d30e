"""Access control: which customers to serve when servers are few."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from expectant.descriptions import description, option
from expectant.domains.finite import FiniteMDP
from expectant.domains.tabular import TabularDomain
from expectant.parts import Drawing
from expectant.rules import Rule, between, number, one_of, whole

REJECT, ACCEPT = 0, 1


def _priorities(value: Any) -> tuple[float, ...]:
    priorities = tuple(number().convert(item) for item in value)
    if not priorities:
        raise ValueError
    return priorities


@description
class AccessControl(TabularDomain):
    """Customers of four priorities ask for one of ten servers (Sutton & Barto, example 10.2).

    Dynamics
        a state is how many servers are free, from 0 to ``servers``, and the priority of the
        customer at the head of the queue: number = free · (number of priorities) + priority. Reject
        (0) or accept (1) that customer; with no server free, all are rejected. A busy server
        becomes free with probability ``free_chance``; with ``freed`` "after", one that has just
        been given away can be freed in the same step, with "before" it cannot. The next customer's
        priority is drawn evenly.
    Reward
        the priority of an accepted customer, one of ``priorities``; 0 for a rejected one.
    Start
        all servers free, any customer.
    End
        never.
    """

    servers: int = option(whole(1), default=10)
    priorities: Sequence[float] = option(
        Rule("a list of numbers", _priorities), default=(1.0, 2.0, 4.0, 8.0)
    )
    free_chance: float = option(between(0, 1), default=0.06)
    freed: str = option(one_of("after", "before"), default="after")

    @property
    def states(self) -> int:
        return (self.servers + 1) * len(self.priorities)

    @property
    def actions(self) -> int:
        return 2

    @property
    def drawing(self) -> Drawing:
        count, states = len(self.priorities), range(self.states)
        return Drawing(
            names=("free servers", "priority"),
            actions=("reject", "accept"),
            cells=tuple((state // count, state % count) for state in states),
        )

    def chances(self, busy: int) -> np.ndarray:
        """How likely it is that 0 to ``servers`` of so many busy servers are freed."""
        p = self.free_chance
        found = [comb(busy, n) * p**n * (1.0 - p) ** (busy - n) for n in range(busy + 1)]
        return np.array(found + [0.0] * (self.servers - busy))

    def next_free(self, free: int, accepted: int) -> np.ndarray:
        """The distribution (servers + 1,) of how many servers are free next."""
        left = free - accepted
        busy = self.servers - (left if self.freed == "after" else free)
        found = np.zeros(self.servers + 1)
        found[left:] = self.chances(busy)[: self.servers + 1 - left]
        return found

    def table(self) -> FiniteMDP:
        count = len(self.priorities)
        shape = (self.servers + 1, count, 2, self.servers + 1, count)
        probabilities, rewards = np.zeros(shape), np.zeros(shape[:3])
        for free in range(self.servers + 1):
            for action in (REJECT, ACCEPT):
                accepted = min(action, free)
                probabilities[free, :, action] = self.next_free(free, accepted)[:, None] / count
                rewards[free, :, action] = accepted * np.array(self.priorities)
        start = np.zeros((self.servers + 1, count))
        start[-1] = 1.0 / count
        return FiniteMDP(
            probabilities.reshape(self.states, 2, self.states),
            rewards.reshape(self.states, 2),
            start=start.ravel(),
            endless=True,
        )
