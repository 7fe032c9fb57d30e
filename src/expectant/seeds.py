"""Where random numbers come from: a sequence of its own for every seed, run and stream.

NumPy reads a tuple of numbers as one row of 32-bit words, so (2**32, 0) would be (0, 1, 0), which
is (0, 1). Where every number is one word there is no such doubt. Everything else goes through
``spawn_key``, which comes after the words of the seed, at a fixed place.
"""

from __future__ import annotations

import numpy as np

from expectant.rules import whole

WORD = 2**32
SEED = whole(0, 2**128 - 1)  # the rule for seeds: four words
LONG = WORD - 1  # the first word of our spawn keys; children of a sequence are numbered from 0


def sequence(seed: int, run: int, *stream: int) -> np.random.SeedSequence:
    """The sequence of a run of a seed, or of another stream (from 1) that goes with it."""
    if seed < WORD and run < WORD:
        return np.random.SeedSequence((seed, run, *stream))
    key = (LONG, run % WORD, run // WORD, *(stream or (0,)))
    return np.random.SeedSequence(seed, spawn_key=key)


def generator(seed: int, run: int, *stream: int) -> np.random.Generator:
    """The random numbers of a run, or of another stream that goes with it."""
    return np.random.Generator(np.random.PCG64(sequence(seed, run, *stream)))


def one_word(seed: int) -> int:
    """A seed for libraries that take only small ones; a small one is taken as it is."""
    return seed if seed < WORD else int(sequence(seed, 0).generate_state(1)[0])
