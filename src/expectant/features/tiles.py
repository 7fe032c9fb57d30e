"""Tile coding: several grids over the space of observations, each displaced a little.

An observation is in one tile of every grid (*tiling*), and those tiles are its features. Tilings
are displaced as in Sutton & Barto (2018, sec. 9.5.4): tiling t by t · (1, 3, 5, …) times the
n-th part of a tile, n being the number of tilings, modulo a whole tile. So all displacements are
whole n-th parts, and an observation needs to be divided only once, into n-th parts of tiles.

Hashed tiles have a fixed number of features, each tiling its own share of them, so the active ones
of an observation are always distinct. A tile looks for its place in a few slots from its hash on:
the one it has, or a free one, which is then its own for good. If other tiles have them all, it
shares the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Domain, Features, Shape
from expectant.core.memory import full
from expectant.core.rules import Rule, either, flag, list_of, or_none, whole
from expectant.core.verbs import encode, function
from expectant.domains.external import LIMITS
from expectant.features.bounds import Bounds, known_bounds

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


LARGEST = 2**31 - 1  # tables of feature vectors keep indices in 32 bits
LARGEST_HASHED = 2**62  # the tiles themselves are still numbered


class TilesPart(NamedTuple):
    """n tilings of m dimensions.

    ``low``, ``scale`` (m,): from a component to n-th parts of tiles; ``parts`` (m,) is how many of
    those there are, ``wraps`` (m,) is 1 where they wrap around. ``displaced`` (m, n) is by how many
    parts a tiling is displaced. A tiling has ``rows`` (m,) tiles in a dimension, ``strides`` (m,)
    apart in its numbering, and ``each`` in all. ``bias`` is the unit that is always on, −1: none.
    ``components`` (m,) says which of an observation the dimensions are.
    """

    low: np.ndarray
    scale: np.ndarray
    parts: np.ndarray
    wraps: np.ndarray
    displaced: np.ndarray
    rows: np.ndarray
    strides: np.ndarray
    each: int
    bias: int
    components: np.ndarray


@function
def part_of(features, dimension, component):
    """In which n-th part of a tile a component lies; beyond the bounds it is in the outermost."""
    parts = features.parts[dimension]
    low, scale = float(features.low[dimension]), float(features.scale[dimension])
    position = (component - low) * scale
    if features.wraps[dimension] == 1:
        position -= np.floor(position / parts) * parts
    if position < 0.0:
        return 0
    if position < parts:
        return int(position)
    return parts - 1


@encode.register(TilesPart)
def _(features, observation, action, state):
    active, displaced, each = state.active, features.displaced, features.each
    tilings = displaced.shape[1]
    for tiling in range(tilings):
        active[tiling] = tiling * each
    for dimension in range(displaced.shape[0]):
        component = features.components[dimension]
        part = part_of(features, dimension, float(observation[component]))
        tile = part // tilings
        left = part - tile * tilings
        rows, stride = features.rows[dimension], features.strides[dimension]
        for tiling in range(tilings):
            row = tile + 1 if left + displaced[dimension, tiling] >= tilings else tile
            if row == rows:  # happens where the dimension wraps around only
                row = 0
            active[tiling] += row * stride
    if features.bias >= 0:
        active[tilings] = features.bias


def wholes(low: int) -> Rule[tuple[int, ...]]:
    return list_of(whole(low), f"a list of whole numbers, {low} or more")


class Tiles(Features):
    """Tile coding of observations that are vectors: one active tile in each of ``tilings`` grids.

    ``tiles``
        how many tiles the bounds are divided into, in every dimension or in each. Where there are
        several tilings a dimension that does not wrap around has one more, for the displacement.
    ``bounds``
        (low, high) per dimension; None: the domain's own. Beyond them is the outermost tile.
    ``wrap``
        the dimensions, numbered from 0, whose two ends are the same place, such as angles.
    ``hash_size``
        puts the tiles into so many features, a fixed share for each tiling, as they are first
        visited. Tiles that find no free place nearby share one
        (:func:`expectant.features.tiles.collisions` counts how often).
    ``bias``
        adds a feature that is always one, the last.
    ``dimensions``
        which components of an observation to tile, numbered from 0; None: all of them. ``tiles``
        has a number for each of these, ``bounds`` and ``wrap`` are about the whole observation.
        Tiles of several subsets stand side by side in ``Joined``.
    """

    memory_advice: ClassVar[str] = "fewer tiles, or hash_size="
    tilings: int = parameter(whole(1))
    tiles: int | Sequence[int] = parameter(either(whole(1), wholes(1)))
    bounds: Sequence[tuple[float, float]] | None = parameter(or_none(LIMITS), default=None)
    wrap: Sequence[int] = parameter(wholes(0), default=())
    hash_size: int | None = parameter(or_none(whole(1)), default=None)
    bias: bool = parameter(flag(), default=False, meaning="add a feature that is always 1")
    dimensions: Sequence[int] | None = parameter(or_none(wholes(0)), default=None)

    def validate(self) -> None:
        chosen = self.dimensions
        if chosen is not None and (not chosen or len(set(chosen)) < len(chosen)):
            raise ValueError(f"Tiles: dimensions must be distinct, and some, got {chosen!r}")
        if self.hash_size is not None and self.hash_size % self.tilings != 0:
            raise ValueError(
                f"Tiles: hash_size must be a multiple of tilings, got hash_size={self.hash_size} "
                f"with tilings={self.tilings}"
            )
        if self.bounds is not None and chosen is None:
            self._check_dimensions(len(self.bounds), "bounds")
        if chosen is not None and not set(self.wrap) <= set(chosen):
            raise ValueError(
                f"Tiles: wrap must be among dimensions={chosen!r}, got {tuple(self.wrap)!r}"
            )

    def shape(self, domain: Domain) -> Shape:
        bounds = self._bounds(domain)
        self._check_dimensions(len(bounds), f"the observations of {type(domain).__name__}")
        features = self._features(len(bounds))
        if self.bias:
            return Shape(features + 1, self.tilings + 1, bias=features)
        return Shape(features, self.tilings)

    def build(self, domain: Domain, rng: np.random.Generator) -> TilesPart | HashedPart:
        shape = self.shape(domain)
        part = self._part(self._bounds(domain), shape.bias)
        if self.hash_size is None:
            return part
        return hashed(part, self.tilings, self.hash_size)

    def _bounds(self, domain: Domain) -> Bounds:
        """Those of the dimensions that are tiled."""
        return known_bounds("Tiles", domain, self.bounds, self.dimensions)

    def _components(self, dimensions: int) -> Sequence[int]:
        return range(dimensions) if self.dimensions is None else self.dimensions

    def _part(self, bounds: Bounds, bias: int) -> TilesPart:
        dimensions, rows = len(bounds), self._rows(len(bounds))
        components = np.array(self._components(dimensions), np.int64)
        parts = np.array(self._per_dimension(dimensions), np.int64) * self.tilings
        low, high = np.array(bounds, float).T.copy()
        odd = 2 * np.arange(dimensions)[:, None] + 1
        return TilesPart(
            low=low,
            scale=parts / (high - low),
            parts=parts,
            wraps=np.isin(components, self.wrap).astype(np.int64),
            displaced=odd * np.arange(self.tilings)[None, :] % self.tilings,
            rows=np.array(rows, np.int64),
            strides=np.array([math.prod(rows[i + 1 :]) for i in range(dimensions)], np.int64),
            each=math.prod(rows),
            bias=bias,
            components=components,
        )

    def _per_dimension(self, dimensions: int) -> tuple[int, ...]:
        return (self.tiles,) * dimensions if isinstance(self.tiles, int) else tuple(self.tiles)

    def _rows(self, dimensions: int) -> list[int]:
        """How many tiles a tiling has in each dimension."""
        spare = 1 if self.tilings > 1 else 0
        each = zip(self._per_dimension(dimensions), self._components(dimensions), strict=True)
        return [n if component in self.wrap else n + spare for n, component in each]

    def _features(self, dimensions: int) -> int:
        """How many features there are, without the bias unit."""
        tiles = self.tilings * math.prod(self._rows(dimensions))
        if tiles > (LARGEST if self.hash_size is None else LARGEST_HASHED):
            advice = ": fewer tiles, or hash_size=" if self.hash_size is None else ": fewer tiles"
            raise ValueError(f"Tiles: {tiles:,} tiles are too many to be numbered{advice}")
        return tiles if self.hash_size is None else self.hash_size

    def _check_dimensions(self, dimensions: int, what: str) -> None:
        """``tiles`` and ``wrap`` must agree with how many dimensions there are."""
        if not isinstance(self.tiles, int) and len(self.tiles) != dimensions:
            raise ValueError(
                f"Tiles: tiles must have a number for each of the {dimensions} dimensions of "
                f"{what}, got {len(self.tiles)}: {self.tiles!r}"
            )
        for dimension in self.wrap if self.dimensions is None else ():
            if dimension >= dimensions:
                raise ValueError(
                    f"Tiles: wrap must name dimensions from 0 to {dimensions - 1} of {what}, "
                    f"got {dimension}"
                )
