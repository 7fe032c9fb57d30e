from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import expectant as ex
from expectant.core.rng import generator, seed_sequence, to_32_bits

SEEDS = [0, 1, 7, 2**32 - 1, 2**32, 2**32 + 1, 7 * 2**32, 2**64, 2**96 + 2**32, 2**128 - 1]
RUNS = [0, 1, 2, 2**32 - 1, 2**32, 2**32 + 1]


def words(found: np.random.SeedSequence) -> tuple[int, ...]:
    return tuple(found.generate_state(4).tolist())


def test_small_seeds_give_the_numbers_they_always_gave():
    assert generator(0, 0).integers(2**60) == 734366826923567141
    assert generator(2**32 - 1, 29, 2).integers(2**60) == 1129081185748745744
    for seed, run, stream in itertools.product([0, 5, 2**32 - 1], [0, 29], [(), (1,), (2,)]):
        found = seed_sequence(seed, run, *stream)
        assert words(found) == words(np.random.SeedSequence((seed, run, *stream)))


def test_every_seed_run_and_stream_has_numbers_of_its_own():
    """Those of the children that a model may take from a run's generator included."""
    found = []
    for seed, run, stream in itertools.product(SEEDS, RUNS, [(), (1,), (2,)]):
        whole = seed_sequence(seed, run, *stream)
        found += [words(whole), *(words(child) for child in whole.spawn(3))]
    assert len(set(found)) == len(found) == len(SEEDS) * len(RUNS) * 3 * 4


def test_large_seeds_in_runs():
    def returns(seed: int) -> Any:
        return ex.run(
            ex.Corridor(), ex.RandomBinary(5, 2), ex.QLearning.paper(0.1), episodes=5, runs=2, seed=seed,
            compiled=False, progress=False,
        ).returns  # fmt: skip

    small, large = returns(0), returns(2**32)
    assert not np.array_equal(large[0], small[1])  # as it was when the words ran together
    assert not np.array_equal(large[0], large[1])
    assert np.array_equal(returns(2**128 - 1), returns(2**128 - 1))


def test_a_seed_for_other_libraries():
    assert to_32_bits(5) == 5
    assert 0 <= to_32_bits(2**70) < 2**32
    assert to_32_bits(2**70) != to_32_bits(2**71)
