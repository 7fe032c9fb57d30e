"""Copies of parts, for whoever must leave a run as it is."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from expectant.seeds import Streams


def copied(part: Any, copies: dict[int, Any] | None = None) -> Any:
    """A part with arrays and generators of its own; what was shared within it still is.

    ``copies`` are those that there are already, by the identity of what they are copies of.
    """
    copies = {} if copies is None else copies
    if isinstance(part, tuple):
        items = [copied(item, copies) for item in part]
        return type(part)(*items) if hasattr(part, "_fields") else tuple(items)
    if isinstance(part, Streams):
        return Streams(*(copied(rng, copies) for rng in part.named().values()))
    if isinstance(part, np.ndarray | np.random.Generator):
        if id(part) not in copies:
            copies[id(part)] = copy.deepcopy(part)
        return copies[id(part)]
    return part
