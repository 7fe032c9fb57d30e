from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant import exact

TINY = """
#####
#S.G#
#PA.#
#####
"""


def start_of(domain: ex.Rooms) -> int:
    return int(domain.mdp().outcomes.start.argmax())


def test_a_map_by_hand():
    rooms = ex.Rooms(TINY)
    assert "".join(rooms.letters) == "S.PA."
    drawing = rooms.drawing
    assert drawing.cells == ((1, 1), (2, 1), (1, 2), (2, 2), (3, 2))  # column and row
    assert drawing.exits == (ex.Exit(3.0, 1.0, (1.0,)),)
    assert rooms.named == {"A": 3}
    table = rooms.mdp().outcomes
    assert table.start.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    # every action has one outcome, as nothing slips: up, right, down, left
    assert table.successors[:, :, 0].tolist() == [
        [0, 1, 2, 0],
        [1, -1, 3, 0],
        [0, 3, 2, 2],
        [1, 4, 3, 2],
        [-1, 4, 4, 3],
    ]
    rewards = (table.probabilities * table.rewards).sum(axis=-1)[0]
    assert rewards.tolist() == [
        [0, 0, -1, 0],
        [0, 1, 0, 0],
        [0, 0, -1, -1],  # to stay in a pit costs as much as to arrive in it
        [0, 0, 0, -1],
        [1, 0, 0, 0],
    ]


def test_a_slip_goes_any_other_way():
    table = ex.Rooms(TINY, slip=0.3).mdp().outcomes
    np.testing.assert_allclose(table.probabilities[0, 1, 1], [0.1, 0.7, 0.1, 0.1])
    assert table.successors[1, 1].tolist() == [1, -1, 3, 0]


def test_two_rooms_are_those_of_the_paper():
    domain = ex.TwoRooms()
    assert domain.states == 72 and domain.named == {"H": 30}
    # 12 moves around the pits to the hallway, six more to the goal
    assert exact.optimal_values(domain, discount=0.99)[start_of(domain)] == pytest.approx(0.99**17)


def test_four_rooms_are_those_of_the_paper():
    domain = ex.FourRooms()
    assert domain.states == 103 and sorted(domain.named) == ["1", "2", "3", "4"]
    table = domain.mdp().outcomes
    chances = table.probabilities[0, start_of(domain), 0]
    np.testing.assert_allclose(sorted(chances), [1 / 9, 1 / 9, 1 / 9, 2 / 3])
    ex.check(domain, episodes=3)
