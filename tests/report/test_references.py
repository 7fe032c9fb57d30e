from __future__ import annotations

import numpy as np
import pytest
from made_results import result_of

import expectant as ex
from expectant.report.references import common_optimum, common_switch

RETURNS = [[1.0]]
SWITCHING = ex.Corridor(switch_every=100)


def results(*changes):
    return [result_of(RETURNS, **change) for change in changes]


def test_the_optimum_of_the_corridor():
    found = common_optimum(results({"domain": SWITCHING}, {"domain": SWITCHING}))
    assert found.value == pytest.approx(13.924, abs=5e-4)
    assert found.epsilon == 0.1 and found.known


def endless():
    return ex.FiniteMDP(np.ones((1, 1, 1)), np.ones((1, 1)), endless=True)


@pytest.mark.parametrize(
    "changes",
    [
        [{"domain": ex.Corridor()}, {"domain": ex.Corridor(slip=0.2)}],
        [{"agent": ex.QLearning.paper(0.1)}, {"agent": ex.QLearning.paper(0.1, discount=0.9)}],
        [{"domain": ex.MountainCar()}],
        [{"domain": ex.domains.LocaGrid()}],  # its phases are worth different amounts
        [{"domain": endless()}],
        [{"agent": object()}],
    ],
    ids=["domains", "discounts", "no MDP", "phases", "endless", "no epsilon"],
)
def test_there_is_no_optimum_where_there_is_no_one_number(changes):
    assert not common_optimum(results(*changes)).known


def test_over_steps_there_is_neither():
    result = result_of(rewards=RETURNS, steps=10, domain=SWITCHING)
    assert not common_optimum([result]).known
    assert common_switch([result]) is None


def test_switches_are_those_of_all():
    assert common_switch(results({"domain": SWITCHING}, {"domain": SWITCHING})) == 100
    assert common_switch(results({"domain": SWITCHING}, {"domain": ex.Corridor()})) is None
    assert common_switch(results({"domain": ex.MountainCar()})) is None
