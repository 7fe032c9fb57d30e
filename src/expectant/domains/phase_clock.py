"""A step counter for domains whose phases change after given numbers of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from expectant.core.verbs import function


class PhaseClock(NamedTuple):
    """``ends`` (P,) are the steps after which each phase is over; the last one never is.

    ``steps`` (1,) counts the steps so far.
    """

    ends: np.ndarray
    steps: np.ndarray


@function
def current_phase(clock):
    """Return the phase of the next step."""
    ends, phase = clock.ends, 0
    while phase < ends.shape[0] - 1 and clock.steps[0] >= ends[phase]:
        phase += 1
    return phase


def start_clock(phase_steps: Sequence[int]) -> PhaseClock:
    """Make a clock at step 0."""
    return PhaseClock(np.cumsum(np.array(phase_steps, np.int64)), np.zeros(1, np.int64))
