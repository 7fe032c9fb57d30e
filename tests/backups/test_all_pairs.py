from __future__ import annotations

import pytest
from building import Built, per_feature

import expectant as ex
from expectant.verbs import draw, learn, plan, planned, remember, stored, waiting


def test_pairs_come_in_turn():
    built = Built(ex.Corridor(), ex.OneHot())
    backups, state = ex.AllPairs().build(built.setting), built.state(0)
    found = []
    for _ in range(20):
        slot = draw(backups, state, built.rng)
        found.append((int(state.place[0]), stored(backups, slot)[0]))
    pairs = [(cell, action) for cell in range(9) for action in (0, 1)]
    assert found == [*pairs, *pairs[:2]]


def test_the_drawn_action_is_backed_up():
    agent = ex.PlanningOnly(
        ex.QPlanning.paper(1.0, model="true", planning_steps=1, backups="all_pairs")
    )
    built = Built(ex.Corridor(slip=0.0, cells=3), ex.OneHot(), agent)
    for _ in range(6):
        plan(built.agent, built.rng)
    assert built.agent.weights[:, :3].T.tolist() == [[0.0, -1.0], [-1.0, -1.0], [-2.0, 20.0]]


def test_draws_of_pairs_are_counted():
    for backups in (ex.SeenPairs(), ex.PrioritizedPairs()):
        built = Built(
            ex.Corridor(),
            ex.OneHot(),
            ex.DynaQ(per_feature(0.1), planning_steps=3, backups=backups, discount=1.0),
        )
        remember(built.agent.memory, built.transition(3, 0, -1.0, 4))
        assert planned(built.agent) == 0
        plan(built.agent, built.rng)
        assert planned(built.agent) == 3


@pytest.mark.parametrize("agent", ["dyna", "q_planning"])
def test_what_idles_makes_no_update_while_nothing_waits(agent):
    swept = ex.PrioritizedPairs(threshold=0.5, idles=True)
    agents = {
        "dyna": ex.DynaQ(per_feature(1.0), planning_steps=3, backups=swept, discount=0.9),
        "q_planning": ex.QPlanning.paper(
            1.0, model="latest", planning_steps=3, discount=0.9, backups=swept
        ),
    }
    built = Built(ex.Corridor(), ex.OneHot(), agents[agent])
    backups = getattr(built.agent, "memory", None) or built.agent.planner.backups
    learn(built.agent, built.transition(3, 1, 0.0, 4), built.rng)
    assert not waiting(backups)
    plan(built.agent, built.rng)
    assert planned(built.agent) == 0
    learn(built.agent, built.transition(4, 1, 1.0, None), built.rng)  # now 3 is worth more
    assert waiting(backups)
    plan(built.agent, built.rng)
    assert planned(built.agent) == 1
    assert built.agent.weights[1, 3] == pytest.approx(0.9)
