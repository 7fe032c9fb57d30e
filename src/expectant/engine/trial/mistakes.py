"""Mistakes in parts, told in one sentence: which part, which promise, which value, where."""

from __future__ import annotations

from typing import Any

from expectant.engine.asking import Subject
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
from expectant.verbs import index, observation, place, size
from expectant.whose import is_ours

__all__ = [
    "PartError",
]

KINDS = {"model": "model", "backups": "backups", "options": "option"}  # by the name of a field

RETURNS = {
    NO_REWARD: "a reward that is a finite number",
    NO_ALIVE: "alive as 0.0 where the episode has ended, else 1.0",
}


class PartError(ValueError):
    """A part, usually somebody's own, that does not do what its verbs promise.

    ``kind`` is that of the part, where it is somebody's own and there is a check for it.
    """

    def __init__(self, sentence: str, kind: str = "") -> None:
        super().__init__(sentence)
        self.kind = kind

    def with_advice(self) -> PartError:
        """The same, with the check that tries the part without the rest."""
        advice = f"; ex.check_{self.kind}(…) tries it alone" if self.kind else ""
        return PartError(f"{self}{advice}")


def kinds_of(run: Run | Subject) -> dict[type, str]:
    """Which kind every part of a run is, of those that are not the package's own."""
    found: dict[type, str] = {}
    for kind in ("domain", "features", "agent"):
        if not hasattr(getattr(run, "domain", None), "received") or kind != "domain":
            _note_kinds(getattr(run, kind, None), kind, found)
    return found


def _note_kinds(part: Any, kind: str, found: dict[type, str]) -> None:
    if isinstance(part, tuple):
        if not is_ours(type(part)) and hasattr(part, "_fields"):
            found.setdefault(type(part), kind)
        for name, item in zip(getattr(part, "_fields", [""] * len(part)), part, strict=True):
            _note_kinds(item, KINDS.get(name, kind), found)


def beyond_an_array(run: Run, error: IndexError) -> PartError:
    """The error for an index that compiled code with a check of every index has found."""
    return PartError(f"a part indexes beyond an array: {error}, {_when(run)}")


def broken_promise(run: Run, status: int) -> PartError:
    """The error for a status with which the loop has stopped, from what is in the run's arrays."""
    part = {NO_ACTION: run.agent, NO_FEATURE: run.features}.get(status, run.domain)
    kind = kinds_of(run).get(type(part), "")
    return PartError(f"{_promise(run, status)}, {_when(run)}", kind).with_advice()


def _when(run: Run) -> str:
    clock = run.clock
    return f"in run {clock[NUMBER]}, episode {clock[EPISODE]}, step {clock[STEP]}"


def _promise(run: Run, status: int) -> str:
    """Which promise, and what came instead."""
    domain, ranges = type(run.domain).__name__, run.ranges
    if status == NO_ACTION:
        return (
            f"act of {type(run.agent).__name__} must return an action from 0 to "
            f"{ranges.actions - 1}, got {run.clock[ACTION]}"
        )
    if status in RETURNS:
        return f"step of {domain} must return {RETURNS[status]}, got {run.total[0]}"
    seen = observation(run.domain)
    if status == NO_STATE:
        return (
            f"observation of {domain} must hold a state's number from 0 to {ranges.states - 1}, "
            f"got {seen[0]}"
        )
    if status == NO_PLACE:
        return (
            f"place of {domain} must return a state's number from 0 to {ranges.states - 1}, or −1, "
            f"got {place(run.domain)}"
        )
    if status == NO_FEATURE:
        return (
            f"encode of {type(run.features).__name__} must write features from 0 to "
            f"{ranges.features - 1}, got {_no_feature(run)}"
        )
    component = unusable(seen)
    return f"observation: component {component} must be a finite number, got {seen[component]}"


def _no_feature(run: Run) -> int:
    """The first index that is no feature, in the state that was encoded last."""
    for state in (run.next_state, run.state):
        for n in range(size(state)):
            if not 0 <= index(state, n) < run.ranges.features:
                return int(index(state, n))
    raise AssertionError("the loop stopped at an index that is a feature")
