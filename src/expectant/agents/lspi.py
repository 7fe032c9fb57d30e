"""Online least-squares policy iteration: a model-free agent that uses all its data at once."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.agents.action_selection import act_on_action_values
from expectant.backups.replay import COUNT, Replay, ReplayPart
from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Agent, BuildContext
from expectant.core.memory import zeros
from expectant.core.reductions import add_to_row, padded_size
from expectant.core.rules import or_none, positive, whole
from expectant.core.updates import q_target
from expectant.core.vectors import Binary, Weighted, dot, empty_state
from expectant.core.verbs import delegate, function, index, size, value

MAX_WEIGHTS = 4096


class LSPIPart(NamedTuple):
    """``system`` (1, n, N) is the augmented matrix [A | b] of n = A d equations.

    ``pivot`` (N,), ``solution`` (n,), ``drawn`` and ``drawn_next`` are scratch; ``initial`` (A, D)
    are the weights that the ridge pulls towards; ``steps`` (1,) counts real steps.
    """

    weights: np.ndarray
    initial: np.ndarray
    replay: ReplayPart
    system: np.ndarray
    pivot: np.ndarray
    solution: np.ndarray
    drawn: Binary | Weighted
    drawn_next: Binary | Weighted
    steps: np.ndarray
    improve_every: int
    ridge: float
    epsilon: float
    discount: float


delegate(LSPIPart, "replay", verbs.free_capacity, verbs.grow)
act_on_action_values(LSPIPart)


@verbs.learn.register(LSPIPart)
def _(agent, transition, rng):
    """Store the transition, and every so many steps improve the policy; returns |δ|."""
    verbs.remember(agent.replay, transition)
    target = q_target(agent.weights, transition, agent.discount)
    error = target - dot(transition.state, agent.weights[transition.action])
    agent.steps[0] += 1
    if agent.steps[0] % agent.improve_every == 0:
        write_equations(agent)
        if solve(agent.system, agent.pivot, agent.solution):
            features = agent.solution.shape[0] // agent.weights.shape[0]
            for row in range(agent.solution.shape[0]):
                agent.weights[row // features, row % features] = agent.solution[row]
    return abs(error)


@function
def write_equations(agent):
    """LSTDQ of the greedy policy π in w: A = κ I + Σ x (x − γ x')ᵀ, b = κ w₀ + Σ x r.

    The sums are over all stored transitions, x = x(s, a) is s in the block of its action, and x' is
    x(s', π(s')), or 0 at the end of an episode.
    """
    weights, system, state, following = agent.weights, agent.system, agent.drawn, agent.drawn_next
    last = agent.solution.shape[0]
    features = last // weights.shape[0]
    system[:] = 0.0
    for row in range(last):
        system[0, row, row] = agent.ridge
        system[0, row, last] = agent.ridge * agent.initial[row // features, row % features]
    for slot in range(agent.replay.counters[COUNT]):
        verbs.load(agent.replay.states, slot, state)
        verbs.load_successor(agent.replay, slot, following)
        action, reward, alive = verbs.stored_transition(agent.replay, slot)
        first, discount = action * features, agent.discount * alive
        next_first = first_greedy_action(weights, following) * features
        for n in range(size(state)):
            x, row = value(state, n), first + index(state, n)
            system[0, row, last] += x * reward
            for m in range(size(state)):
                system[0, row, first + index(state, m)] += x * value(state, m)
            for m in range(size(following)):
                column = next_first + index(following, m)
                system[0, row, column] -= discount * x * value(following, m)


@function
def first_greedy_action(weights, state):
    """The first action that maximises w_aᵀs."""
    chosen, best = 0, dot(state, weights[0])
    for action in range(1, weights.shape[0]):
        candidate = dot(state, weights[action])
        if candidate > best:
            chosen, best = action, candidate
    return chosen


@function
def solve(system, pivot, solution):
    """Gaussian elimination with partial pivoting; False if the matrix is singular."""
    last = solution.shape[0]
    for column in range(last):
        best = column
        for row in range(column + 1, last):
            if abs(system[0, row, column]) > abs(system[0, best, column]):
                best = row
        if not abs(system[0, best, column]) > 0.0:
            return False
        for j in range(pivot.shape[0]):
            pivot[j] = system[0, best, j]
            system[0, best, j] = system[0, column, j]
            system[0, column, j] = pivot[j]
        for row in range(column + 1, last):
            if system[0, row, column] != 0.0:
                add_to_row(system, 0, row, -system[0, row, column] / pivot[column], pivot)
    for row in range(last - 1, -1, -1):
        total = system[0, row, last]
        for j in range(row + 1, last):
            total -= system[0, row, j] * solution[j]
        solution[row] = total / system[0, row, row]
    return True


class LSPI(Agent):
    """ε-greedy online least-squares policy iteration (Lagoudakis & Parr 2003), no step size.

    Every ``improve_every`` steps LSTDQ evaluates the greedy policy on all stored transitions, and
    the agent becomes greedy in the new values. This takes O(n³) operations and O(n²) memory for
    n = actions × features, at most 4,096.
    """

    memory_advice: ClassVar[str] = "fewer features, or a smaller capacity"
    centering: ClassVar[float] = 0.0  # type: ignore[misc]  # for discounted returns only

    improve_every: int = parameter(whole(1), default=20)
    ridge: float = parameter(positive(), default=0.01)
    capacity: int | None = parameter(or_none(whole(1)), default=None)

    def build(self, context: BuildContext) -> LSPIPart:
        count = context.actions * context.shape.size
        if count > MAX_WEIGHTS:
            raise ValueError(
                f"LSPI: allows {MAX_WEIGHTS:,} weights, because it solves for all of them at once, "
                f"got {count:,}, actions × features: use {self.memory_advice}"
            )
        weights, columns = self.action_weights(context), padded_size(count + 1)
        return LSPIPart(
            weights, weights.copy(), Replay(self.capacity).build(context),
            zeros((1, count, columns)), zeros(columns), zeros(count),
            empty_state(context.shape), empty_state(context.shape), np.zeros(1, np.int64),
            self.improve_every, self.ridge, self.epsilon, self.discount,
        )  # fmt: skip
