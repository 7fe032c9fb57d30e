"""Where random numbers come from: a sequence of its own for every seed, run and stream.

What belongs to the world, to acting, to planning and to building draws from generators of its own.
So run r of two agents sees the same starts and the same slips as long as both do the same, and how
much one of them plans changes nothing that is drawn for its actions.

NumPy reads a tuple of numbers as one row of 32-bit words, so (2**32, 0) would be (0, 1, 0), which
is (0, 1). Where every number is one word there is no such doubt. Everything else goes through
``spawn_key``, which comes after the words of the seed, at a fixed place.
"""

from __future__ import annotations

import ctypes

import numpy as np

from expectant.core.rules import whole

WORD = 2**32
SEED = whole(0, 2**128 - 1)  # the rule for seeds: four words
LONG = WORD - 1  # the first word of our spawn keys; children of a sequence are numbered from 0

# the streams of a run; building has no number, as a tuple without it ends in zeros anyway
ENVIRONMENT, TIES, EVALUATION, WORLD, ACTING, PLANNING = 1, 2, 3, 4, 5, 6

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_size_t, (ctypes.py_object, ctypes.c_char_p)


class Streams:
    """The generators of one run.

    ``world`` is for resets and steps of the domain, ``acting`` for actions and what happens where
    episodes begin and are broken off, ``planning`` for learning and planning, and ``building`` for
    what is drawn before the first step.
    """

    PASSED = ("world", "acting", "planning")  # what compiled code draws from
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
        """Where the addresses of those for compiled code are, each of a ``bitgen_t`` of NumPy."""
        if self._passed is None:
            named = self.by_name()
            found = (named[name].bit_generator.capsule for name in self.PASSED)
            self._passed = np.array([_pointer(capsule, b"BitGenerator") for capsule in found])
        return int(self._passed.ctypes.data)

    def by_name(self) -> dict[str, np.random.Generator]:
        """All of them by their names."""
        return {
            "world": self.world,
            "acting": self.acting,
            "planning": self.planning,
            "building": self.building,
        }

    def __reduce__(self) -> tuple[object, ...]:
        """Copies have addresses of their own."""
        return Streams, tuple(self.by_name().values())


class PCG64(np.random.PCG64):
    """NumPy's own with room behind it: what it counts on lies in no cache line with another's.

    Python keeps small objects of all threads side by side, and a generator writes to itself at
    every draw: two runs on two cores would take the line away from each other.
    """

    __slots__ = tuple(f"_room_{word}" for word in range(16))


def seed_sequence(seed: int, run: int, *stream: int) -> np.random.SeedSequence:
    """The sequence of a run of a seed, or of another stream (from 1) that goes with it."""
    if seed < WORD and run < WORD:
        return np.random.SeedSequence((seed, run, *stream))
    key = (LONG, run % WORD, run // WORD, *(stream or (0,)))
    return np.random.SeedSequence(seed, spawn_key=key)


def generator(seed: int, run: int, *stream: int) -> np.random.Generator:
    """The random numbers of a run, or of another stream that goes with it."""
    return np.random.Generator(PCG64(seed_sequence(seed, run, *stream)))


def run_streams(seed: int, run: int) -> Streams:
    """All generators of a run."""
    world, acting, planning = (generator(seed, run, part) for part in (WORLD, ACTING, PLANNING))
    return Streams(world, acting, planning, generator(seed, run))


def evaluation_streams(seed: int, run: int) -> Streams:
    """Those of an evaluation, which are not those of the run with the same seed."""
    parts = (WORLD, ACTING, PLANNING, 0)
    world, acting, planning, building = (generator(seed, run, EVALUATION, part) for part in parts)
    return Streams(world, acting, planning, building)


def to_32_bits(seed: int) -> int:
    """A seed for libraries that take only small ones; a small one is taken as it is."""
    return seed if seed < WORD else int(seed_sequence(seed, 0).generate_state(1)[0])
