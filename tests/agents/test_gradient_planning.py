"""Gradient planning: worked by hand, where it ends, and that what ran away no longer does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built, per_feature
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant.core.updates import error_of
from expectant.core.vectors import Weighted
from expectant.core.verbs import add_expected, backed_up_value, improve, learn, plan
from expectant.models.expectation import LinearPart
from expectant.models.sparse import append_entry

DOMAIN = ex.Corridor(cells=2, slip=0.0)


def build(
    update: str, correction_step: Any = 0.01, agent: Any = ex.Lookahead, **options: Any
) -> Built:
    steps: dict[Any, tuple[float, ...]] = {
        ex.Lookahead: (0.5, 0.5),
        ex.CachedValues: (0.5, 0.25, 0.5),
        ex.CachedPolicy: (0.5, 0.1, 0.5),
    }
    gradient = ex.agents.Gradient(per_feature(correction_step))
    chosen = gradient if update == "gradient" else update
    described = agent.paper(*steps[agent], planning_update=chosen, **options)
    return Built(DOMAIN, ex.OneHot(), described)


def loop_of_two(b: Built) -> None:
    """State 0 promises a reward of 1 and twice itself: s̄ = 2 s, whichever action."""
    model = b.agent.planner.model
    model.rewards[:, 0] = 1.0
    model.rows[:, 0, 0] = 2.0


def plan_once(b: Built, discount: float) -> float:
    agent, planner, before = b.agent, b.agent.planner, b.agent.weights[0]
    error, moved = improve(
        agent.update, planner.model, 2, agent.weights, b.state(0), discount, agent.value_step, 0.0
    )
    assert moved == pytest.approx(agent.weights[0] - before)
    return error


def test_the_corrected_form_by_hand():
    b = build("gradient", correction_step=0.25)
    loop_of_two(b)
    # δ = 1 + 0.5 · 2 · 0 − 0 = 1, h = 0: w = 0.5 · 1; h = 0.25 (1 − 0)
    assert plan_once(b, 0.5) == 1.0
    assert (b.agent.weights[0], b.agent.update.helper[0]) == (0.5, 0.25)
    # δ = 1 + 0.5 − 0.5 = 1: w = 0.5 + 0.5 (1 − 0.5 · 0.25 · 2); h = 0.25 + 0.25 (1 − 0.25)
    assert plan_once(b, 0.5) == 1.0
    assert (b.agent.weights[0], b.agent.update.helper[0]) == (0.875, 0.4375)


def test_the_next_state_is_that_of_the_best_action():
    b = build("gradient", correction_step=0.0)
    b.agent.update.helper[0] = 1.0
    model = b.agent.planner.model
    model.rewards[1, 0], model.rows[0, 0, 1], model.rows[1, 0, 0] = 3.0, 100.0, 1.0
    plan_once(b, 1.0)  # δ = 3, s̄(0, right) = s(0): w(0) = 0.5 (3 − 1), w(1) = 0
    assert b.agent.weights[:2].tolist() == [1.0, 0.0]


def test_what_runs_away_under_levi_ends_at_the_solution():
    """δ = 1 + 0.9 · 2 w − w grows with w: LEVI doubles its error for ever, w = −1.25 solves it."""
    b, levi = build("gradient", correction_step=0.5), build("levi")
    b.agent = b.agent._replace(value_step=0.05)
    for built in (b, levi):
        loop_of_two(built)
        for _ in range(2_000 if built is b else 100):
            plan_once(built, 0.9)
    assert b.agent.weights[0] == pytest.approx(-1.25, abs=1e-9)
    assert b.agent.update.helper[0] == pytest.approx(0.0, abs=1e-9)
    assert levi.agent.weights[0] > 1e10


class Problem:
    """Random states (n, d), a random linear model of one action, any discount."""

    def __init__(self, seed: int, discount: float) -> None:
        rng = np.random.default_rng(seed)
        self.discount = discount
        self.agent = ex.Lookahead.paper(0.01, planning_steps=0, planning_update="gradient")
        self.features = ex.RandomBinary(size=4, active=2)
        self.built = Built(ex.Corridor(cells=6), self.features, self.agent, seed)
        self.model = LinearPart(np.zeros((1, 8)), np.zeros((1, 4, 8)), 0.0, np.zeros((1, 8)))
        self.model.rewards[0, :4] = rng.normal(size=4)
        self.model.rows[0, :, :4] = rng.normal(size=(4, 4))
        self.states = [self.built.state(number) for number in range(6)]

    def equations(self) -> tuple[np.ndarray, np.ndarray]:
        """A w = c: the mean of δ s is zero."""
        rows = np.zeros((6, 4))
        for row, state in zip(rows, self.states, strict=True):
            row[state.active] += 1.0
        after = rows @ self.model.rows[0, :, :4]
        a = rows.T @ (rows - self.discount * after)
        return a, rows.T @ (rows @ self.model.rewards[0, :4])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_it_ends_where_the_projected_error_of_the_model_is_zero(seed, discount):
    """At A w = c, h = 0 the updates of all states cancel: the minimum of the MBPBE, LEVI's too."""
    problem = Problem(seed, discount)
    a, c = problem.equations()
    if np.linalg.matrix_rank(a, tol=1e-3) < 4:
        return
    solution = np.zeros(8)
    solution[:4] = np.linalg.solve(a, c)
    update = build("gradient", correction_step=0.1).agent.update._replace(helper=np.zeros(8))
    moved, helped, by_levi = np.zeros(8), np.zeros(8), np.zeros(8)
    levi = build("levi").agent.update
    for state in problem.states:
        weights, helper = solution.copy(), np.zeros(8)
        improve(
            update._replace(helper=helper), problem.model, 1, weights, state, discount, 0.1, 0.0
        )
        moved += weights - solution
        helped += helper
        weights = solution.copy()
        improve(levi, problem.model, 1, weights, state, discount, 0.1, 0.0)
        by_levi += weights - solution
    scale = 1e-9 * (1.0 + np.abs(solution).max())
    np.testing.assert_allclose(moved, 0.0, atol=scale)
    np.testing.assert_allclose(helped, 0.0, atol=scale)
    np.testing.assert_allclose(by_levi, 0.0, atol=scale)


@pytest.mark.parametrize("agent", [ex.Lookahead, ex.CachedValues, ex.CachedPolicy])
def test_without_a_correction_step_it_is_levi_to_the_bit(agent):
    gradient, levi = (build(form, 0.0, agent, planning_steps=20) for form in ("gradient", "levi"))
    for b in (gradient, levi):
        for _ in range(5):
            learn(b.agent, b.transition(0, 1, -1.0, 1), b.rng)
            learn(b.agent, b.transition(1, 1, 20.0, None), b.rng)
            plan(b.agent, b.rng)
    np.testing.assert_array_equal(gradient.agent.weights, levi.agent.weights)
    assert not gradient.agent.update.helper.any()


def outcome(step: Any, seed: int, discount: float, known: float) -> tuple[float, ...]:
    """δ before and after a bounded update of one random state, and η, ``known`` times δ."""
    rng = np.random.default_rng(seed)
    state = Weighted(np.arange(4), rng.normal(size=4) * 10.0 ** rng.uniform(-1, 1), np.array([-1]))
    model = LinearPart(np.zeros((1, 8)), np.zeros((1, 4, 8)), 0.0, np.zeros((1, 8)))
    model.rewards[0, :4] = rng.normal(size=4)
    model.rows[0, :, :4] = rng.normal(size=(4, 4)) * 10.0 ** rng.uniform(-2, 2)
    weights, helper = np.append(rng.normal(size=4), np.zeros(4)), np.zeros(8)
    before = error_of(model, state, 0, weights, discount)
    helper[:4] = known * before * state.values / (state.values @ state.values)
    update = build("gradient").agent.update._replace(helper=helper, bounded=True)
    improve(update, model, 1, weights, state, discount, step, 0.0)
    return before, error_of(model, state, 0, weights, discount), known * before


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 10_000), st.floats(0.0, 1.0), st.floats(-3.0, 3.0),
    st.floats(1e-3, 1e3), st.sampled_from(["number", "bounded", "autostep"]),
)  # fmt: skip
def test_no_bounded_update_overshoots(seed, discount, known, size, kind):
    """Where h is at the error, the error shrinks; elsewhere it moves by the larger of the two."""
    context = build("levi").setting
    described = {
        "bounded": ex.step_sizes.Fixed(size, per="feature"),
        "autostep": ex.step_sizes.Autostep(size, 0.1, per="feature"),
    }
    step = size if kind == "number" else described[kind].build(context, 1)
    before, after, expected = outcome(step, seed, discount, 1.0)
    assert -1e-6 <= after / before <= 1.0 + 1e-6
    before, after, expected = outcome(step, seed, discount, known)
    most = max(abs(before), abs(expected))
    assert abs(after - before) <= most + 1e-6 * abs(before)


@pytest.mark.parametrize("sparse", [False, True])
def test_bounded_updates_of_one_state_do_not_run_away(sparse):
    """s̄ = 3 s: with the largest steps the error grew from 1 to 26 within three updates."""
    model = "sparse" if sparse else "expectation"
    agent = ex.Lookahead(1.0, 0.5, planning_update=ex.agents.Gradient(1.0), model=model)
    b = Built(DOMAIN, ex.OneHot(), agent)
    part = b.agent.planner.model
    part.rewards[:, 0] = 1.0
    if sparse:
        for action in (0, 1):
            append_entry(part.columns, action, 0, 0, 3.0)
    else:
        part.rows[:, 0, 0] = 3.0
    errors = [abs(plan_once(b, 0.9)) for _ in range(200)]
    assert max(errors) < 2.0
    assert max(errors[-20:]) < 0.01


MODELS: dict[str, str | ex.Model] = {
    "expectation": "expectation",
    "sparse": "sparse",
    "episodic": "episodic",
    "exact": "exact",
    "exact_episodic": "exact_episodic",
    "network": ex.models.NetworkExpectation(hidden=3, step=0.1),
}


@pytest.mark.parametrize(
    ("model", "weighted"),
    [*((model, False) for model in MODELS), ("expectation", True), ("network", True)],
)
def test_what_a_model_adds_is_what_it_backs_up(model, weighted):
    """wᵀs̄ by ``backed_up_value`` and u + a s̄ by ``add_expected`` have the same s̄."""
    features: Any = ex.RandomBinary(size=6, active=2)
    if weighted:
        features = ex.features.History(features, 2)
    step: dict[str, Any] = {} if model == "network" else {"model_step": 0.2}
    agent = ex.Lookahead.paper(0.1, model=MODELS[model], **step)
    b = Built(ex.Corridor(cells=5), features, agent)
    for number in range(4):
        learn(b.agent, b.transition(number, number % 2, 1.0, number + 1), b.rng)
    learn(b.agent, b.transition(4, 1, 5.0, None), b.rng)
    part, width = b.agent.planner.model, b.setting.width
    for number, action in ((3, 0), (3, 1), (4, 0), (4, 1)):  # the last one can end
        state, added = b.state(number), np.zeros(width)
        add_expected(part, state, action, added, 2.0)
        reward = backed_up_value(part, state, action, np.zeros(width), 1.0)
        for feature in range(6):
            unit = np.eye(1, width, feature)[0]
            promised = backed_up_value(part, state, action, unit, 1.0) - reward
            assert added[feature] == pytest.approx(2.0 * promised, abs=1e-12)
        assert number == 4 or np.abs(added).max() > 0.0
