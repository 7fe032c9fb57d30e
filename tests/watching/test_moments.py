from __future__ import annotations

import pytest

import expectant as ex
from expectant.watching.moments import changes_of, moments


@pytest.mark.parametrize(
    ("length", "frames", "changes", "expected"),
    [
        (16, 5, (), [0, 1, 4, 9, 16]),
        (32, 9, (16,), [0, 1, 4, 9, 16, 17, 20, 25, 32]),
        (3, 80, (), [0, 1, 2, 3]),
        (4, 80, (2,), [0, 1, 2, 3, 4]),
        (100, 5, (20, 40, 60, 80), [0, 25, 50, 75, 100]),  # too few frames to show the changes
        (1, 2, (), [0, 1]),
        (30, 4, (15,), [0, 10, 20, 30]),  # a change needs two frames before and two after
        (30, 5, (15,), [0, 4, 15, 19, 30]),
    ],
)
def test_moments_by_hand(length, frames, changes, expected):
    assert moments(length, frames, changes) == expected


@pytest.mark.parametrize("frames", [2, 7, 13, 80, 200])
@pytest.mark.parametrize("changes", [(), (500,), (500, 1000)])
def test_moments_begin_at_nothing_and_end_at_the_end(frames, changes):
    found = moments(1500, frames, changes)
    assert found[0] == 0 and found[-1] == 1500 and len(found) == frames
    assert found == sorted(set(found))
    if frames > 2 * len(changes) + 2:
        assert set(changes) < set(found)
        for change in changes:
            after = found[found.index(change) + 1]
            before = found[found.index(change) - 1]
            assert after - change < change - before  # denser right after a change


@pytest.mark.parametrize(
    ("domain", "unit", "length", "expected"),
    [
        (ex.Corridor(switch_every=500), "episode", 1500, (500, 1000)),
        (ex.Corridor(switch_every=500), "step", 1500, ()),
        (ex.Corridor(), "episode", 1500, ()),
        (ex.LocaGrid(phase_steps=(30, 20, 10)), "step", 60, (30, 50)),
        (ex.LocaGrid(phase_steps=(30, 20, 10)), "step", 40, (30,)),
        (ex.LocaGrid(phase_steps=(30, 20, 10)), "episode", 60, ()),
        (ex.MountainCar(), "episode", 60, ()),
    ],
)
def test_changes_are_known_in_the_unit_they_go_by(domain, unit, length, expected):
    assert changes_of(domain, unit, length) == expected
