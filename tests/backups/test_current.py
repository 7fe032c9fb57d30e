from __future__ import annotations

from building import Built

import expectant as ex
from expectant.verbs import draw, remember


def test_it_is_the_state_just_reached_or_the_last_before_the_end():
    built = Built(ex.Corridor(), ex.RandomBinary(14, 5))
    backups, state = ex.CurrentState().build(built.setting), built.state(0)
    for here, there, now in [(3, 4, 4), (4, 5, 5), (8, None, 8), (2, 1, 1)]:
        remember(backups, built.transition(here, 0, -1.0, there))
        for _ in range(2):
            assert draw(backups, state, built.rng) == -1
            assert state.place[0] == now
            assert state.active.tolist() == built.state(now).active.tolist()
