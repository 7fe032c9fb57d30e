"""Backup distributions: where planning starts from."""

from expectant.backups.prioritized_sweeping import (
    PairSweepingPart,
    PrioritizedPairs,
    PrioritizedSweeping,
    SweepingPart,
)
from expectant.backups.registry import NAMED
from expectant.backups.replay import (
    RecencyPart,
    RecencyReplay,
    Replay,
    ReplayPart,
    Trajectory,
    TrajectoryPart,
)
from expectant.backups.rollout import Rollout
from expectant.backups.single_features import FeatureSweeping, RowSweeping, SingleFeatures
from expectant.backups.state_action_pairs import PairsPart, SeenPairs
from expectant.backups.state_sampler import SamplerPart, StateSampler
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
from expectant.core.interfaces import Backups

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
