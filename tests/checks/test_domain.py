"""check_domain compares steps with a finite MDP."""

from __future__ import annotations

import pytest

import expectant as ex


def misdescribed(**changes):
    """A corridor that steps by one description and states another as its MDP."""

    class Misdescribed(ex.Corridor):
        states, actions = 5, 2

        def mdp(self):
            return ex.Corridor(**changes).mdp()

        def build(self, rng):
            return ex.Corridor(cells=5, slip=0.1).mdp().build(rng)

    return Misdescribed(cells=5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cells": 5, "slip": 0.5}, "in .* of .* steps, where its mdp.. has a probability of 0.5"),
        (
            {"cells": 5, "goal_reward": 19.0},
            "led to the end with reward 20 in .*, where its mdp.. has a probability of 0",
        ),
        ({"cells": 6}, "states is 5, but its mdp.. has 6"),
    ],
)
def test_steps_that_the_mdp_does_not_have(changes, message):
    with pytest.raises(ValueError, match=message):
        ex.check(misdescribed(**changes), episodes=60)
