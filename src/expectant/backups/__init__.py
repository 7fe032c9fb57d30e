"""Backup distributions: where planning starts from."""

from __future__ import annotations

from collections.abc import Callable

from expectant.backups.pairs import PairsPart, SeenPairs
from expectant.backups.replay import (
    RecencyPart,
    RecencyReplay,
    Replay,
    ReplayPart,
    Trajectory,
    TrajectoryPart,
)
from expectant.backups.rollout import Rollout
from expectant.backups.sampler import SamplerPart, StateSampler
from expectant.backups.single_features import FeatureSweeping, RowSweeping, SingleFeatures
from expectant.backups.states import (
    AllPairs,
    AllPairsPart,
    AllStates,
    AllStatesPart,
    CurrentPart,
    CurrentState,
    SeenPart,
    SeenStates,
)
from expectant.backups.sweeping import (
    PairSweepingPart,
    PrioritizedPairs,
    PrioritizedSweeping,
    SweepingPart,
)
from expectant.parts import Backups

__all__ = [
    "NAMED",
    "AllPairs",
    "AllPairsPart",
    "AllStates",
    "AllStatesPart",
    "Backups",
    "CurrentPart",
    "CurrentState",
    "FeatureSweeping",
    "PairSweepingPart",
    "PairsPart",
    "PrioritizedPairs",
    "PrioritizedSweeping",
    "RecencyPart",
    "RecencyReplay",
    "Replay",
    "ReplayPart",
    "Rollout",
    "RowSweeping",
    "SamplerPart",
    "SeenPairs",
    "SeenPart",
    "SeenStates",
    "SingleFeatures",
    "StateSampler",
    "SweepingPart",
    "Trajectory",
    "TrajectoryPart",
]

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
