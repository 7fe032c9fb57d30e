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
