"""Feature-wise planning, by hand and against the fixed point of linear Dyna."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built, per_feature

import expectant as ex
from expectant.core.vectors import Binary, Weighted
from expectant.core.verbs import (
    backed_up_value,
    draw,
    fit,
    has_more_draws,
    learn,
    next_predecessor,
    on_priority,
    plan,
    predecessor,
)
from expectant.models.sparse import NONE

CHAIN = ex.Corridor(cells=5)
MODELS = {
    "expectation": ex.models.LinearExpectation(per_feature(0.5)),
    "sparse": ex.models.SparseExpectation(per_feature(0.5)),
}


def planned(model: str, backups: Any, **options: Any) -> Built:
    agent = ex.Lookahead.paper(
        0.5, model=MODELS[model], planning_steps=1, **options, backups=backups
    )
    return Built(CHAIN, ex.OneHot(), agent)


def teach(built: Built, *steps: tuple[int, int, int | None]) -> None:
    """Fit the model to steps (state, action, next state), each of reward −1."""
    for state, action, following in steps:
        fit(built.agent.planner.model, built.transition(state, action, -1.0, following))


def drawn(built: Built) -> int:
    planner = built.agent.planner
    assert draw(planner.backups, planner.drawn, built.rng) == -1
    assert planner.drawn.active.shape == (1,)
    return int(planner.drawn.active[0])


def row(built: Built, feature: int) -> list[tuple[int, float]]:
    model, found, link = built.agent.planner.model, [], NONE
    while (link := next_predecessor(model, feature, link)) != NONE:
        j, weight = predecessor(model, feature, link)
        found.append((int(j), float(weight)))
    return sorted(found)


@pytest.mark.parametrize("model", MODELS)
def test_rows_of_the_model(model):
    built = planned(model, "mg")
    teach(built, (1, 0, 0), (1, 1, 2), (3, 0, 2), (3, 0, 2), (4, 1, None))
    assert row(built, 2) == [(1, 0.5), (3, 0.75)]
    assert row(built, 0) == [(1, 0.5)] and row(built, 4) == []
    teach(built, (0, 0, 3), (1, 0, 3), (2, 0, 3))  # side by side in the columns
    assert row(built, 3) == [(0, 0.5), (1, 0.5), (2, 0.5)]


def test_rows_of_a_sparse_model_are_kept_when_entries_are_evicted():
    """Every row of the lists against the columns, after many evictions."""
    features = ex.RandomBinary(20, 6)
    model = ex.models.SparseExpectation(per_feature(0.3), capacity=3, threshold=0.0)
    built = Built(ex.Corridor(), features, ex.Lookahead.paper(0.1, model=model, backups="pwma"))
    part, rng = built.agent.planner.model, np.random.default_rng(0)
    for _ in range(300):
        state, action = int(rng.integers(9)), int(rng.integers(2))
        following = min(max(state + 2 * action - 1, 0), 8)
        fit(part, built.transition(state, action, 0.0, following))
    assert part.columns.tally[2] > 50
    dense = [_matrix(part, action) for action in (0, 1)]
    for i in range(20):
        expected = sorted((j, m[i, j]) for m in dense for j in range(20) if m[i, j] is not None)
        assert row(built, i) == expected


def _matrix(part: Any, action: int) -> Any:
    """F_a (d, d) with None where there is no entry."""
    columns, size = part.columns, part.columns.headers.shape[1]
    matrix: Any = np.full((size, size), None)
    for j in range(size):
        count = columns.headers[action, j, 0]
        for e in range(count):
            q = columns.headers[action, j, 1 + e // 16]
            matrix[columns.indices[q, e % 16], j] = float(columns.values[q, e % 16])
    return matrix


def test_random_features_are_drawn_equally():
    built = planned("expectation", "features")
    counts = np.bincount([drawn(built) for _ in range(5000)], minlength=5)
    assert np.abs(counts - 1000).max() < 150  # five standard deviations


@pytest.mark.parametrize("model", MODELS)
def test_pwma_draws_predecessors_by_the_size_of_what_they_lead_to(model):
    built = planned(model, "pwma")
    teach(built, (1, 1, 2), (3, 0, 2), (3, 0, 2), (0, 1, 1))
    backups = built.agent.planner.backups
    on_priority(
        backups, built.state(2), 1.0, 1.0
    )  # wrong by 2: gives 1 a priority of 1, and 3 of 1.5
    assert backups.heap.priorities.tolist() == [0.0, 1.0, 0.0, 1.5, 0.0]
    on_priority(backups, built.state(1), -4.0, -2.0)  # wrong by −6: gives 0 a priority of 3
    assert [drawn(built) for _ in range(3)] == [0, 3, 1]
    assert backups.heap.length[0] == 0 and not has_more_draws(backups)


def test_pwma_counts_sizes_and_neither_signs_nor_features_without_weight():
    """|δ x_i F^{ij}|: 2 · 1/4 · 1/2 from the third feature, and nothing from the second."""
    built = planned("expectation", "pwma")
    built.agent.planner.model.rows[1, 3, 2] = -0.5
    built.agent.planner.model.rows[0, 0, 1] = 1.0
    backups = built.agent.planner.backups
    state = Weighted(np.array([2, 1]), np.array([-0.25, 0.0]), np.array([2]))
    on_priority(backups, state, 1.5, 0.5)
    assert backups.heap.priorities.tolist() == [0.0, 0.0, 0.0, 0.25, 0.0]


@pytest.mark.parametrize("model", MODELS)
def test_mg_backs_up_all_predecessors_of_the_feature_that_was_most_wrong(model):
    built = planned(model, "mg")
    teach(built, (1, 1, 2), (3, 0, 2), (0, 1, 1))
    backups = built.agent.planner.backups
    on_priority(backups, built.state(1), 0.5, 0.5)
    on_priority(backups, built.state(2), -1.0, -2.0)
    assert backups.heap.priorities.tolist() == [0.0, 1.0, 3.0, 0.0, 0.0]
    first = drawn(built)
    assert has_more_draws(backups)
    assert {first, drawn(built)} == {1, 3} and not has_more_draws(backups)
    assert drawn(built) == 0 and not has_more_draws(backups)  # the predecessor of 1


def test_a_planning_step_by_hand():
    """MG: 2 → end is learned with reward −1; then both ways into 2 are backed up in one step."""
    built = planned("expectation", "mg")
    agent = built.agent
    teach(built, (1, 1, 2), (3, 0, 2))
    agent.weights[2] = -4.0
    on_priority(agent.planner.backups, built.state(2), -4.0, 0.0)
    plan(agent, built.rng)
    # e_1: the better of action 0 (0, unknown) and 1 (−0.5 − 0.5 · 4) is 0: no error
    assert agent.weights[[1, 3]].tolist() == [0.0, 0.0]
    for action in (0, 1):  # now all actions of 1 and 3 lead to 2
        teach(built, (1, action, 2), (3, action, 2))
    on_priority(agent.planner.backups, built.state(2), -4.0, 0.0)
    plan(agent, built.rng)
    # b = −0.5 and F = 0.5 for the action tried once, so −0.5 − 0.5 · 4 = −2.5, times the step of
    # 0.5; once for either action that leads there: −1.25, then half of what is left
    assert agent.weights[[1, 3]].tolist() == [-1.875, -1.875]


@pytest.mark.parametrize(
    ("kind", "backups"),
    [("expectation", "features"), ("sparse", "pwma"), ("expectation", "mg"), ("sparse", "replay")],
)
def test_planning_ends_at_the_fixed_point_whatever_is_drawn(backups, kind):
    """θ* = (I − γ Fᵀ)⁻¹ b, from single features or from states (Sutton et al. 2008, theorem 3.1)."""
    chain, features, discount = ex.domains.BoyanChain(13), ex.features.Interpolated(4), 0.9
    model = {
        "expectation": ex.models.LinearExpectation(per_feature(0.1)),
        "sparse": ex.models.SparseExpectation(per_feature(0.1)),
    }[kind]
    agent = ex.Lookahead.paper(
        0.2, model=model, planning_steps=40, discount=discount, epsilon=0.0, backups=backups
    )
    built = Built(chain, features, agent)
    part, planner = built.agent, built.agent.planner
    rng = np.random.default_rng(1)
    for _ in range(60):
        state: int | None = 12
        while state is not None:
            following = None if state == 0 else max(state - 1 - int(rng.integers(2)), 0)
            reward = 0.0 if state == 0 else -3.0 if state > 1 else -2.0
            learn(part, built.transition(state, 0, reward, following), built.rng)
            state = following
    rewards = planner.model.rewards[0, :4]
    transposed = np.zeros((4, 4))  # Fᵀ, asked of the model for single features
    for j in range(4):
        unit = Binary(np.array([j]), np.array([-1]))
        for i in range(4):
            future = backed_up_value(planner.model, unit, 0, np.eye(8)[i], 1.0)
            transposed[j, i] = future - rewards[j]
    goal = np.linalg.solve(np.eye(4) - discount * transposed, rewards)
    for _ in range(60 if backups == "mg" else 300):
        plan(part, built.rng)
    np.testing.assert_allclose(part.weights[:4], goal, atol=1e-5)
    assert np.abs(goal).max() > 1.0
