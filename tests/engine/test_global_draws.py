"""Verbs that draw from what is global are found by reading them."""

from __future__ import annotations

import random
from random import gauss

import numpy as np
import pytest
from numpy.random import rand

from expectant.engine.trial.global_draws import drawn_from

RNG = np.random.default_rng(0)


def helper():
    return random.random()


def by_helper(rng):
    return helper()


def by_itself(rng):
    return by_itself(rng) + rng.random()


def of_numpy(rng):
    return np.random.randint(2)  # noqa: NPY002


def imported(rng):
    return gauss(0.0, 1.0)


def imported_from_numpy(rng):
    return rand()  # noqa: NPY002


def own_generator(rng):
    return RNG.random()


def passed_in(rng):
    return np.floor(rng.random() * 3)


@pytest.mark.parametrize(
    ("verb", "source"),
    [
        (by_helper, "random.random"),
        (of_numpy, "np.random.randint"),
        (imported, "gauss"),
        (imported_from_numpy, "rand"),
        (own_generator, "RNG.random"),
        (passed_in, ""),
        (by_itself, ""),
    ],
)
def test_what_a_verb_draws_from(verb, source):
    assert drawn_from(verb) == source
