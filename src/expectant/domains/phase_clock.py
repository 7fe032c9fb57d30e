"""A step counter for domains whose phases change after given numbers of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.core.rules import list_of, whole
from expectant.core.verbs import function, truncated

STEPS, OVER = 0, 1
NEVER = 2**62
PHASE_STEPS = list_of(whole(1), "three whole numbers, 1 or more: the steps of each phase", 3)


class PhaseClock(NamedTuple):
    """``ends`` (P,) are the steps after which each phase is over; the last one never is.

    ``counts`` (2,) are the steps so far, and 1 if the latest step ended a phase.
    """

    ends: np.ndarray
    counts: np.ndarray


@function
def tick_clock(clock):
    """Count one step."""
    ends, counts = clock.ends, clock.counts
    counts[STEPS] += 1
    counts[OVER] = 0
    for phase in range(ends.shape[0] - 1):
        if counts[STEPS] == ends[phase]:
            counts[OVER] = 1


@function
def current_phase(clock):
    """The phase of the next step."""
    ends, phase = clock.ends, 0
    while phase < ends.shape[0] - 1 and clock.counts[STEPS] >= ends[phase]:
        phase += 1
    return phase


@function
def enter_phase(clock):
    """Begin an episode: clear the end of a phase, and return the current phase."""
    clock.counts[OVER] = 0
    return current_phase(clock)


def truncate_with_phases(part_type: type) -> None:
    """Register that episodes of a part with a ``clock`` are truncated at the end of a phase."""

    @truncated.register(part_type)
    def _(domain):
        return domain.clock.counts[OVER] == 1


def start_clock(phase_steps: Sequence[int]) -> PhaseClock:
    """A clock at step 0."""
    return PhaseClock(np.cumsum(np.array(phase_steps, np.int64)), np.zeros(2, np.int64))


def stop_clock(clock: PhaseClock) -> None:
    """Make the first phase last for ever."""
    clock.ends[:] = NEVER
    clock.counts[:] = 0
