from __future__ import annotations

from collections import Counter

import numpy as np
from building import Built

import expectant as ex
from expectant.features.vector import empty_state
from expectant.verbs import draw

LINE = ex.Corridor(cells=5)


def drawn(backups, count, seed=0):
    b = Built(LINE, ex.OneHot(), seed=seed)
    part, state = backups.build(b.setting), empty_state(b.shape)
    found = []
    for _ in range(count):
        assert draw(part, state, b.rng) == -1
        assert state.active[0] == state.place[0]
        found.append(int(state.place[0]))
    return found


def test_a_sweep_goes_to_every_state_once():
    found = np.array(drawn(ex.AllStates(sweeps=True), 100)).reshape(20, 5)
    assert (np.sort(found, axis=1) == np.arange(5)).all()
    assert len(set(map(tuple, found))) > 10  # each in an order of its own


def test_every_order_is_as_likely():
    """Who comes first: 600 sweeps, each state within five deviations of a fifth of them."""
    firsts = Counter(drawn(ex.AllStates(sweeps=True), 3000)[::5])
    spread = np.sqrt(600 * 0.2 * 0.8)
    assert all(abs(firsts[state] - 120) < 5 * spread for state in range(5))
