"""The arrays of a finite MDP in their one form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

END = -1  # the successor where an episode ends


class Outcomes(NamedTuple):
    """An MDP's arrays in one form: ``probabilities``, ``rewards`` (P, S, A, O), ``successors``
    (S, A, O) with −1 for the end, ``start`` (S,)."""

    probabilities: np.ndarray
    rewards: np.ndarray
    successors: np.ndarray
    start: np.ndarray
