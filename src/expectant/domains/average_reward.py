"""Continuing problems: access control, inventory, two loops, river swim, a chain."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Drawing
from expectant.core.rules import at_least, between, list_of, number, one_of, whole
from expectant.domains.finite import FiniteMDP, TabularDomain

REJECT, ACCEPT = 0, 1
LEFT, RIGHT = 0, 1
GO = 1


class AccessControl(TabularDomain):
    """Access-control queuing (Sutton & Barto 2018, example 10.2).

    States
        number of free servers (0 to ``servers``) and priority of the customer at the head of the
        queue: index = free · (number of priorities) + priority.
    Dynamics
        reject (0) or accept (1) the customer; without a free server all are rejected. Each busy
        server becomes free with probability ``free_chance``. With ``freed`` "after" this includes
        the server assigned in the same step, with "before" it does not. The priority of the next
        customer is uniform.
    Reward
        the accepted customer's entry of ``priorities``; 0 for a rejected one.
    Start
        all servers free, any customer.
    End
        never.
    """

    servers: int = parameter(whole(1), default=10, meaning="number of servers")
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
    def sketch(self) -> Drawing:
        count, states = len(self.priorities), range(self.states)
        return Drawing(
            names=("free servers", "priority"),
            actions=("reject", "accept"),
            cells=tuple((state // count, state % count) for state in states),
        )

    def next_free(self, free: int, accepted: int) -> np.ndarray:
        """Distribution (servers + 1,) of the number of free servers after a step."""
        remaining, p = free - accepted, self.free_chance
        busy = self.servers - (remaining if self.freed == "after" else free)
        binomial = [comb(busy, n) * p**n * (1.0 - p) ** (busy - n) for n in range(busy + 1)]
        probabilities = np.zeros(self.servers + 1)
        probabilities[remaining : remaining + busy + 1] = binomial
        return probabilities

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


class Inventory(TabularDomain):
    """Inventory control with lost sales (Puterman 1994, section 3.2).

    States
        units in stock, 0 to ``capacity``.
    Dynamics
        action a orders a units, delivered at once, up to the capacity. Then a Poisson number of
        customers with mean ``demand`` each buy one unit, while there are any.
    Reward
        ``price`` per unit sold, less ``cost`` per unit ordered, ``order_cost`` per order and
        ``holding_cost`` per unit that is left.
    Start
        any stock, equally likely.
    End
        never.
    """

    capacity: int = parameter(whole(1), default=15, meaning="largest stock")
    demand: float = parameter(at_least(0.0), default=4.0, meaning="mean number of customers")
    price: float = parameter(number(), default=4.0, meaning="income per unit sold")
    cost: float = parameter(number(), default=2.0, meaning="price per unit ordered")
    order_cost: float = parameter(number(), default=2.0, meaning="fixed price of an order")
    holding_cost: float = parameter(number(), default=0.2, meaning="price per unit left in stock")

    @property
    def actions(self) -> int:
        return self.capacity + 1

    def table(self) -> FiniteMDP:
        count = self.capacity + 1
        demands = np.exp(-self.demand + np.arange(count) * np.log(max(self.demand, 1e-300)))
        demands /= np.cumprod(np.maximum(np.arange(count), 1.0))
        probabilities, rewards = np.zeros((2, count, count, count))
        for stock in range(count):
            for action in range(count):
                full = min(stock + action, self.capacity)
                sold = np.arange(full + 1)
                chances = demands[: full + 1].copy()
                chances[full] = 1.0 - demands[:full].sum()  # everything is sold
                paid = self.cost * (full - stock) + self.order_cost * (full > stock)
                left = full - sold
                probabilities[stock, action, left] = chances
                rewards[stock, action, left] = self.price * sold - paid - self.holding_cost * left
        return FiniteMDP(probabilities, rewards, endless=True)


class TwoChoice(TabularDomain):
    """Two loops through state 0: an early small reward or a late larger one (Wan et al. 2021).

    Dynamics
        two actions, which differ only in state 0: action 0 enters the loop through states 1 to
        ``length`` − 1, action 1 the loop through states ``length`` to 2 ``length`` − 2. Both
        return to state 0 after ``length`` steps.
    Reward
        ``soon`` on the first step of the first loop, ``late`` on the last step of the second; else
        0. By default the loops earn 0.2 and 0.4 per step.
    Start
        uniform over all states.
    End
        never.
    """

    length: int = parameter(whole(2), default=5, meaning="steps around a loop")
    soon: float = parameter(number(), default=1.0, meaning="reward of entering the first loop")
    late: float = parameter(number(), default=2.0, meaning="reward at the end of the second")

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


class RiverSwim(TabularDomain):
    """River swim: a row of states with a current to the left (Strehl & Littman 2008).

    Dynamics
        left (0) always succeeds. Right (1) moves on with probability ``forward``, back with
        probability ``back`` (never from the first state) and stays otherwise; in the last state it
        stays with probability ``hold`` and moves back otherwise.
    Reward
        ``low_reward`` for left in the first state, ``high_reward`` for staying in the last state by
        right; else 0.
    Start
        the second or the third state, equally likely (the second, if there are only two).
    End
        never.
    """

    length: int = parameter(whole(2), default=6, meaning="states in a row")
    forward: float = parameter(between(0, 1), default=0.3)
    back: float = parameter(between(0, 1), default=0.1, meaning="probability that right leads back")
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
    def sketch(self) -> Drawing:
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


class TransientChain(TabularDomain):
    """A chain of transient states that ends in an absorbing one.

    Dynamics
        stay (0) or go (1) to the next of the ``length`` states of the chain; the state after them
        is never left.
    Reward
        ``reward`` for go in the absorbing state; else 0.
    Start
        the first state.
    End
        never. Because the chain is not visited again, relative value iteration with one of its
        states as the reference diverges: that value stays constant while all others grow.
    """

    length: int = parameter(whole(1), default=3, meaning="states in a row")
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
