"""Random generators: an independent sequence for every seed, run and stream.

The environment, acting, planning and building draw from separate generators. So run r of two agents
sees the same starts and slips as long as both act alike, and the amount of planning does not change
the draws for actions.

NumPy reads a tuple of numbers as 32-bit words, so (2**32, 0) would equal (0, 1). Seeds and runs of
one word are passed as a tuple; longer ones go through ``spawn_key``, which follows the seed's words
at a fixed position.
"""

from __future__ import annotations

import ctypes

import numpy as np

from expectant.core.rules import whole

WORD = 2**32
SEED = whole(0, 2**128 - 1)  # the rule for seeds: four words
LONG = WORD - 1  # first word of these spawn keys; NumPy numbers children from 0

# streams of a run; building has no number
ENVIRONMENT, TIES, EVALUATION, WORLD, ACTING, PLANNING = 1, 2, 3, 4, 5, 6

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_size_t, (ctypes.py_object, ctypes.c_char_p)


class Streams:
    """The generators of one run.

    ``world`` is for resets and steps of the domain, ``acting`` for actions and for the verbs
    ``begin`` and ``on_truncation``, ``planning`` for learning and planning, and ``building`` for
    draws before the first step.
    """

    PASSED = ("world", "acting", "planning")  # to compiled code
    __slots__ = ("_passed", "acting", "building", "planning", "world")

    def __init__(
        self,
        world: np.random.Generator,
        acting: np.random.Generator,
        planning: np.random.Generator,
        building: np.random.Generator,
    ) -> None:
        self.world, self.acting, self.planning, self.building = world, acting, planning, building
        self._passed: np.ndarray | None = None

    @property
    def address(self) -> int:
        """Address of an array with pointers to the ``bitgen_t`` of the passed generators."""
        if self._passed is None:
            capsules = [getattr(self, name).bit_generator.capsule for name in self.PASSED]
            self._passed = np.array([_pointer(capsule, b"BitGenerator") for capsule in capsules])
        return int(self._passed.ctypes.data)

    def by_name(self) -> dict[str, np.random.Generator]:
        """Return all generators by their names."""
        return {name: getattr(self, name) for name in (*self.PASSED, "building")}

    def __reduce__(self) -> tuple[object, ...]:
        """Copy the generators, but not their addresses."""
        return Streams, tuple(self.by_name().values())


class PCG64(np.random.PCG64):
    """NumPy's generator, padded so that no two of them share a cache line.

    Every draw writes to the generator, so two runs on two cores would slow each other down.
    """

    __slots__ = tuple(f"_padding_{word}" for word in range(16))


def seed_sequence(seed: int, run: int, *stream: int) -> np.random.SeedSequence:
    """Return the seed sequence of a run, or of one of its streams (from 1)."""
    if seed < WORD and run < WORD:
        return np.random.SeedSequence((seed, run, *stream))
    key = (LONG, run % WORD, run // WORD, *(stream or (0,)))
    return np.random.SeedSequence(seed, spawn_key=key)


def generator(seed: int, run: int, *stream: int) -> np.random.Generator:
    """Return the generator of a run, or of one of its streams."""
    return np.random.Generator(PCG64(seed_sequence(seed, run, *stream)))


def run_streams(seed: int, run: int) -> Streams:
    """Return all generators of a run."""
    world, acting, planning = (generator(seed, run, part) for part in (WORLD, ACTING, PLANNING))
    return Streams(world, acting, planning, generator(seed, run))


def evaluation_streams(seed: int, run: int) -> Streams:
    """Return the generators of an evaluation, which differ from those of the run."""
    parts = (WORLD, ACTING, PLANNING, 0)
    world, acting, planning, building = (generator(seed, run, EVALUATION, part) for part in parts)
    return Streams(world, acting, planning, building)


def to_32_bits(seed: int) -> int:
    """Convert a seed for libraries that take 32 bits; a smaller one is unchanged."""
    return seed if seed < WORD else int(seed_sequence(seed, 0).generate_state(1)[0])
