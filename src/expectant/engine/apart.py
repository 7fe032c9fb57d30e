"""The small arrays of a run in one block, so that threads do not slow each other down.

NumPy allocates small arrays of all threads side by side. A core that writes to one takes the whole
cache line (64 bytes, fetched in pairs) away from the others: the same runs took up to twice the
time on two threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from expectant.core import tree

LINES = 128  # bytes that a core may fetch at once
SMALL = 4096  # the ends of larger arrays are too rarely written to matter


def set_apart(part: Any, shared: np.ndarray) -> Any:
    """Rebuild a part with its small arrays in one block; ``shared`` stays where it is."""
    found = {id(array): array for _, array in tree.arrays(part)}
    kept = {id(shared), *(id(array.base) for array in found.values() if array.base is not None)}
    small = [array for key, array in found.items() if key not in kept and _is_movable(array)]
    sizes = [-(-array.nbytes // 16) * 16 for array in small]
    block = np.empty(sum(sizes) + 2 * LINES, np.uint8)
    place, moved = -block.ctypes.data % LINES, {}
    for array, size in zip(small, sizes, strict=True):
        moved[id(array)] = np.ndarray(array.shape, array.dtype, block, place)
        moved[id(array)][...] = array
        place += size
    return tree.replace(part, moved)


def _is_movable(array: np.ndarray) -> bool:
    """True if an array is small, contiguous, of numbers, and not a view."""
    plain = array.flags.owndata and array.flags.c_contiguous and not array.dtype.hasobject
    return bool(plain and array.nbytes <= SMALL)
