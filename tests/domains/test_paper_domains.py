from __future__ import annotations

import numpy as np

import expectant as ex
from expectant.domains.corridor import LEFT, RIGHT


def test_corridor_is_what_the_paper_describes():
    table = ex.Corridor(cells=3, slip=0.25, switch_every=7).mdp().outcomes
    # outcome 0 is the move asked for, 1 the slip
    np.testing.assert_array_equal(table.probabilities[0, 1, LEFT], [0.75, 0.25])
    assert table.successors[1].tolist() == [[0, 2], [2, 0]]
    assert table.successors[0].tolist() == [[-1, 1], [1, -1]]
    assert table.rewards[0, 2, RIGHT].tolist() == [20.0, -1.0]
    assert table.rewards[0, 0, LEFT].tolist() == [0.0, -1.0]
    assert table.rewards[1, 2, RIGHT].tolist() == [0.0, -1.0]  # the other phase: goal on the left
    assert table.rewards[1, 0, LEFT].tolist() == [20.0, -1.0]
    np.testing.assert_allclose(table.start, 1 / 3)


def test_corridor_without_switching_has_one_phase():
    assert ex.Corridor().mdp().phases == 1
    assert ex.Corridor(switch_every=500).mdp().phases == 2


def test_counterexample_is_what_the_paper_describes():
    table = ex.Counterexample(exit_reward=-2.0).mdp().outcomes
    assert table.successors[0].tolist() == [[1, 2], [-1, -1]]
    np.testing.assert_array_equal(table.probabilities[0, 0, 0], [0.5, 0.5])
    expected = (table.probabilities * table.rewards).sum(axis=-1)[0]
    assert expected.tolist() == [[0.0, -2.0], [0.0, -5.0], [-5.0, 0.0]]
    assert table.start.tolist() == [1.0, 0.0, 0.0]
