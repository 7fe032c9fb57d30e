"""Errors of parts in one sentence: part, contract, value and time."""

from __future__ import annotations

from expectant.core import verbs
from expectant.core.errors import PartError, user_location
from expectant.core.verbs import index, observation, size
from expectant.engine.loop import (
    ACTION,
    EPISODE,
    NO_ACTION,
    NO_ALIVE,
    NO_FEATURE,
    NO_PLACE,
    NO_REWARD,
    NO_STATE,
    NUMBER,
    STEP,
    Run,
    unusable,
)


def index_error(run: Run, error: IndexError) -> PartError:
    """Return the error for an index out of range, found by Python or by Numba's checks."""
    place = user_location(error)
    where = f" ({place})" if place else ""
    return PartError(f"a part indexes beyond an array: {error}, {_when(run)}{where}")


def contract_error(run: Run, status: int) -> PartError:
    """Return the error for a status with which the loop has stopped."""
    return PartError(f"{_broken_contract(run, status)}, {_when(run)}")


def _when(run: Run) -> str:
    clock = run.clock
    return f"in run {clock[NUMBER]}, episode {clock[EPISODE]}, step {clock[STEP]}"


def _broken_contract(run: Run, status: int) -> str:
    domain, ranges, seen = type(run.domain).__name__, run.ranges, observation(run.domain)
    component = max(unusable(seen), 0)
    return {
        NO_ACTION: f"act of {type(run.agent).__name__} must return an action from 0 to "
        f"{ranges.actions - 1}, got {run.clock[ACTION]}",
        NO_REWARD: f"step of {domain} must return a reward that is a finite number, got "
        f"{run.total[0]}",
        NO_ALIVE: f"step of {domain} must return alive as 0.0 where the episode has ended, else "
        f"1.0, got {run.total[0]}",
        NO_STATE: f"observation of {domain} must hold a state's number from 0 to "
        f"{ranges.states - 1}, got {seen[0]}",
        NO_PLACE: f"state_index of {domain} must return a state's number from 0 to "
        f"{ranges.states - 1}, or −1, got {verbs.state_index(run.domain)}",
        NO_FEATURE: f"encode of {type(run.features).__name__} must write features from 0 to "
        f"{ranges.features - 1}, got {_invalid_feature(run)}",
    }.get(
        status,
        f"observation: component {component} must be a finite number, got {seen[component]}",
    )


def _invalid_feature(run: Run) -> int | None:
    """Return the first index that is no feature, in the state that was encoded last."""
    for state in (run.next_state, run.state):
        for n in range(size(state)):
            if not 0 <= index(state, n) < run.ranges.features:
                return int(index(state, n))
    return None
