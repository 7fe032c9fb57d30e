"""Phases that go by steps: what the domains of the local-change adaptation test share.

The domain counts its own steps. When a phase is over the episode under way is cut off, and the
next one starts in the next phase, the way that phase starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.core.rules import list_of, whole
from expectant.core.verbs import function, truncated

STEPS, OVER = 0, 1
NEVER = 2**62


class PhaseClock(NamedTuple):
    """``ends`` (P,): after how many steps in all each phase is over; the last one never is.

    ``counts`` (2,): the steps so far, and whether the last of them was the last of its phase.
    """

    ends: np.ndarray
    counts: np.ndarray


@function
def tick_clock(clock):
    """Count one step, and note whether a phase ended with it."""
    ends, counts = clock.ends, clock.counts
    counts[STEPS] += 1
    counts[OVER] = 0
    for phase in range(ends.shape[0] - 1):
        if counts[STEPS] == ends[phase]:
            counts[OVER] = 1


@function
def present_phase(clock):
    """The phase that the next step belongs to."""
    ends, phase = clock.ends, 0
    while phase < ends.shape[0] - 1 and clock.counts[STEPS] >= ends[phase]:
        phase += 1
    return phase


@function
def entered_phase(clock):
    """The phase that an episode which starts now is in."""
    clock.counts[OVER] = 0
    return present_phase(clock)


def cut_off_with_phases(part_type: type) -> None:
    """Let episodes of a domain be cut off where the clock of its part says that a phase is over."""

    @truncated.register(part_type)
    def _(domain):
        return domain.clock.counts[OVER] == 1


def phase_clock(phase_steps: Sequence[int]) -> PhaseClock:
    """A clock at its start."""
    return PhaseClock(np.cumsum(np.array(phase_steps, np.int64)), np.zeros(2, np.int64))


def stop_clock(clock: PhaseClock) -> None:
    """Have the first phase go on for ever."""
    clock.ends[:] = NEVER
    clock.counts[:] = 0


def right_exit_pays(first: float, later: float) -> tuple[str, ...]:
    """The three phases of the adaptation test in words."""
    return (
        f"right exit pays {first:g}",
        f"right exit pays {later:g}, starts beside it",
        f"right exit pays {later:g}, starts anywhere",
    )


PHASE_STEPS = list_of(whole(1), "three whole numbers, 1 or more: the steps of each phase", 3)
