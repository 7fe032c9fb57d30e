"""The small arrays of a run in memory of their own, so that threads do not slow each other down.

NumPy takes small arrays from one store for all threads, so those of two runs come to lie side by
side. A core that writes to one of them takes the whole cache line (64 bytes, fetched in pairs)
away from the other core: the same runs took up to twice the time on two threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LINES = 128  # bytes that a core may fetch at once
SMALL = 4096  # the ends of larger arrays are too rarely written to matter


def set_apart(part: Any, shared: np.ndarray) -> Any:
    """The same part with its small arrays in one block; ``shared`` stays where it is."""
    found: dict[int, np.ndarray] = {}
    _collect(part, found)
    viewed = [id(array.base) for array in found.values() if array.base is not None]
    for key in (id(shared), *viewed):
        found.pop(key, None)
    found = {key: array for key, array in found.items() if _to_move(array)}
    places, end = [], 0
    for array in found.values():
        places.append(end)
        end += -(-array.nbytes // 16) * 16
    block = np.empty(end + 2 * LINES, np.uint8)
    first = -block.ctypes.data % LINES
    moved = {
        key: _moved(array, block, first + place)
        for (key, array), place in zip(found.items(), places, strict=True)
    }
    return _replaced(part, moved)


def _collect(part: Any, found: dict[int, np.ndarray]) -> None:
    if isinstance(part, np.ndarray):
        found[id(part)] = part
    elif isinstance(part, tuple):
        for piece in part:
            _collect(piece, found)


def _to_move(array: np.ndarray) -> bool:
    """Whether an array is small and all its own; one of objects cannot be moved."""
    plain = array.flags.owndata and array.flags.c_contiguous and not array.dtype.hasobject
    return bool(plain and array.nbytes <= SMALL)


def _moved(array: np.ndarray, block: np.ndarray, place: int) -> np.ndarray:
    here = np.ndarray(array.shape, array.dtype, block, place)
    here[...] = array
    return here


def _replaced(part: Any, moved: dict[int, np.ndarray]) -> Any:
    if isinstance(part, np.ndarray):
        return moved.get(id(part), part)
    if isinstance(part, tuple):
        pieces = [_replaced(piece, moved) for piece in part]
        return type(part)(*pieces) if hasattr(part, "_fields") else tuple(pieces)
    return part
