"""Backup distributions: the states, or state-action pairs, that planning backs up."""

# ruff: noqa: F403
from expectant.backups import registry
from expectant.backups.registry import *
from expectant.backups.rollout import Rollout
from expectant.core.interfaces import Backups

__all__ = ["Backups", "Rollout"]
__all__ += registry.__all__
