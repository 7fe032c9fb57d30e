"""Backup distributions: the states, or state-action pairs, that planning backs up."""

from collections.abc import Callable

from expectant.backups.prioritized_sweeping import PrioritizedPairs, PrioritizedSweeping
from expectant.backups.replay import RecencyReplay, Replay, Trajectory
from expectant.backups.rollout import Rollout
from expectant.backups.single_features import FeatureSweeping, RowSweeping, SingleFeatures
from expectant.backups.state_action_pairs import AllPairs, SeenPairs
from expectant.backups.state_sampler import StateSampler
from expectant.backups.states import AllStates, CurrentState, SeenStates
from expectant.core.interfaces import Backups

__all__ = [
    "NAMED_BACKUPS", "AllPairs", "AllStates", "Backups", "CurrentState", "FeatureSweeping",
    "PrioritizedPairs", "PrioritizedSweeping", "RecencyReplay", "Replay", "Rollout",
    "RowSweeping", "SeenPairs", "SeenStates", "SingleFeatures", "StateSampler", "Trajectory",
]  # fmt: skip

# Each entry takes the number of transitions that the agent may store.
NAMED_BACKUPS: dict[str, Callable[[int | None], Backups]] = {
    cls.short_name: cls.of_capacity
    for cls in (
        Replay, RecencyReplay, Trajectory, CurrentState, SeenStates, SeenPairs, AllPairs, AllStates,
        PrioritizedSweeping, StateSampler, SingleFeatures, FeatureSweeping, RowSweeping,
    )
}  # fmt: skip
