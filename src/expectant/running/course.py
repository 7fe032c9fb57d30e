"""Driving the loop from outside: calling it until it is done, making room where a part asks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from expectant.running.loop import FULL, NOT_FINITE, Budget, Run
from expectant.running.mistakes import beyond_an_array, broken_promise
from expectant.verbs import grown


def going_on() -> np.ndarray:
    """A control that lets loops go on."""
    return np.zeros(1, np.int64)


def advanced(
    kernel: Callable[..., int],
    prepared: Run,
    budget: Budget,
    rng: np.random.Generator,
    control: np.ndarray,
) -> tuple[Run, int]:
    """Call the loop until it is done, making room where a part asks; a broken promise raises."""
    try:
        status = kernel(prepared, budget, rng, control)
        while status == FULL:
            prepared = prepared._replace(agent=grown(prepared.agent))
            status = kernel(prepared, budget, rng, control)
    except IndexError as error:
        raise beyond_an_array(prepared, error) from error
    if status >= NOT_FINITE:
        raise broken_promise(prepared, status)
    return prepared, status
