from __future__ import annotations

from building import Built

import expectant as ex


def test_with_the_true_model_it_plans_where_the_agent_never_was():
    built = Built(
        ex.Corridor(slip=0.0), ex.OneHot(), ex.Lookahead.paper(1.0, model="true", backups="all")
    )
    from expectant.verbs import plan

    for _ in range(200):
        plan(built.agent, built.rng)
    assert built.agent.weights[:9].tolist() == [20.0 - n for n in range(8, -1, -1)]
