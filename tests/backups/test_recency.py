from __future__ import annotations

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.verbs import (
    draw,
    grown,
    load_successor,
    outcome,
    relabel,
    remember,
    reset,
    room,
    step,
    stored,
)

DRAWS = 20_000


def ages_drawn(halflife: float, capacity: int, stored_ones: int) -> np.ndarray:
    """How often each age is drawn; the rewards number the transitions."""
    built = Built(ex.Corridor(), ex.OneHot())
    backups, state = ex.RecencyReplay(capacity, halflife).build(built.setting), built.state(0)
    for number in range(stored_ones):
        remember(backups, built.transition(number % 9, number % 2, float(number), None))
    ages = np.zeros(stored_ones)
    for _ in range(DRAWS):
        slot = draw(backups, state, built.rng)
        _, reward, _ = stored(backups, slot)
        assert state.place[0] == reward % 9
        ages[stored_ones - 1 - int(reward)] += 1
    return ages / DRAWS


@pytest.mark.parametrize(
    ("halflife", "capacity", "stored_ones"),
    [(1.0, 10, 4), (2.0, 6, 6), (2.0, 6, 15), (5.0, 4, 9), (1e12, 5, 7), (3.0, 1, 3)],
)
def test_weights_halve_every_halflife(halflife, capacity, stored_ones):
    kept = min(capacity, stored_ones)
    weights = 0.5 ** (np.arange(kept) / halflife)
    ages = ages_drawn(halflife, capacity, stored_ones)
    np.testing.assert_allclose(ages[:kept], weights / weights.sum(), atol=0.012)
    assert not ages[kept:].any()  # overwritten


def test_it_stores_like_a_replay():
    built = Built(ex.Corridor(cells=1, slip=0.0, switch_every=10), ex.OneHot())
    backups, state = ex.RecencyReplay(None, 2).build(built.setting), built.state(0)
    size = room(backups)
    reset(built.domain, 0, built.rng)
    reward, _ = step(built.domain, 1, built.rng)
    transition = built.transition(0, 1, reward, None)
    remember(backups, transition._replace(outcome=int(outcome(built.domain))))
    assert room(backups) == size - 1
    assert room(grown(backups)) == 2 * size - 1
    assert stored(backups, draw(backups, state, built.rng)) == (1, 20.0, 0.0)
    load_successor(backups, 0, state)
    assert state.place[0] == 0
    reset(built.domain, 10, built.rng)
    relabel(backups, built.domain)
    assert backups.replay.rewards[0] == 0.0  # the goal is at the other end now
