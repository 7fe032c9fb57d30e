"""The names that backup distributions go by."""

from __future__ import annotations

from collections.abc import Callable

from expectant.backups.prioritized_sweeping import PrioritizedSweeping
from expectant.backups.replay import RecencyReplay, Replay, Trajectory
from expectant.backups.single_features import FeatureSweeping, RowSweeping, SingleFeatures
from expectant.backups.state_action_pairs import SeenPairs
from expectant.backups.state_sampler import StateSampler
from expectant.backups.states import AllPairs, AllStates, CurrentState, SeenStates
from expectant.core.interfaces import Backups

# What the names of distributions stand for, given how many transitions an agent may store.
NAMED: dict[str, Callable[[int | None], Backups]] = {
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
