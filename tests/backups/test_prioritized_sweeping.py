"""Prioritized sweeping on a few steps worked by hand, and what it saves on a long corridor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.core.verbs import draw, on_priority, remember


class World(Built):
    """A corridor whose states are put in and asked for by number."""

    def __init__(self, features: Any = None, **options: Any) -> None:
        super().__init__(ex.Corridor(), features or ex.OneHot())
        self.backups = ex.backups.PrioritizedSweeping(**options).build(self.setting)

    def step(self, here: int, action: int, there: int | None) -> None:
        remember(self.backups, self.transition(here, action, -1.0, there))

    def change(self, number: int, moved: float, left: float = 0.0) -> None:
        on_priority(self.backups, self.state(number), moved, left)

    def next(self) -> int:
        state = self.state(0)
        assert draw(self.backups, state, self.rng) == -1
        return int(state.state_index[0])

    def priority(self, number: int) -> float:
        slots, vectors = self.backups.seen.distinct.slots, self.backups.seen.distinct.vectors
        rows = [row for row in slots if row >= 0 and vectors.state_indices[row] == number]
        return float(self.backups.heap.priorities[rows[0]])

    def waiting(self) -> int:
        return int(self.backups.heap.length[0])


def test_a_change_is_swept_back_along_the_way_that_led_there():
    world = World()
    for here in range(5):
        world.step(here, 1, here + 1)
    world.step(5, 1, None)
    world.change(5, moved=8.0)
    order = []
    for _ in range(6):
        order.append(world.next())
        world.change(order[-1], moved=4.0)  # the backup moves the value, and nothing is left
    assert order == [5, 4, 3, 2, 1, 0]
    assert world.waiting() == 0


def test_larger_changes_come_first():
    world = World()
    for here, there in [(0, 1), (3, 4), (6, 7)]:
        world.step(here, 1, there)
    for number, moved in [(1, 0.2), (4, -3.0), (7, 1.0)]:
        world.change(number, moved, left=0.01)
    assert [world.next() for _ in range(6)] == [4, 3, 7, 6, 1, 0]


def test_predecessors_gain_as_much_as_they_may_change():
    world = World()
    for action, there in [(1, 1), (1, 1), (1, 1), (1, 2), (0, 1), (0, 2), (0, 2)]:
        world.step(0, action, there)
    world.change(1, moved=2.0)  # three in four steps right lead there, one in three left
    assert world.priority(0) == 2.0 * 0.75
    world.change(1, moved=-1.0)
    assert world.priority(0) == 2.0 * 0.75 + 1.0 * 0.75  # changes add up until there is a backup
    world.change(2, moved=3.0)
    assert world.priority(0) == 3.0 * 0.75 + 3.0 * (2 / 3)


def test_a_backup_shows_the_error_itself_and_a_real_step_a_bound():
    world = World()
    world.step(0, 1, 1)
    world.change(1, moved=0.5, left=-2.0)  # real: an error of 2.5
    assert (world.priority(1), world.priority(0)) == (2.5, 0.5)
    assert world.next() == 1
    world.change(1, moved=0.25, left=0.125)  # planned
    assert (world.priority(1), world.priority(0)) == (0.125, 0.75)
    assert world.next() == 0
    world.change(0, moved=1.0, left=0.0)
    assert world.priority(0) == 0.0
    world.change(1, moved=0.0, left=0.01)  # a smaller error in another real step takes nothing back
    assert world.priority(1) == 0.125


def test_changes_below_the_threshold_add_up():
    world = World(threshold=0.5)
    world.step(0, 1, 1)
    for total in (0.2, 0.4):
        world.change(1, moved=0.2)
        assert world.priority(0) == pytest.approx(total)
        assert world.waiting() == 0
    world.change(1, moved=0.2)
    assert world.waiting() == 1
    assert world.next() == 0


def test_without_anything_to_expect_states_are_drawn_evenly():
    world = World()
    for here, there in [(2, 3), (3, 4), (4, 3), (3, 2), (2, 3)]:
        world.step(here, 1, there)
    counts = np.bincount([world.next() for _ in range(6000)], minlength=9) / 6000
    np.testing.assert_allclose(counts, np.isin(np.arange(9), [2, 3, 4]) / 3, atol=0.025)


def test_an_end_leads_nowhere():
    world = World()
    world.step(5, 1, None)
    assert world.backups.seen.total[0] == 1  # what is behind the end was never seen
    world.step(5, 1, 6)
    world.change(6, moved=1.0)
    assert world.priority(5) == 0.5  # one of two steps led there


def test_unknown_states_are_no_error():
    world = World()
    world.step(0, 1, 1)
    world.change(7, moved=5.0)
    assert world.waiting() == 0


def test_links_to_states_that_were_replaced_lead_nowhere():
    world = World(capacity=3)
    for here in range(3):
        world.step(here, 1, here + 1)  # 3 replaces 0, which led to 1
    world.change(1, moved=1.0, left=1.0)
    assert world.priority(3) == 0.0
    world.step(3, 1, 4)  # 4 replaces 1, with its priority
    assert world.priority(4) == 0.0
    assert world.waiting() == 0
    world.change(2, moved=1.0)  # 1 is gone
    assert world.waiting() == 1
    world.change(4, moved=1.0)
    assert (world.priority(4), world.priority(3)) == (1.0, 1.0)


def test_the_least_used_link_makes_way():
    world = World(links=2)
    for here, times in [(0, 3), (1, 1), (2, 2)]:  # 2 takes the link of 1
        for _ in range(times):
            world.step(here, 1, 5)
    world.change(5, moved=1.0)
    assert [world.priority(number) for number in (0, 1, 2)] == [1.0, 0.0, 1.0]
