"""Tile coding: several grids (*tilings*) over the observation space, each displaced a little.

An observation lies in one tile of every tiling; those tiles are its active features. Tiling t of n
is displaced by t · (1, 3, 5, …) / n tiles, modulo one tile (S&B section 9.5.4), so observations are
divided only once, into n-th parts of tiles.

Hashed tiles share a fixed number of features, an equal share per tiling, so the active ones of an
observation are distinct. A tile probes a few slots from its hash on and keeps the first free one;
if all are taken, it shares the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Domain, Features, Shape
from expectant.core.memory import full
from expectant.core.rules import Rule, either, list_of, or_none, whole
from expectant.core.verbs import encode, function
from expectant.domains.external import LIMITS
from expectant.features.bounds import Bounds, known_bounds

FREE = -1
PROBES = 8
MULTIPLIER, MODULUS = 1_000_003, 2_147_483_647  # products stay below 2⁶³
LARGEST = 2**31 - 1  # tables of feature vectors keep indices in 32 bits
LARGEST_HASHED = 2**62  # tiles are numbered before they are hashed


class TilesPart(NamedTuple):
    """n tilings of m dimensions.

    ``low``, ``scale`` (m,) map a component to n-th parts of tiles, of which there are ``parts``
    (m,); ``wraps`` (m,) is 1 where a dimension wraps around; ``displacements`` (m, n) are in parts.
    A tiling has ``rows`` (m,) tiles per dimension, with ``strides`` (m,), and ``tiles`` in total.
    ``components`` (m,) are the components of the observation that are tiled.
    """

    low: np.ndarray
    scale: np.ndarray
    parts: np.ndarray
    wraps: np.ndarray
    displacements: np.ndarray
    rows: np.ndarray
    strides: np.ndarray
    tiles: int
    components: np.ndarray


@function
def part_of(features, dimension, component):
    """Number of the n-th part of a tile that holds a component, clipped to the bounds."""
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
    active, displacements, tiles = state.active, features.displacements, features.tiles
    tilings = displacements.shape[1]
    for tiling in range(tilings):
        active[tiling] = tiling * tiles
    for dimension in range(displacements.shape[0]):
        component = features.components[dimension]
        part = part_of(features, dimension, float(observation[component]))
        tile = part // tilings
        left = part - tile * tilings
        rows, stride = features.rows[dimension], features.strides[dimension]
        for tiling in range(tilings):
            row = tile + 1 if left + displacements[dimension, tiling] >= tilings else tile
            if row == rows:  # only where the dimension wraps around
                row = 0
            active[tiling] += row * stride


class HashedPart(NamedTuple):
    """``owners`` (n, slots) are the tiles in each slot."""

    tiles: object
    owners: np.ndarray


@function
def first_slot(tile, slots):
    """Hash of a tile; neighbouring tiles are sent far apart."""
    code = (tile % MODULUS) * MULTIPLIER % MODULUS
    return (code ^ (code >> 15)) % slots


@function
def find_tile_slot(owners, tiling, tile):
    """Return the slot of a tile among those of its tiling; a new tile takes a free one."""
    slots = owners.shape[1]
    first = first_slot(tile, slots)
    slot = first
    for _ in range(PROBES):
        if owners[tiling, slot] == FREE:
            owners[tiling, slot] = tile
        if owners[tiling, slot] == tile:
            return slot
        slot = slot + 1 if slot + 1 < slots else 0
    return first


@encode.register(HashedPart)
def _(features, observation, action, state):
    active, owners = state.active, features.owners
    encode(features.tiles, observation, action, state)
    for tiling in range(owners.shape[0]):
        slot = find_tile_slot(owners, tiling, active[tiling])
        active[tiling] = tiling * owners.shape[1] + slot


def wholes(low: int) -> Rule[tuple[int, ...]]:
    return list_of(whole(low), f"a list of whole numbers, {low} or more")


class Tiles(Features):
    """Tile coding of vectors: one active tile in each of ``tilings`` grids.

    ``tiles``
        tiles per dimension, one number for all or one for each. With several tilings, a dimension
        that does not wrap around has one more, for the displacement.
    ``bounds``
        (low, high) per dimension; None: the domain's. Values beyond are in the outermost tile.
    ``wrap``
        dimensions, from 0, whose two ends are the same point, such as angles.
    ``hash_size``
        the number of features to hash the tiles into, a multiple of ``tilings``.
    ``dimensions``
        the components to tile, from 0; None: all. ``tiles`` has a number for each of these,
        ``bounds`` and ``wrap`` are about all components. ``Joined`` combines several subsets.
    """

    memory_advice: ClassVar[str] = "fewer tiles, or hash_size="
    tilings: int = parameter(whole(1))
    tiles: int | Sequence[int] = parameter(either(whole(1), wholes(1)))
    bounds: Sequence[tuple[float, float]] | None = parameter(or_none(LIMITS), default=None)
    wrap: Sequence[int] = parameter(wholes(0), default=())
    hash_size: int | None = parameter(or_none(whole(1)), default=None)
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
        if chosen is not None and not set(self.wrap) <= set(chosen):
            raise ValueError(
                f"Tiles: wrap must be among dimensions={chosen!r}, got {tuple(self.wrap)!r}"
            )
        if self.bounds is not None and chosen is None:
            self._check_dimensions(len(self.bounds), "bounds")

    def shape(self, domain: Domain) -> Shape:
        tiles = self.tilings * math.prod(self._layout(domain)[-1])
        if tiles > (LARGEST if self.hash_size is None else LARGEST_HASHED):
            advice = "fewer tiles" if self.hash_size else self.memory_advice
            raise ValueError(f"Tiles: {tiles:,} tiles are too many to be numbered: {advice}")
        return Shape(self.hash_size or tiles, self.tilings)

    def build(self, domain: Domain, rng: np.random.Generator) -> TilesPart | HashedPart:
        bounds, components, tiles, rows = self._layout(domain)
        dimensions, parts = len(bounds), np.array(tiles, np.int64) * self.tilings
        low, high = np.array(bounds, float).T.copy()
        odd = 2 * np.arange(dimensions)[:, None] + 1
        part = TilesPart(
            low=low,
            scale=parts / (high - low),
            parts=parts,
            wraps=np.isin(components, self.wrap).astype(np.int64),
            displacements=odd * np.arange(self.tilings)[None, :] % self.tilings,
            rows=np.array(rows, np.int64),
            strides=np.array([math.prod(rows[i + 1 :]) for i in range(dimensions)], np.int64),
            tiles=math.prod(rows),
            components=np.array(components, np.int64),
        )
        if self.hash_size is None:
            return part
        owners = full((self.tilings, self.hash_size // self.tilings), FREE, np.int64)
        return HashedPart(part, owners)

    def _layout(self, domain: Domain) -> tuple[Bounds, Sequence[int], Sequence[int], list[int]]:
        """Return bounds, component, tiles and rows of a tiling, of every dimension."""
        bounds = known_bounds("Tiles", domain, self.bounds, self.dimensions)
        self._check_dimensions(len(bounds), f"the observations of {type(domain).__name__}")
        components = self.dimensions or range(len(bounds))
        tiles = (self.tiles,) * len(bounds) if isinstance(self.tiles, int) else self.tiles
        extra = 1 if self.tilings > 1 else 0
        counts = zip(tiles, components, strict=True)
        rows = [n if component in self.wrap else n + extra for n, component in counts]
        return bounds, components, tiles, rows

    def _check_dimensions(self, dimensions: int, source: str) -> None:
        if not isinstance(self.tiles, int) and len(self.tiles) != dimensions:
            raise ValueError(
                f"Tiles: tiles must have a number for each of the {dimensions} dimensions of "
                f"{source}, got {len(self.tiles)}: {self.tiles!r}"
            )
        if self.dimensions is None and max(self.wrap, default=0) >= dimensions:
            raise ValueError(
                f"Tiles: wrap must name dimensions from 0 to {dimensions - 1} of {source}, "
                f"got {max(self.wrap)}"
            )
