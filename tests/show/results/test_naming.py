from __future__ import annotations

import expectant as ex
from expectant.show.wording import names_of


def test_agents_are_named_by_what_they_differ_in():
    agents = [ex.QLearning(0.1), ex.Lookahead(0.1, 0.2), ex.Lookahead(0.1, 0.2, epsilon=0.3)]
    expected = ["QLearning", "Lookahead(epsilon=0.1)", "Lookahead(epsilon=0.3)"]
    assert names_of(agents) == expected


def test_equal_agents_are_counted():
    assert names_of([ex.QLearning(0.1)] * 3) == ["QLearning", "QLearning 2", "QLearning 3"]
