"""The study of reward-respecting subtasks: what it runs, and the readings that decide it."""

from __future__ import annotations

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.lab.study import packaged, read_study
from expectant.verbs import learn_options

STUDY = read_study(packaged()["sutton-2023"])


def test_a_step_is_as_many_look_aheads_for_every_agent():
    """So that curves over steps are curves over look-aheads."""
    for figure, each in (("two-rooms", 20), ("four-rooms", 40)):
        for cell in STUDY.experiment(figure, "sweeps").cells():
            assert isinstance(cell.agent, ex.Lookahead)
            choices = cell.domain.actions + len(cell.agent.repertoire.extended)
            assert cell.agent.planning_steps * choices == each
            assert cell.record is not None and cell.record.after == cell.agent.lessons


@pytest.mark.parametrize("anywhere", [False, True])
def test_only_an_option_that_stops_in_its_subgoal_can_look_worse_than_one_bad_step(anywhere):
    """Random steps in two rooms: published values of the start fall to about −1.2."""
    rooms = ex.TwoRooms()
    b = Built(rooms, ex.OneHot(), seed=1)
    options = ex.RewardRespecting(rooms.named["H"], anywhere=anywhere).build(b.setting)
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
