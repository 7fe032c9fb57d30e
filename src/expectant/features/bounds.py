"""Where the components of an observation lie, for maps that divide that space up."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from expectant.parts import Domain
from expectant.rules import Rule, number

Pairs = Sequence[tuple[float, float]]
Bounds = tuple[tuple[float, float], ...]


def _pairs(value: object) -> Bounds:
    if not isinstance(value, Sequence | np.ndarray) or len(value) == 0:
        raise TypeError
    pairs = []
    for low, high in value:
        pairs.append((number().convert(low), number().convert(high)))
        if not pairs[-1][0] < pairs[-1][1]:
            raise ValueError
    return tuple(pairs)


PAIRS = Rule("a list of (low, high) with finite low < high", _pairs)


def known_bounds(
    owner: str,
    domain: Domain,
    given: Pairs | None,
    dimensions: Sequence[int] | None = None,
) -> Bounds:
    """The bounds that were given, or else the domain's own; an error if they cannot be used.

    If only some ``dimensions`` are asked for, the others need not be finite.
    """
    own, name = domain.bounds, type(domain).__name__
    if given is None and own is None:
        raise ValueError(
            f"{owner}: needs a domain with bounds, {name} has none: give bounds=, "
            "a (low, high) for every component of its observations"
        )
    components = 1 if domain.states is not None else None if own is None else len(own)
    if given is not None and components not in (None, len(given)):
        raise ValueError(
            f"{owner}: bounds must have one (low, high) for each of the {components} components "
            f"of the observations of {name}, got {len(given)}"
        )
    bounds = tuple((float(low), float(high)) for low, high in given or own or ())
    for dimension in range(len(bounds)) if dimensions is None else dimensions:
        if dimension >= len(bounds):
            raise ValueError(
                f"{owner}: dimensions must be from 0 to {len(bounds) - 1} in {name}, "
                f"got {dimension}"
            )
        low, high = bounds[dimension]
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(
                f"{owner}: dimension {dimension} of {name} has bounds ({low:g}, {high:g}), which "
                "must be finite with low < high: give bounds= for all dimensions, such as those "
                "that ex.bounds_of finds by acting at random"
            )
    return bounds if dimensions is None else tuple(bounds[dimension] for dimension in dimensions)
