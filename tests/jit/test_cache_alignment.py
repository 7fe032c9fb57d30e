"""Small arrays of different runs never share a cache line, and stay the arrays they were."""

from __future__ import annotations

import numpy as np

import expectant as ex
from expectant.core import tree
from expectant.engine.driver import new_control
from expectant.engine.setup import LINES, SMALL, Setup, align_arrays


def lines_of(part, besides):
    """The pairs of cache lines on which the small arrays of a part lie."""
    return {
        line
        for _, array in tree.arrays(part)
        if 0 < array.nbytes <= SMALL and array is not besides
        for line in range(
            array.ctypes.data // LINES, (array.ctypes.data + array.nbytes - 1) // LINES + 1
        )
    }


def test_runs_do_not_share_cache_lines():
    setup = Setup(
        ex.Corridor(), ex.RandomBinary(14, 5), ex.CachedValues.paper(0.1, 0.1, 0.1), episodes=10
    )
    control = new_control()
    prepared = [setup.build(number, control)[0] for number in range(20)]
    lines = [lines_of(run, control) for run in prepared]
    assert all(lines)
    assert len(set().union(*lines)) == sum(len(own) for own in lines)


def test_what_is_shared_stays_shared():
    one, control = np.arange(3.0), new_control()
    moved = align_arrays((one, (one, control), 7), control)
    assert moved[0] is moved[1][0]
    assert moved[0] is not one
    assert moved[0].tolist() == [0.0, 1.0, 2.0]
    assert moved[1][1] is control
    assert moved[2] == 7
