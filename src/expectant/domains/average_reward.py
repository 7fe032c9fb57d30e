"""Continuing problems for the average reward: access control, two loops, river swim, a chain."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Drawing
from expectant.core.rules import between, list_of, number, one_of, whole
from expectant.domains.finite import FiniteMDP, TabularDomain

REJECT, ACCEPT = 0, 1


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

    servers: int = parameter(whole(1), default=10)
    priorities: Sequence[float] = parameter(
        list_of(number(), "a list of numbers"), default=(1.0, 2.0, 4.0, 8.0)
    )
    free_chance: float = parameter(between(0, 1), default=0.06)
    freed: str = parameter(one_of("after", "before"), default="after")

    def validate(self) -> None:
        if not self.priorities:
            raise ValueError("AccessControl: priorities must not be empty")

    @property
    def states(self) -> int:
        return (self.servers + 1) * len(self.priorities)

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


class TwoChoice(TabularDomain):
    """Two loops through state 0, one of which pays at once and the other more (Wan et al. 2021).

    Dynamics
        two actions, which differ only in state 0: action 0 leads around the first loop, states 1 to
        ``length`` − 1 and back, action 1 around the second, states ``length`` to 2 ``length`` − 2
        and back. Either takes ``length`` steps.
    Reward
        ``soon`` on the first step of the first loop, ``late`` on the last step of the second one;
        else 0. As they are, the first loop earns 0.2 a step and the second 0.4.
    Start
        uniform over all states.
    End
        never.
    """

    length: int = parameter(whole(2), default=5)
    soon: float = parameter(number(), default=1.0)
    late: float = parameter(number(), default=2.0)

    def table(self) -> FiniteMDP:
        last = 2 * self.length - 2
        successors = np.repeat(np.arange(1, last + 2)[:, None], 2, axis=1)
        successors[0] = [1, self.length]
        successors[[self.length - 1, last]] = 0
        rewards = np.zeros(successors.shape)
        rewards[0, 0], rewards[last] = self.soon, self.late
        return FiniteMDP(
            np.ones((*successors.shape, 1)), rewards, successors[..., None], endless=True
        )


LEFT, RIGHT = 0, 1


class RiverSwim(TabularDomain):
    """A row of states with a current to the left (Strehl & Littman 2008).

    Dynamics
        left (0) always succeeds. Right (1) leads on with probability ``forward``, back with
        probability ``back``, and otherwise nowhere; from the first state it cannot lead back, and
        in the last one it holds with probability ``hold`` and leads back otherwise.
    Reward
        ``low_reward`` for left in the first state, ``high_reward`` for right in the last one when
        it holds; else 0.
    Start
        the second or the third state, equally likely (the second, if there are only two).
    End
        never.
    """

    length: int = parameter(whole(2), default=6)
    forward: float = parameter(between(0, 1), default=0.3)
    back: float = parameter(between(0, 1), default=0.1)
    hold: float = parameter(between(0, 1), default=0.3)
    low_reward: float = parameter(number(), default=5.0)
    high_reward: float = parameter(number(), default=10_000.0)

    def validate(self) -> None:
        if self.forward + self.back > 1.0:
            raise ValueError(
                f"RiverSwim: forward and back must add up to 1 at most, got {self.forward:g} and "
                f"{self.back:g}"
            )

    @property
    def drawing(self) -> Drawing:
        return Drawing(("state", ""), ("left", "right"), directions=((-1.0, 0.0), (1.0, 0.0)))

    def table(self) -> FiniteMDP:
        last, states = self.length - 1, np.arange(self.length)
        probabilities, rewards = np.zeros((2, self.length, 2, self.length))
        probabilities[states, LEFT, np.maximum(states - 1, 0)] = 1.0
        for state in range(last):
            back = self.back if state > 0 else 0.0
            probabilities[state, RIGHT, max(state - 1, 0)] = back
            probabilities[state, RIGHT, state] += 1.0 - self.forward - back
            probabilities[state, RIGHT, state + 1] = self.forward
        probabilities[last, RIGHT, [last, last - 1]] = [self.hold, 1.0 - self.hold]
        rewards[0, LEFT, 0], rewards[last, RIGHT, last] = self.low_reward, self.high_reward
        first = states[1:3]
        start = np.isin(states, first) / first.size
        return FiniteMDP(probabilities, rewards, start=start, endless=True)


LINGER, GO = 0, 1


class TransientChain(TabularDomain):
    """Transient states that lead to one in which all the rest is spent.

    Dynamics
        two actions. In the ``length`` states of the chain, go (1) leads to the next and linger (0)
        stays. The state after them, the last, is never left.
    Reward
        in the last state ``reward`` for go and 0 for linger; 0 in the chain.
    Start
        the first state.
    End
        never. The chain's states are not visited again, so a value of one of them, used as the
        reference of relative value iteration, stays what it was while all the others grow.
    """

    length: int = parameter(whole(1), default=3)
    reward: float = parameter(number(), default=1.0)

    def table(self) -> FiniteMDP:
        states = np.arange(self.length + 1)
        successors = np.stack([states, np.minimum(states + 1, self.length)], axis=1)
        rewards = np.zeros(successors.shape)
        rewards[-1, GO] = self.reward
        return FiniteMDP(
            np.ones((*successors.shape, 1)), rewards, successors[..., None],
            start=np.eye(1, self.length + 1)[0], endless=True,
        )  # fmt: skip
