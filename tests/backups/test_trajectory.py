from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from building import Built

import expectant as ex
from expectant.verbs import draw, remember, stored


def filled(built: Built, length: int, capacity: int, steps: Sequence[tuple[int, int | None]]):
    """A trajectory replay of the given steps, whose rewards number them."""
    backups = ex.Trajectory(length, capacity).build(built.setting)
    for number, (here, there) in enumerate(steps):
        remember(backups, built.transition(here, 1, float(number), there))
    return backups


def drawn(built: Built, backups, times: int) -> list[int]:
    """The numbers of the steps that are drawn, one after the other."""
    state, numbers = built.state(0), []
    for _ in range(times):
        slot = draw(backups, state, built.rng)
        numbers.append(int(stored(backups, slot)[1]))
        assert state.place[0] == backups.replay.states.places[slot]
    return numbers


def walks(numbers: list[int], starts_after: set[int], length: int) -> list[list[int]]:
    """Cut a sequence of draws into walks, as they should be."""
    found: list[list[int]] = [[]]
    for number in numbers:
        if found[-1] and (found[-1][-1] in starts_after or len(found[-1]) == length):
            found.append([])
        found[-1].append(number)
    return found


def test_walks_follow_experience_and_stop_where_it_stopped():
    built = Built(ex.Corridor(), ex.OneHot())
    # 0 1 2 ended; 3 4 was cut off (what follows starts elsewhere); 5 6 7 is the newest
    steps = [(0, 1), (1, 2), (2, None), (5, 6), (6, 7), (2, 3), (3, 4), (4, 5)]
    backups = filled(built, 3, 100, steps)
    numbers = drawn(built, backups, 9000)
    parts = walks(numbers, {2, 4, 7}, 3)[:-1]
    for walk in parts:
        assert walk == list(range(walk[0], walk[0] + len(walk)))
    assert max(map(len, parts)) == 3
    assert all(len(walk) == 3 or walk[-1] in {2, 4, 7} for walk in parts)
    starts = np.bincount([walk[0] for walk in parts], minlength=8) / len(parts)
    np.testing.assert_allclose(starts, 1 / 8, atol=0.025)


def test_a_walk_ends_with_its_episode_even_if_the_next_one_starts_in_the_same_state():
    built = Built(ex.Corridor(), ex.OneHot())
    backups = filled(built, 10, 100, [(0, 1), (1, 1), (1, 2), (2, 3)])
    backups.replay.alive[1] = 0.0
    numbers = drawn(built, backups, 400)
    after_the_end = {after for before, after in pairwise(numbers) if before == 1}
    assert after_the_end == {0, 1, 2, 3}  # a new walk begins, anywhere


def test_length_one_is_uniform_replay():
    built = Built(ex.Corridor(), ex.OneHot())
    backups = filled(built, 1, 4, [(n, n + 1) for n in range(6)])
    seen = np.bincount(drawn(built, backups, 8000), minlength=6) / 8000
    np.testing.assert_allclose(seen, [0, 0, 0.25, 0.25, 0.25, 0.25], atol=0.02)


def test_walks_go_on_over_the_wrapped_end_but_not_past_the_newest():
    built = Built(ex.Corridor(), ex.OneHot())
    steps = [(n % 8, (n + 1) % 8) for n in range(14)]  # in six slots: 12 and 13 are before 8
    backups = filled(built, 50, 6, steps)
    numbers = drawn(built, backups, 3000)
    assert set(numbers) == {8, 9, 10, 11, 12, 13}
    for before, after in pairwise(numbers):
        assert before == 13 or after == before + 1
