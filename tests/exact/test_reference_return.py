from __future__ import annotations

import numpy as np
import pytest
from made_results import result_of

import expectant as ex
from expectant.exact.reference_return import common_optimum

SWITCHING = ex.Corridor(switch_every=5)


def results(*changes):
    return [result_of([[1.0]], **change) for change in changes]


def test_the_optimum_of_the_corridor():
    found = common_optimum(results({"domain": SWITCHING}, {"domain": SWITCHING}))
    assert found.value == pytest.approx(13.924, abs=5e-4)
    assert found.epsilon == 0.1 and found.is_known


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
        [{"domain": SWITCHING, "rewards": [[1.0]], "steps": 10}],
    ],
    ids=["domains", "discounts", "no MDP", "phases", "endless", "over steps"],
)
def test_there_is_no_optimum_where_there_is_no_one_number(changes):
    assert not common_optimum(results(*changes)).is_known
