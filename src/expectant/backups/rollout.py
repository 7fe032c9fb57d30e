"""Rollouts: backups along simulated trajectories that begin in a drawn state."""

from __future__ import annotations

from expectant.backups.registry import NAMED
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext, Shape
from expectant.core.rules import Rule, one_of, whole


def _start(value: object) -> str | Backups:
    if isinstance(value, Rollout) or not isinstance(value, str | Backups):
        raise ValueError
    if isinstance(value, str):
        by_name(value)
    return value


def by_name(name: str, capacity: int | None = 1000) -> Backups:
    """The backup distribution that a name stands for."""
    return NAMED[one_of(*NAMED).convert(name)](capacity)


class Rollout(Backups):
    """Back up ``length`` states in a row: one drawn from ``start``, then where the model leads.

    The agent's own policy chooses the actions. With a sample model these are simulated
    trajectories; with an expectation model the later states are means (iterated backups).
    """

    length: int = parameter(whole(1), meaning="backups from every drawn state, itself included")
    start: str | Backups = parameter(
        Rule("a backup distribution other than Rollout, or its name", _start),
        default="replay",
        meaning="the distribution of the first state",
    )

    @property
    def first(self) -> Backups:
        """The distribution that ``start`` stands for."""
        return by_name(self.start) if isinstance(self.start, str) else self.start

    @property
    def stores_transitions(self) -> bool:  # type: ignore[override]
        return self.first.stores_transitions

    @property
    def draws_actions(self) -> bool:  # type: ignore[override]
        return self.first.draws_actions

    @property
    def knows_state_index(self) -> bool:  # type: ignore[override]
        return self.first.knows_state_index

    @property
    def draws_features(self) -> bool:  # type: ignore[override]
        return self.first.draws_features

    @property
    def traces_back(self) -> bool:  # type: ignore[override]
        return self.first.traces_back

    @property
    def fits(self) -> int | str:
        return self.first.fits

    def with_fits(self, fits: int | str) -> Rollout:
        return self.replace(start=self.first.with_fits(fits))

    def build(self, context: BuildContext) -> object:
        return self.first.build(context)

    def build_with(self, context: BuildContext, model: object) -> object:
        return self.first.build_with(context, model)

    def drawn_shape(self, context: BuildContext) -> Shape:
        return self.first.drawn_shape(context)
