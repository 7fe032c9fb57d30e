"""The sparse model by hand, and against the dense one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from backups.weighted import Values
from building import Built, per_feature

import expectant as ex
from expectant.core.interfaces import Shape
from expectant.core.vectors import dense, empty_state
from expectant.core.verbs import (
    add_expected,
    backed_up_action_value,
    backed_up_value,
    fit,
    next_predecessor,
    predecessor,
    sample_next,
)
from expectant.models.sparse import CHUNK, COUNT, count_evicted
from expectant.models.wrappers import with_predecessors

CORRIDOR = ex.Corridor(slip=0.25)
ALPHA = per_feature(0.1)
FEATURES = [ex.OneHot(), ex.RandomBinary(30, 5), Values()]


def models(features, step=ALPHA, **options):
    """A built setting, a dense model and a sparse one."""
    built = Built(CORRIDOR, features)
    sparse = ex.models.SparseExpectation(step, **options).build(built.setting)
    return built, ex.models.LinearExpectation(step).build(built.setting), sparse


def some_transitions(built, count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        state, action = int(rng.integers(9)), int(rng.integers(2))
        following = state + (1 if action else -1) * (1 if rng.random() < 0.75 else -1)
        inside = following if 0 <= following < 9 else None
        yield built.transition(state, action, float(rng.normal()), inside)


def to_dense(columns, block):
    """A matrix (d, d) with column j in row j."""
    size = columns.headers.shape[1]
    rows = np.zeros((size, size))
    for j in range(size):
        for e in range(columns.headers[block, j, COUNT]):
            q = columns.headers[block, j, 1 + e // CHUNK]
            rows[j, columns.indices[q, e % CHUNK]] = columns.values[q, e % CHUNK]
    return rows


def entries(model, action, j):
    """A column as it stands in memory: features in the order they came in."""
    row = to_dense(model.columns, action)[j]
    return {int(i): float(row[i]) for i in np.flatnonzero(row)}


def test_entries_come_in_when_their_error_exceeds_the_threshold():
    """One step of 0.5: from state 1 to 0, then to 2, with three features in a row."""
    built = Built(ex.Corridor(cells=3), ex.OneHot())
    model = ex.models.SparseExpectation(per_feature(0.5), threshold=0.3).build(built.setting)
    assert fit(model, built.transition(1, 0, -1.0, 0)) == 1.0 + 1.0
    assert entries(model, 0, 1) == {0: 0.5}
    fit(model, built.transition(1, 0, -1.0, 2))
    assert entries(model, 0, 1) == {0: 0.25, 2: 0.5}
    assert model.rewards[0, 1] == -0.75
    fit(model, built.transition(1, 0, 20.0, None))  # the end is the zero vector
    assert entries(model, 0, 1) == {0: 0.125, 2: 0.25}
    weights = np.array([4.0, 9.0, -8.0, 0, 0, 0, 0, 0])
    value = backed_up_value(model, built.state(1), 0, weights, 0.5)
    assert value == 9.625 + 0.5 * (0.125 * 4.0 - 0.25 * 8.0)
    assert not model.columns.headers[1].any() and not model.rewards[1].any()


def test_the_smallest_entry_makes_room_for_the_largest_error():
    """Column 1 of capacity 2, worked by hand: step 0.5, features of their own."""
    built = Built(ex.Corridor(cells=5), ex.OneHot())
    model = ex.models.SparseExpectation(per_feature(0.5), capacity=2).build(built.setting)
    for following in (0, 0, 2):
        fit(model, built.transition(1, 0, 0.0, following))
    assert entries(model, 0, 1) == {0: 0.375, 2: 0.5} and count_evicted(model) == 0
    fit(model, built.transition(1, 0, 0.0, 4))
    assert entries(model, 0, 1) == {4: 0.5, 2: 0.25} and count_evicted(model) == 1
    fit(model, built.transition(1, 0, 0.0, 2))
    assert entries(model, 0, 1) == {4: 0.25, 2: 0.625} and count_evicted(model) == 1
    assert model.columns.headers[0, 1, COUNT] == 2


def test_full_columns_of_several_chunks_and_the_links_to_them():
    """Against a dictionary: entries decay, the smallest leaves; every entry is linked to once."""
    built, step, capacity = Built(ex.Corridor(cells=40), ex.OneHot()), 0.3, CHUNK + 3
    config = ex.models.SparseExpectation(per_feature(step), capacity=capacity)
    model = with_predecessors(config.build(built.setting))
    columns: dict[int, dict[int, float]] = {1: {}, 2: {}}
    rng = np.random.default_rng(0)
    for _ in range(300):
        here, there = int(rng.integers(1, 3)), int(rng.integers(40))
        fit(model, built.transition(here, 0, 0.0, there))
        column = columns[here]
        for feature in column:
            column[feature] += step * ((feature == there) - column[feature])
        if there not in column:
            if len(column) == capacity:
                del column[min(column, key=lambda feature: abs(column[feature]))]
            column[there] = step
    assert {j: entries(model, 0, j) for j in columns} == {
        j: pytest.approx(column) for j, column in columns.items()
    }
    for feature in range(40):
        link, linked = -1, []
        while (link := next_predecessor(model, feature, link)) >= 0:
            linked.append(predecessor(model, feature, link))
        assert len(linked) == len(dict(linked))
        assert dict(linked) == pytest.approx(
            {j: columns[j][feature] for j in (1, 2) if feature in columns[j]}
        )


@pytest.mark.parametrize("features", FEATURES, ids=repr)
def test_without_a_threshold_it_is_the_dense_model_to_the_bit(features):
    built, whole, sparse = models(features, threshold=0.0)
    weights = np.random.default_rng(1).normal(size=(2, built.setting.width))
    weights[:, built.shape.size :] = 0.0
    means = Shape(built.shape.size, built.shape.size, True)
    ours: Any = empty_state(means)
    theirs: Any = empty_state(means)
    for transition in some_transitions(built, 300):
        np.testing.assert_allclose(fit(sparse, transition), fit(whole, transition), rtol=1e-12)
        for action in (0, 1):
            asked = (transition.next_state, action)
            for ask, given in ((backed_up_value, weights[0]), (backed_up_action_value, weights)):
                assert ask(sparse, *asked, given, 0.9) == ask(whole, *asked, given, 0.9)
            assert sample_next(sparse, *asked, ours) == sample_next(whole, *asked, theirs)
            assert (ours.values == theirs.values).all()
            sums = np.ones((2, built.setting.width))
            add_expected(sparse, *asked, sums[0], 0.7), add_expected(whole, *asked, sums[1], 0.7)
            assert (sums[0] == sums[1]).all()
        assert not sparse.columns.work.any()
    for action in (0, 1):
        assert (to_dense(sparse.columns, action) == whole.rows[action, :, : means.size]).all()
    assert (sparse.rewards == whole.rewards).all() and count_evicted(sparse) == 0


def reference(rows, known, state, error, step, threshold):
    """The same in words of matrices: an entry is known from its first large error on."""
    large = abs(error) > threshold
    for j in np.flatnonzero(state):
        known[j] |= large
        rows[j] += np.where(known[j], step * state[j] * error, 0.0)


@pytest.mark.parametrize("features", FEATURES, ids=repr)
@pytest.mark.parametrize("threshold", [0.03, 0.3])
def test_it_is_a_dense_model_of_the_entries_that_were_ever_wrong(features, threshold):
    built, _, sparse = models(features, threshold=threshold)
    size = built.shape.size
    rows, known = np.zeros((2, size, size)), np.zeros((2, size, size), bool)
    weights = np.zeros(built.setting.width)
    weights[:size] = np.random.default_rng(1).normal(size=size)
    for transition in some_transitions(built, 300):
        action, state = transition.action, dense(transition.state, size)
        error = transition.alive * dense(transition.next_state, size) - state @ rows[action]
        reference(rows[action], known[action], state, error, 0.1, threshold)
        fit(sparse, transition)
        future = backed_up_value(sparse, transition.state, action, weights, 1.0)
        future -= sparse.rewards[action, :size] @ state
        assert future == pytest.approx(state @ rows[action] @ weights[:size], abs=1e-9)
        both = np.stack([weights, -weights])
        most = backed_up_action_value(sparse, transition.state, action, both, 1.0)
        expected = abs(state @ rows[action] @ weights[:size])
        assert most - sparse.rewards[action, :size] @ state == pytest.approx(expected, abs=1e-9)
    for action in (0, 1):
        np.testing.assert_allclose(to_dense(sparse.columns, action), rows[action], atol=1e-12)
        counts = sparse.columns.headers[action, :, COUNT]
        assert (counts == known[action].sum(axis=1)).all()


ADAPTIVE = [
    ex.step_sizes.IDBD(0.2, 0.05, per="feature", bounded=False),
    ex.step_sizes.IDBD(0.9, 0.1, bounded=True, per="feature"),
    ex.step_sizes.Autostep(0.3, 0.1, per="feature"),
]


@pytest.mark.parametrize("step", ADAPTIVE, ids=repr)
@pytest.mark.parametrize("features", FEATURES, ids=repr)
def test_steps_that_adapt_are_those_of_the_dense_model(features, step):
    built, whole, sparse = models(features, step, threshold=0.0)
    for transition in some_transitions(built, 200):
        assert fit(sparse, transition) == pytest.approx(fit(whole, transition), rel=1e-9)
    for name in ("rates", "traces", "peaks"):
        ours, theirs = getattr(sparse.step, name), getattr(whole.step.rewards, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert np.ptp(sparse.step.rates) > 0.1 * sparse.step.rates.max()  # they have adapted
    traces = sparse.columns._replace(values=sparse.columns.traces)
    for action in (0, 1):
        size = built.shape.size
        known = to_dense(sparse.columns, action)
        np.testing.assert_allclose(known, whole.rows[action, :, :size], rtol=1e-9, atol=1e-12)
        kept = whole.step.traces[action, :, :size]
        np.testing.assert_allclose(to_dense(traces, action), kept, rtol=1e-9, atol=1e-12)


def test_the_trace_of_an_entry_goes_and_comes_with_it():
    """Column 1 of capacity 1 and a step of 0.5 that IDBD leaves alone (meta step 0)."""
    built = Built(ex.Corridor(cells=5), ex.OneHot())
    model = ex.models.SparseExpectation(
        ex.step_sizes.IDBD(0.5, 0.0, per="feature", bounded=False), capacity=1
    ).build(built.setting)
    fit(model, built.transition(1, 0, 0.0, 0))
    assert (entries(model, 0, 1), model.columns.traces[0, 0]) == ({0: 0.5}, 0.5)
    fit(model, built.transition(1, 0, 0.0, 0))  # an error of 0.5: h = 0.5 · 0.5 + 0.5 · 0.5
    assert (entries(model, 0, 1), model.columns.traces[0, 0]) == ({0: 0.75}, 0.5)
    fit(model, built.transition(1, 0, 0.0, 4))
    assert (entries(model, 0, 1), model.columns.traces[0, 0]) == ({4: 0.5}, 0.5)
    assert count_evicted(model) == 1 and model.columns.traces.shape == model.columns.values.shape


# agents by the kind of their model, which takes a step size
AGENTS: dict[str, Callable[[Callable[[Any], ex.Model]], ex.Agent]] = {
    "lookahead": lambda model: ex.Lookahead.paper(0.05, model=model(ALPHA)),
    "prioritized": lambda model: ex.Lookahead.paper(
        0.05, model=model(ALPHA), backups="prioritized"
    ),
    "replayed": lambda model: ex.Lookahead.paper(
        0.05,
        model=model(ALPHA),
        interpretation=ex.Interpretation(
            replayed_fits=2, relabelled_rewards=True, stored_termination=True
        ),
    ),
    "cached values": lambda model: ex.CachedValues.paper(
        0.05, 0.05, model=model(ALPHA), backups="seen"
    ),
    "q": lambda model: ex.QPlanning.paper(
        0.05,
        model=model(ALPHA),
        backups="trajectory",
        interpretation=ex.Interpretation(stored_action=True),
    ),
    "bounded gradient": lambda model: ex.Lookahead(
        0.5, model=model(0.1), planning_update=ex.agents.Gradient(0.2)
    ),
    "rollout": lambda model: ex.Lookahead.paper(
        0.05, model=model(ALPHA), backups=ex.backups.Rollout(3)
    ),
    "bonus": lambda model: ex.Lookahead.paper(
        0.05, model=ex.models.ExplorationBonus(model(ALPHA), 0.1)
    ),
}
for _name in ("all", "features", "pwma", "mg"):
    AGENTS[_name] = partial(
        lambda backups, model: ex.Lookahead.paper(0.05, model=model(ALPHA), backups=backups), _name
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_agents_have_the_dense_models_returns_to_the_bit(agent):
    world = ex.Corridor(cells=5, slip=0.2, switch_every=4)
    weighted = (
        Values() if agent == "all" else ex.features.History(ex.OneHot(), 2)
    )  # which remembers
    listed = partial(ex.models.SparseExpectation, capacity=20, threshold=0.0)
    for features in (weighted,) if agent != "lookahead" else (ex.RandomBinary(14, 5), weighted):
        options: Any = {"episodes": 8, "runs": 1, "compiled": False, "progress": False}
        options["keep_agents"] = True
        whole = ex.run(world, features, AGENTS[agent](ex.models.LinearExpectation), **options)
        found = ex.run(world, features, AGENTS[agent](listed), **options)
        np.testing.assert_array_equal(found.returns, whole.returns)
        ours, theirs = (result.kept[0][0].agent.weights for result in (found, whole))
        np.testing.assert_array_equal(ours, theirs)


def test_evictions_of_a_learner_are_counted():
    agent = ex.Lookahead.paper(0.1, model=ex.models.SparseExpectation(per_feature(0.1), capacity=1))
    learner = ex.Learner(agent, ex.OneHot(), 2, states=4, compiled=False)
    learner.start(1)
    assert count_evicted(learner._run.agent) == 0  # type: ignore[union-attr]
    for cell in (0, 1, 2, 1, 0, 1, 2, 1):
        learner.step(0.0, cell, terminated=False)
    assert count_evicted(learner._run.agent) > 0  # type: ignore[union-attr]
