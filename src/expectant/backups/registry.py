"""Registry of the backup distributions that agents know by name."""

from __future__ import annotations

from collections.abc import Callable

from expectant.backups.prioritized_sweeping import PrioritizedPairs, PrioritizedSweeping
from expectant.backups.replay import LargestError, RecencyReplay, Replay, Trajectory
from expectant.backups.single_features import FeatureSweeping, RowSweeping, SingleFeatures
from expectant.backups.state_action_pairs import AllPairs, SeenPairs
from expectant.backups.state_sampler import StateSampler
from expectant.backups.states import AllStates, CurrentState, SeenStates
from expectant.core.interfaces import Backups
from expectant.core.rules import one_of

__all__ = [
    "NAMED_BACKUPS",
    "AllPairs",
    "AllStates",
    "CurrentState",
    "FeatureSweeping",
    "LargestError",
    "PrioritizedPairs",
    "PrioritizedSweeping",
    "RecencyReplay",
    "Replay",
    "RowSweeping",
    "SeenPairs",
    "SeenStates",
    "SingleFeatures",
    "StateSampler",
    "Trajectory",
]

# Each entry takes the number of transitions that the agent may store.
NAMED_BACKUPS: dict[str, Callable[[int | None], Backups]] = {
    "replay": Replay,
    "recency": RecencyReplay,
    "largest_error": lambda capacity: LargestError(capacity=capacity),
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
