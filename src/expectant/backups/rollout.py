"""Rollouts: several backups along a simulated trajectory."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from expectant.core.config import KINDS, parameter
from expectant.core.interfaces import Backups, BuildContext, Shape
from expectant.core.rules import Rule, one_of, whole


def backups_by_name(name: str) -> Backups:
    """Return the backup distribution that a name stands for, with a capacity of 1,000."""
    kinds: list[Any] = [kind for kind in KINDS.values() if issubclass(kind, Backups)]
    named = {kind.short_name: kind for kind in kinds if "short_name" in vars(kind)}
    return named[one_of(*named).convert(name)].of_capacity(1000)


def _start(value: object) -> str | Backups:
    if isinstance(value, str):
        backups_by_name(value)
    elif isinstance(value, Rollout) or not isinstance(value, Backups):
        raise ValueError
    return value


class Rollout(Backups):
    """Back up ``length`` states in a row: one drawn from ``start``, then its simulated successors.

    The agent's policy chooses the actions. With a sample model these are simulated trajectories;
    with an expectation model the later states are means (iterated backups).
    """

    length: int = parameter(whole(1), meaning="backups from every drawn state, itself included")
    start: str | Backups = parameter(
        Rule("a backup distribution other than Rollout, or its name", _start),
        default="replay",
        meaning="the distribution of the first state",
    )

    stores_transitions = property(attrgetter("first.stores_transitions"))
    draws_actions = property(attrgetter("first.draws_actions"))
    knows_state_index = property(attrgetter("first.knows_state_index"))
    draws_features = property(attrgetter("first.draws_features"))
    traces_back = property(attrgetter("first.traces_back"))
    fits = property(attrgetter("first.fits"))

    @property
    def first(self) -> Backups:
        """The distribution that ``start`` stands for."""
        return backups_by_name(self.start) if isinstance(self.start, str) else self.start

    def with_fits(self, fits: int | str) -> Rollout:
        return self.replace(start=self.first.with_fits(fits))

    def build(self, context: BuildContext) -> object:
        return self.first.build(context)

    def build_with(self, context: BuildContext, model: object) -> object:
        return self.first.build_with(context, model)

    def drawn_shape(self, context: BuildContext) -> Shape:
        return self.first.drawn_shape(context)
