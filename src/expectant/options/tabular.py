"""Options that are given: an action as an option, and tables of what to do and where to stop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Domain, Option
from expectant.core.rules import Rule, between, flag, number, whole
from expectant.core.verbs import policy_of, state_index, stop_of
from expectant.exact.options import solve_subtask
from expectant.features.discrete import require_states


class TableOptionsPart(NamedTuple):
    """``policies`` (n, S, A) and ``stops`` (n, S), looked up by the environment's own state."""

    policies: np.ndarray
    stops: np.ndarray


@policy_of.register(TableOptionsPart)
def _(options, number, state, probabilities):
    for action in range(probabilities.shape[0]):
        probabilities[action] = options.policies[number, state.state_index[0], action]


@stop_of.register(TableOptionsPart)
def _(options, number, state):
    return options.stops[number, state.state_index[0]]


def _chances(value: object) -> np.ndarray:
    array = np.array(value, float)
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise ValueError
    return array


def _policy(value: object) -> tuple[int, ...] | tuple[tuple[float, ...], ...]:
    """Actions (S,) or probabilities (S, A), as plain numbers."""
    given = np.array(value)
    if given.ndim == 1 and given.dtype.kind in "iu" and given.size and given.min() >= 0:
        return tuple(given.tolist())
    rows = _chances(value)
    if rows.ndim != 2 or not rows.size or not (np.abs(rows.sum(axis=1) - 1.0) <= 1e-9).all():
        raise ValueError
    return tuple(map(tuple, rows.tolist()))


def _stops(value: object) -> tuple[float, ...]:
    stops = _chances(value)
    if stops.ndim != 1 or not stops.size:
        raise ValueError
    return tuple(stops.tolist())


POLICY = Rule("an action for every state, or probabilities (S, A) that sum to 1", _policy)
STOPS = Rule("a probability for every state", _stops)


class TableOption(Option):
    """An option given by tables, for a domain with numbered states.

    ``policy`` is an action for every state (S,), or probabilities (S, A); ``stop`` (S,) is the
    probability of stopping in a state that it has arrived in.
    """

    policy: Sequence[int] | Sequence[Sequence[float]] | np.ndarray = parameter(POLICY)
    stop: Sequence[float] | np.ndarray = parameter(STOPS)

    def validate(self) -> None:
        if len(self.policy) != len(self.stop):
            raise ValueError(
                f"TableOption: policy and stop must be for as many states, got {len(self.policy)} "
                f"and {len(self.stop)}"
            )

    @property
    def only_action(self) -> int:
        first: Any = self.policy[0]
        alike = all(entry == first for entry in self.policy) and all(x == 1.0 for x in self.stop)
        if not alike or (isinstance(first, tuple) and max(first) < 1.0):
            return -1
        return first.index(1.0) if isinstance(first, tuple) else first

    def table(self, actions: int) -> np.ndarray:
        """The policy as probabilities (S, A)."""
        given = np.array(self.policy)
        if given.ndim == 2:
            return given
        return np.eye(max(actions, int(given.max()) + 1))[given]

    @classmethod
    def build_together(
        cls, options: Sequence[TableOption], context: BuildContext
    ) -> TableOptionsPart:
        states = require_states(context.domain, cls.__name__)
        if type(context.domain_part) not in state_index.implementations:
            raise ValueError(
                "TableOption: needs a domain that numbers its states (verb 'state_index'), "
                f"{type(context.domain).__name__} does not; write an option that looks at features"
            )
        for position, found in enumerate(options):
            shape = found.table(context.actions).shape
            if shape != (states, context.actions):
                raise ValueError(
                    f"TableOption: policy of option {position} must be for {states} states and "
                    f"{context.actions} actions, got {shape}"
                )
        return TableOptionsPart(
            np.stack([found.table(context.actions) for found in options]),
            np.array([found.stop for found in options]),
        )

    def build(self, context: BuildContext) -> TableOptionsPart:
        return self.build_together([self], context)


class OneStep(Option):
    """An action as an option: it takes that action everywhere and stops at once.

    It adds nothing to the action itself, whose model it shares: an agent with such options alone
    is the agent without any.
    """

    action: int = parameter(whole(0), meaning="the action that it is")

    @property
    def only_action(self) -> int:
        return self.action

    def build(self, context: BuildContext) -> TableOptionsPart:
        states = require_states(context.domain, "OneStep")
        return TableOption((self.action,) * states, (1.0,) * states).build(context)


class BestOption(Option):
    """The best option for attaining a state of a finite MDP, computed exactly.

    It maximises rewards on the way and the ``bonus`` where it stops, in the ``state`` only, or
    ``anywhere`` (for nothing); ``rewarded=False`` leaves the rewards out, which is a shortest path.
    """

    state: int = parameter(whole(0), meaning="number of the state to attain")
    bonus: float = parameter(number(), default=1.0, meaning="what stopping in the state is worth")
    discount: float = parameter(between(0, 1), default=0.99, kw_only=True)
    anywhere: bool = parameter(flag(), default=False, kw_only=True)
    rewarded: bool = parameter(flag(), default=True, kw_only=True)

    def table(self, domain: Domain) -> TableOption:
        """The option as tables."""
        mdp = domain.mdp()
        if mdp is None or not self.state < mdp.states:
            raise ValueError(
                f"BestOption: state={self.state} must be one of a finite MDP, got {domain!r}"
            )
        worth = self.bonus * (np.arange(mdp.states) == self.state)
        where = None if self.anywhere else worth != 0.0
        found = solve_subtask(domain, worth, self.discount, where=where, rewarded=self.rewarded)
        return TableOption(found.policy, found.stop)

    @classmethod
    def build_together(
        cls, options: Sequence[BestOption], context: BuildContext
    ) -> TableOptionsPart:
        return TableOption.build_together(
            [_solved(each, context.domain) for each in options], context
        )

    def build(self, context: BuildContext) -> TableOptionsPart:
        return self.build_together([self], context)


@lru_cache  # every run asks
def _solved(best: BestOption, domain: Domain) -> TableOption:
    return best.table(domain)
