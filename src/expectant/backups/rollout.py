"""The backup distributions that agents know by name, and rollouts that begin in their states."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from expectant.backups.prioritized_sweeping import PrioritizedSweeping
from expectant.backups.replay import RecencyReplay, Replay, Trajectory
from expectant.backups.single_features import FeatureSweeping, RowSweeping, SingleFeatures
from expectant.backups.state_action_pairs import AllPairs, SeenPairs
from expectant.backups.state_sampler import StateSampler
from expectant.backups.states import AllStates, CurrentState, SeenStates
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext, Shape
from expectant.core.rules import Rule, one_of, whole

# Each entry takes the number of transitions that the agent may store.
NAMED_BACKUPS: dict[str, Callable[[int | None], Backups]] = {
    "replay": Replay,
    "recency": RecencyReplay,
    "trajectory": lambda capacity: Trajectory(capacity=capacity),
    "current": lambda capacity: CurrentState(),
    "seen": lambda capacity: SeenStates(),
    "pairs": lambda capacity: SeenPairs(),
    "all_pairs": lambda capacity: AllPairs(),
    "all": lambda capacity: AllStates(),
    "prioritized": lambda capacity: PrioritizedSweeping(),
    "sampler": lambda capacity: StateSampler(),
    "features": lambda capacity: SingleFeatures(),
    "pwma": lambda capacity: FeatureSweeping(),
    "mg": lambda capacity: RowSweeping(),
}


def backups_by_name(name: str, capacity: int | None = 1000) -> Backups:
    """Return the backup distribution that a name stands for."""
    return NAMED_BACKUPS[one_of(*NAMED_BACKUPS).convert(name)](capacity)


def _start(value: object) -> str | Backups:
    if isinstance(value, Rollout) or not isinstance(value, str | Backups):
        raise ValueError
    if isinstance(value, str):
        backups_by_name(value)
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
