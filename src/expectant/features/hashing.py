"""A fixed number of features for any number of tiles, and how often tiles had to share one.

Every tiling has its own share of the features, so the active features of an observation are always
distinct. A tile looks for its place in a few slots from its hash on: the one it has, or a free one,
which is then its own for good. If other tiles have them all, it shares the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.memory import full
from expectant.verbs import encode, function

FREE = -1
PROBES = 8
MULTIPLIER, MODULUS = 1_000_003, 2_147_483_647  # products stay below 2⁶³
USED, LOOKUPS, COLLISIONS = 0, 1, 2


class HashedPart(NamedTuple):
    """``tiles`` are the tiles themselves; ``owners`` (n, slots) is the tile that has each slot.

    ``counts`` (3,): slots in use, look-ups, and those that ended at another tile's slot.
    """

    tiles: object
    owners: np.ndarray
    counts: np.ndarray


class Collisions(NamedTuple):
    """``share`` of all look-ups that were ``collisions``; ``used`` of the slots have an owner."""

    collisions: int
    lookups: int
    used: int

    @property
    def share(self) -> float:
        return self.collisions / self.lookups if self.lookups else 0.0


def collisions(part: HashedPart) -> Collisions:
    """How often tiles have shared a feature since the part was built."""
    used, lookups, shared = (int(count) for count in part.counts)
    return Collisions(shared, lookups, used)


def hashed(tiles: object, tilings: int, size: int) -> HashedPart:
    """Tiles put into ``size`` features."""
    owners = full((tilings, size // tilings), FREE, np.int64)
    return HashedPart(tiles, owners, np.zeros(3, np.int64))


@function
def first_slot(tile, slots):
    """Where a tile begins to look: neighbouring tiles are sent far from each other."""
    code = (tile % MODULUS) * MULTIPLIER % MODULUS
    return (code ^ (code >> 15)) % slots


@function
def slot_of_tile(owners, tiling, tile, counts):
    """The slot of a tile among those of its tiling."""
    slots = owners.shape[1]
    first = first_slot(tile, slots)
    slot = first
    counts[LOOKUPS] += 1
    for _ in range(PROBES):
        owner = owners[tiling, slot]
        if owner == tile:
            return slot
        if owner == FREE:
            owners[tiling, slot] = tile
            counts[USED] += 1
            return slot
        slot = slot + 1 if slot + 1 < slots else 0
    counts[COLLISIONS] += 1
    return first


@encode.register(HashedPart)
def _(features, observation, action, state):
    active, owners, counts = state.active, features.owners, features.counts
    encode(features.tiles, observation, action, state)
    for tiling in range(owners.shape[0]):
        slot = slot_of_tile(owners, tiling, active[tiling], counts)
        active[tiling] = tiling * owners.shape[1] + slot
