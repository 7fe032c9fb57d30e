"""Given options: tables of policies and stop probabilities, or the optimum of a finite MDP."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Domain, Option
from expectant.core.rules import Rule, between, flag, number, whole
from expectant.core.verbs import policy_of, state_index, stop_of
from expectant.exact.dynamic_programming import as_policy
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


def _probabilities(value: object) -> np.ndarray:
    array = np.array(value, float)
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise ValueError
    return array


def _policy(value: object) -> tuple[int, ...] | tuple[tuple[float, ...], ...]:
    """Actions (S,) or probabilities (S, A), as tuples."""
    actions = np.array(value)
    if actions.ndim == 1 and actions.dtype.kind in "iu" and actions.size and actions.min() >= 0:
        return tuple(actions.tolist())
    rows = _probabilities(value)
    if rows.ndim != 2 or not rows.size or not (np.abs(rows.sum(axis=1) - 1.0) <= 1e-9).all():
        raise ValueError
    return tuple(map(tuple, rows.tolist()))


def _stops(value: object) -> tuple[float, ...]:
    stops = _probabilities(value)
    if stops.ndim != 1 or not stops.size:
        raise ValueError
    return tuple(stops.tolist())


POLICY = Rule("an action for every state, or probabilities (S, A) that sum to 1", _policy)
STOPS = Rule("a probability for every state", _stops)


class TableOption(Option):
    """An option given by tables, for a domain with numbered states.

    ``policy`` is an action for every state (S,), or probabilities (S, A); ``stop`` (S,) is β, the
    probability of stopping on arrival in a state.
    """

    policy: Sequence[int] | Sequence[Sequence[float]] | np.ndarray = parameter(POLICY)
    stop: Sequence[float] | np.ndarray = parameter(STOPS)

    def validate(self) -> None:
        if len(self.policy) != len(self.stop):
            raise ValueError(
                f"TableOption: policy and stop must be for as many states, got {len(self.policy)} "
                f"and {len(self.stop)}"
            )

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
        shape = (states, context.actions)
        policies = [as_policy(option.policy, shape, cls.__name__) for option in options]
        return TableOptionsPart(np.stack(policies), np.array([option.stop for option in options]))


class BestOption(Option):
    """The optimal option for reaching a state of a finite MDP.

    It maximises the rewards on the way plus the ``bonus`` for stopping in the ``state``; with
    ``anywhere`` it may also stop elsewhere, for nothing. ``rewarded=False`` ignores the rewards,
    which makes it a shortest path.
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
        bonuses = self.bonus * (np.arange(mdp.states) == self.state)
        where = None if self.anywhere else bonuses != 0.0
        best = solve_subtask(domain, bonuses, self.discount, where=where, rewarded=self.rewarded)
        return TableOption(best.policy, best.stop)

    @classmethod
    def build_together(
        cls, options: Sequence[BestOption], context: BuildContext
    ) -> TableOptionsPart:
        tables = [_solve(option, context.domain) for option in options]
        return TableOption.build_together(tables, context)


@lru_cache  # called in every run
def _solve(option: BestOption, domain: Domain) -> TableOption:
    return option.table(domain)
