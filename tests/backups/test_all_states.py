from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.verbs import draw, remember


@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(14, 5)], ids=repr)
def test_every_state_is_drawn_alike_whatever_was_seen(features):
    built = Built(ex.Corridor(), features)
    backups = ex.AllStates().build(built.setting)
    for _ in range(20):
        remember(backups, built.transition(3, 0, -1.0, 4))
    state, seen = built.state(0), np.zeros(9)
    for _ in range(9000):
        assert draw(backups, state, built.rng) == -1
        assert (state.active == built.state(state.place[0]).active).all()
        seen[state.place[0]] += 1
    np.testing.assert_allclose(seen / 9000, 1 / 9, atol=0.015)


def test_it_has_a_name_and_stores_nothing():
    agent = ex.Lookahead(0.1, backups="all")
    assert agent.distribution() == ex.AllStates()
    with pytest.raises(ValueError, match="relabelled=True needs stored transitions"):
        ex.Lookahead(0.1, backups="all", relabelled=True)


def test_with_the_true_model_it_plans_where_the_agent_never_was():
    built = Built(
        ex.Corridor(slip=0.0), ex.OneHot(), ex.Lookahead(1.0, model="true", backups="all")
    )
    from expectant.verbs import plan

    for _ in range(200):
        plan(built.agent, built.rng)
    assert built.agent.weights[:9].tolist() == [20.0 - n for n in range(8, -1, -1)]


def test_domains_without_numbers_are_refused():
    class Vectors:
        states: ClassVar[None] = None

    built = Built(ex.Corridor(), ex.OneHot())
    setting = built.setting.__class__(**{**vars(built.setting), "domain": Vectors()})
    with pytest.raises(ValueError, match="AllStates: needs a domain with numbered states"):
        ex.AllStates().build(setting)
