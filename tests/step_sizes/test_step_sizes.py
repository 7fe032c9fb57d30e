"""Step sizes that are more than a number: worked by hand, and the experiment of 1992."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from building import Built

import expectant as ex
from expectant.core.dispatch import unowned
from expectant.core.updates import move, move_row
from expectant.core.vectors import Weighted, dot
from expectant.core.verbs import backed_up_value, fit, learn, mean_rate, plan, value_change
from expectant.jit.compile import kernel_for
from expectant.step_sizes import effective_step

DOMAIN = ex.Corridor(cells=2, slip=0.0)
TEN = ex.RandomBinary(40, 10)
ADAPTIVE = (
    ex.step_sizes.IDBD(0.5, 0.1, per="feature", bounded=False),
    ex.step_sizes.Autostep(0.5, 0.1, memory=10.0, per="feature"),
)


def build(step: Any = 0.1, **options: Any) -> Built:
    return Built(DOMAIN, ex.OneHot(), ex.QLearning.paper(step, **options))


@pytest.mark.parametrize("described", ADAPTIVE, ids=lambda step: step.kind)
def test_a_rate_grows_while_errors_agree_worked_by_hand(described):
    b, weights = build(), np.zeros(8)
    step = described.build(b.setting, 1)
    # δ = 2, h = 0: α stays, w = 0.5 · 2, h = 0.5 · 2
    assert move(weights, b.state(0), 2.0, step) == 2.0
    assert (weights[0], step.traces[0, 0], step.rates[0, 0]) == (1.0, 1.0, 0.5)
    # δ = 1: δ x h = 1 (which is Autostep's maximum too): α = 0.5 e^0.1, h = 1 (1 − α) + α
    assert move(weights, b.state(0), 2.0, step) == 1.0
    rate = 0.5 * math.exp(0.1)
    assert step.rates[0, 0] == pytest.approx(rate, rel=1e-12)
    assert weights[0] == pytest.approx(1.0 + rate, rel=1e-12)
    assert step.traces[0, 0] == pytest.approx(1.0, rel=1e-12)
    # an error the other way: α shrinks, by Autostep with the slope over its fading maximum
    error = move(weights, b.state(0), 1.0, step)
    slope = error * 1.0
    if isinstance(described, ex.step_sizes.Autostep):
        slope /= max(abs(slope), 1.0 + rate / 10.0 * (abs(slope) - 1.0))
    assert error < 0.0
    assert step.rates[0, 0] == pytest.approx(rate * math.exp(0.1 * slope), rel=1e-12)
    assert step.rates[0, 1] == 0.5  # a feature that is off is not touched


def two_active() -> Weighted:
    return Weighted(np.array([0, 3]), np.array([1.0, 2.0]), np.array([-1]))


def test_a_rate_jumps_by_e_squared_at_most_and_never_vanishes():
    b, weights = build(), np.zeros(8)
    step = ex.step_sizes.IDBD(0.5, 100.0, per="feature", bounded=False).build(b.setting, 1)
    step.traces[0, :2] = [1.0, -1.0]
    move(weights, b.state(0), 1.0, step)  # θ δ x h = 100
    assert step.rates[0, 0] == pytest.approx(0.5 * math.exp(2.0))
    move(weights, b.state(1), 1.0, step)
    assert step.rates[0, 1] == pytest.approx(0.5 * math.exp(-2.0))
    step.rates[0, 1], step.traces[0, 1], weights[1] = math.exp(-19.0), -1.0, 0.0
    move(weights, b.state(1), 1.0, step)
    assert step.rates[0, 1] == pytest.approx(math.exp(-20.0))


def test_features_that_are_not_one_count_by_their_squares():
    """x = 2, δ = 1: of a trace nothing is left once α x² is above one."""
    b, state = build(), two_active()
    step = ex.step_sizes.IDBD(0.5, 0.0, per="feature", bounded=False).build(b.setting, 1)
    step.traces[0, 3] = 1.0
    move(np.zeros(8), state, 1.0, step)
    assert step.traces[0, 3] == 0.5 * 2.0
    # Autostep: the slope is δ x h = 2, and the maximum of 5 fades by α x² / τ = 0.04 towards it
    step = ex.step_sizes.Autostep(0.1, 0.1, memory=10.0, per="feature").build(b.setting, 1)
    step.traces[0, 3], step.peaks[0, 3] = 1.0, 5.0
    move(np.zeros(8), state, 1.0, step)
    assert step.peaks[0, 3] == pytest.approx(5.0 - 0.04 * 3.0)
    rate = 0.1 * math.exp(0.1 * 2.0 / 4.88)
    assert step.rates[0, 3] == pytest.approx(rate)
    assert step.traces[0, 3] == pytest.approx(1.0 - 4.0 * rate + 2.0 * rate)


def test_the_mean_rate_is_weighted_by_squares():
    """Rates 1/8 and 1/2 at features of 1 and 2: (1/8 + 4/2) / 5."""
    step = ex.step_sizes.IDBD(0.5, 0.0, per="feature", bounded=False).build(build().setting, 1)
    step.rates[0, 0] = 0.125
    assert mean_rate(step, 0, two_active()) == (0.125 + 4 * 0.5) / 5
    nothing = Weighted(np.array([0, 3]), np.zeros(2), np.array([-1]))
    assert mean_rate(step, 0, nothing) == 0.0


def test_no_single_update_overshoots():
    b, state = build(), two_active()
    for described in (
        ex.step_sizes.Fixed(1.0, per="feature"),
        ex.step_sizes.Autostep(1.0, per="feature"),
        ex.step_sizes.IDBD(1.0, bounded=True, per="feature"),
    ):
        weights, step = np.zeros(8), described.build(b.setting, 1)
        move(weights, state, 10.0, step)
        assert effective_step(step, 0, state) == pytest.approx(1.0)
        assert weights[0] + 2.0 * weights[3] == pytest.approx(10.0)
        assert value_change(step, 0, state, 10.0) == pytest.approx(10.0)
    weights, step = np.zeros(8), ex.step_sizes.Fixed(0.1, per="feature").build(b.setting, 1)
    move(weights, state, 10.0, step)
    assert weights[3] == 0.1 * 10.0 * 2.0  # small ones are left alone
    unbounded = np.zeros(8)
    move(
        unbounded,
        state,
        10.0,
        ex.step_sizes.IDBD(1.0, per="feature", bounded=False).build(b.setting, 1),
    )
    assert unbounded[0] + 2.0 * unbounded[3] == 50.0


def test_numbers_are_shared_out_and_bounded_in_all_parts_of_an_agent():
    agent = ex.CachedValues(0.8, ex.step_sizes.IDBD(0.6), 0.4, planning_update="gradient")
    part = Built(DOMAIN, ex.RandomBinary(4, 2), agent).agent
    assert (part.value_step.step, part.planner.model.step.step) == (0.4, 0.2)
    assert (part.update.correction_step.step, part.update.bounded) == (0.005, True)
    assert part.action_step.bounded and (part.action_step.rates == 0.3).all()


FIXED = ex.step_sizes.Fixed(0.6)
LINEAR = ex.models.LinearExpectation
STEPS_OF_MODELS: list[dict[str, Any]] = [
    *({"model_step": step} for step in (0.6, FIXED)),
    *({"model_step": step, "model": "sparse"} for step in (0.6, FIXED)),
    *({"model": LINEAR(step)} for step in (0.6, FIXED)),
    *({"model": ex.models.SparseExpectation(step)} for step in (0.6, FIXED)),
    *({"model": ex.models.EpisodicExpectation(step)} for step in (0.6, FIXED)),
    *({"model": ex.models.CachedLookahead(step)} for step in (0.6, FIXED)),
    {"model": ex.models.NStepExpectation(1, LINEAR(0.6))},
    {"model": ex.models.ExplorationBonus(LINEAR(0.6), 0.0)},
]


@pytest.mark.parametrize("parameters", STEPS_OF_MODELS, ids=repr)
def test_a_models_step_means_the_same_wherever_it_is_given(parameters):
    """Two active features share 0.6, so that one fit to a reward of −5 predicts −3."""
    agent = ex.Lookahead(planning_steps=0, planning_update="levi", **parameters)
    b = Built(DOMAIN, ex.RandomBinary(4, 2), agent)
    fit(b.agent.planner.model, b.transition(0, 1, -5.0, None))
    told = backed_up_value(b.agent.planner.model, b.state(0), 1, b.agent.weights, 1.0)
    assert told == pytest.approx(-3.0, rel=1e-12)


@pytest.mark.parametrize("step", [0.6, FIXED], ids=repr)
def test_a_step_of_values_means_the_same_as_a_number_and_as_an_object(step):
    """Two active features share 0.6: each weight moves by 0.3 · −5."""
    for agent in (ex.Lookahead(step), ex.QLearning(step), ex.Sarsa(step, 0.0), ex.DynaQ(step)):
        b = Built(DOMAIN, ex.RandomBinary(4, 2), agent)
        learn(b.agent, b.transition(0, 1, -5.0, None), b.rng)
        weights = b.agent.weights if b.agent.weights.ndim == 1 else b.agent.weights[1]
        assert sorted(weights[weights != 0.0]) == [-1.5, -1.5]


def test_the_papers_numbers_are_neither_and_can_be_doubled():
    part = Built(
        DOMAIN,
        ex.RandomBinary(4, 2),
        ex.CachedValues.paper(
            0.8,
            ex.step_sizes.IDBD(0.6, per="feature", bounded=False),
            0.4,
            planning_update="gradient",
            interpretation=ex.Interpretation(doubled_gradients=True),
        ),
    ).agent
    assert (part.value_step, part.planner.model.step) == (1.6, 0.4)
    assert (part.update.correction_step, part.update.bounded) == (0.01, False)
    assert not part.action_step.bounded and (part.action_step.rates == 1.2).all()


def test_rows_of_weights_have_rates_of_their_own():
    b, weights = build(), np.zeros((2, 8))
    step = ex.step_sizes.IDBD(0.5, 0.1, per="feature", bounded=False).build(b.setting, 2)
    for _ in range(2):
        move_row(weights, b.state(0), 2.0, step, 1)
    assert weights[0].tolist() == [0.0] * 8
    assert step.rates[0, 0] == 0.5 < step.rates[1, 0]


@pytest.mark.parametrize("described", ADAPTIVE, ids=lambda step: step.kind)
def test_a_models_column_has_one_rate_for_all_its_outputs(described):
    model = ex.models.LinearExpectation(described).build(build().setting)
    b = build()
    fit(model, b.transition(0, 1, -1.0, 1))
    assert (model.rewards[1, 0], model.rows[1, 0, 1]) == (-0.5, 0.5)
    # errors −0.5 and 0.5, traces −0.5 and 0.5: the slope is 0.25 + 0.25
    fit(model, b.transition(0, 1, -1.0, 1))
    slope = 1.0 if isinstance(described, ex.step_sizes.Autostep) else 0.5
    rate = 0.5 * math.exp(0.1 * slope)
    columns: Any = model.step
    step = columns.rewards
    assert step.rates[1, 0] == pytest.approx(rate, rel=1e-12)
    assert model.rows[1, 0, 1] == pytest.approx(0.5 + rate * 0.5, rel=1e-12)
    assert model.rewards[1, 0] == pytest.approx(-0.5 - rate * 0.5, rel=1e-12)
    assert step.rates[0, 0] == step.rates[1, 1] == 0.5


class Task(NamedTuple):
    """Inputs (N, 20) with targets (N,), and what learns them."""

    inputs: np.ndarray
    targets: np.ndarray
    errors: np.ndarray
    weights: np.ndarray
    state: Weighted
    step: Any


def track(task):
    """Learn one example after the other."""
    task = unowned(task)
    for example in range(task.targets.shape[0]):
        for i in range(20):
            task.state.values[i] = task.inputs[example, i]
        task.errors[example] = move(task.weights, task.state, task.targets[example], task.step)


def learn_targets(described: Any, examples: int) -> Task:
    """The task of Sutton (1992): 20 inputs, five of which matter, with signs that flip."""
    rng, features = np.random.default_rng(1), ex.RandomBinary(20, 5)
    flips = np.eye(5)[rng.integers(5, size=examples // 20)]
    signs = np.repeat(np.where(np.cumsum(flips, axis=0) % 2, -1.0, 1.0), 20, axis=0)
    inputs = rng.normal(size=(examples, 20))
    context = Built(ex.Corridor(), features).setting
    step = described if isinstance(described, float) else described.build(context, 1)
    state = Weighted(np.arange(20), np.zeros(20), np.array([-1]))
    targets = (signs * inputs[:, :5]).sum(axis=1)
    task = Task(inputs, targets, np.zeros(examples), np.zeros(24), state, step)
    kernel_for(task, track)(task)
    return task


def late_error(task: Task) -> float:
    """The mean squared error of the last third."""
    return float(np.mean(np.square(task.errors[-task.errors.size // 3 :])))


def test_idbd_finds_which_inputs_matter_as_in_1992():
    """About 3.5 by the best fixed step, about 1.5 by IDBD."""
    fixed = min(late_error(learn_targets(step, 30_000)) for step in (0.03, 0.04))
    assert fixed == pytest.approx(3.5, abs=0.2)
    assert late_error(
        learn_targets(ex.step_sizes.IDBD(0.05, 0.01, per="feature", bounded=False), 30_000)
    ) == pytest.approx(1.5, abs=0.2)
    assert (
        late_error(learn_targets(ex.step_sizes.Autostep(0.05, 0.01, per="feature"), 30_000)) < 2.4
    )


def test_a_step_decays_with_real_steps_not_with_planned_ones():
    """α₀ = 0.5, N₀ = 3, p = 2: 0.5 · 4 / (3 + t²) is 1/2, 2/7 and 1/6 in the first three steps."""
    step = ex.step_sizes.Decaying(0.5, 3.0, power=2.0, per="feature", bounded=False)
    for planning_steps in (0, 4):
        agent = ex.Lookahead.paper(step, step, planning_steps=planning_steps, backups="current")
        b = Built(DOMAIN, ex.OneHot(), agent)
        for expected in (1 / 2, 2 / 7, 1 / 6):
            learn(b.agent, b.transition(0, 0, 1.0, None), b.rng)
            assert b.agent.value_step.current[0] == pytest.approx(expected, rel=1e-12)
            plan(b.agent, b.rng)
            assert b.agent.value_step.current[0] == pytest.approx(expected, rel=1e-12)
            assert b.agent.planner.model.step.current[0] == pytest.approx(expected, rel=1e-12)
    q = Built(DOMAIN, ex.OneHot(), ex.QLearning.paper(step))
    for _ in range(2):
        learn(q.agent, q.transition(0, 0, 1.0, None), q.rng)
    assert q.agent.weights[0, 0] == pytest.approx(0.5 + 2 / 7 * 0.5, rel=1e-12)


def test_a_decaying_step_is_bounded_and_shared_out():
    agent = ex.QLearning(ex.step_sizes.Decaying(8.0, 1.0))
    b = Built(ex.Corridor(), ex.RandomBinary(14, 4), agent)
    learn(b.agent, b.transition(0, 0, 3.0, None), b.rng)
    assert b.agent.action_step.initial == 2.0
    assert b.agent.weights[0].sum() == pytest.approx(3.0)  # the whole error, and no more


@pytest.mark.parametrize(("agent", "fields"), [
    (ex.QLearning.paper(0.5, step_unit="total"), {"action_step": 0.05}),
    (ex.QLearning.paper(0.5), {"action_step": 0.5}),
    (ex.QLearning.paper(0.5, step_unit="total", interpretation=ex.Interpretation(doubled_gradients=True)), {"action_step": 0.1}),
    (ex.QPlanning.paper(0.5, 0.2, step_unit="total"), {"action_step": 0.05}),
    (ex.Lookahead.paper(0.5, 0.2, step_unit="total"), {"value_step": 0.05}),
    (ex.CachedValues.paper(0.5, 0.4, 0.2, step_unit="total"), {"value_step": 0.05, "action_step": 0.04}),
    (ex.CachedPolicy.paper(0.5, 0.4, 0.2, step_unit="total"), {"value_step": 0.05, "policy_step": 0.04}),
], ids=repr)  # fmt: skip
def test_a_step_in_total_is_shared_out_among_the_active_features(agent, fields):
    part = Built(ex.Corridor(), TEN, agent).agent
    for name, expected in fields.items():
        assert getattr(part, name) == pytest.approx(expected)
    if hasattr(part, "planner"):
        assert part.planner.model.step == pytest.approx(0.02)


def test_a_total_step_of_one_learns_a_target_at_once():
    world = Built(ex.Corridor(), TEN, ex.QLearning.paper(1.0, step_unit="total"))
    learn(world.agent, world.transition(4, 1, 7.0, None), world.rng)
    assert dot(world.state(4), world.agent.weights[1]) == pytest.approx(7.0)
