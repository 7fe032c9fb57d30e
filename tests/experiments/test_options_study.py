"""The study of reward-respecting subtasks: what it runs, and the interpretations that decide it."""

from __future__ import annotations

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.core.verbs import learn_options


@pytest.mark.parametrize("anywhere", [False, True])
def test_only_an_option_that_stops_in_its_subgoal_can_probe_worse_than_one_bad_step(anywhere):
    """Random steps in two rooms: published values of the start fall to about −1.2."""
    rooms = ex.domains.TwoRooms()
    b = Built(rooms, ex.OneHot(), seed=1)
    options = ex.options.RewardRespecting(rooms.named_states["H"], anywhere=anywhere).build(
        b.setting
    )
    table, state, start = rooms.mdp().outcomes, 24, 24
    even, none, lowest = np.full(4, 0.25), np.zeros(72), 0.0
    for action in b.rng.integers(4, size=4000):
        successor = int(table.successors[state, action, 0])
        reward = table.rewards[0, state, action, 0]
        seen = b.transition(state, int(action), reward, None if successor < 0 else successor)
        learn_options(options, seen, even, none, 0.99)
        state = start if successor < 0 else successor
        lowest = min(lowest, options.values[0, start])
    assert lowest >= -1.0 if anywhere else -1.6 < lowest < -1.0
