"""Models of options that are learned: in expectation, in the limit, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from building import Built
from hypothesis import given, settings
from hypothesis import strategies as st

import expectant as ex
from expectant import exact
from expectant.core.vectors import Transition
from expectant.core.verbs import add_expected, backed_up_value, begin, duration, fit_options

GAMMA = 0.9
FIELDS = ("rewards", "rows", "durations")


def build_inner(agent: ex.Lookahead, b: Built) -> Any:
    """The part that values and plans."""
    part: Any = agent.build_agent(b.setting)
    return part.agent


def build_choices(agent: ex.Lookahead, b: Built) -> Any:
    """Its model of actions and options."""
    return build_inner(agent, b).planner.model


class World(Built):
    """A random MDP with options, and the parts that learn about them."""

    def __init__(self, seed: int, *, states: int = 4, count: int = 2, **changes: Any) -> None:
        rng = np.random.default_rng(seed)
        probabilities = 0.9 * rng.dirichlet(np.full(states + 1, 0.5), size=(states, 2))
        probabilities[..., -1] += 0.1
        domain = ex.FiniteMDP(probabilities, rng.normal(size=(states, 2)))
        super().__init__(domain, ex.OneHot(), seed=seed)
        self.mdp, self.states, self.count = domain, states, count
        self.policies = rng.dirichlet(np.ones(2), size=(count, states))
        self.stops = rng.random((count, states))
        options = tuple(map(ex.options.TableOption, self.policies, self.stops))
        given = {"options": options, "step": 0.25, "bounded": False, **changes}
        agent = ex.Lookahead.paper(0.1, discount=GAMMA, options=ex.options.OptionSet(**given))
        self.agent = agent.build_agent(self.setting)
        self.choices = self.agent.agent.planner.model
        self.behaviour = rng.dirichlet(np.full(2, 3.0), size=states)

    def exact(self, option: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        given = self.mdp, self.policies[option], self.stops[option], GAMMA
        return *exact.option_model(*given), exact.option_durations(*given)

    def set_exact(self) -> None:
        """Make the models the exact ones."""
        models: Any = self.choices.extended
        for option in range(self.count):
            rewards, successors, durations = self.exact(option)
            models.rewards[option, : self.states] = rewards
            models.rows[option, :, : self.states] = successors
            models.durations[option, : self.states] = durations

    def arrays(self) -> list[np.ndarray]:
        return [getattr(self.choices.extended, name) for name in FIELDS]

    def mean_change(self, behaviour: np.ndarray, trace: np.ndarray | None = None) -> float:
        """The largest entry of the mean update in any state, from the weights as they are."""
        table, kept = self.mdp.outcomes, [array.copy() for array in self.arrays()]
        largest = 0.0
        for state in range(self.states):
            change = [np.zeros_like(array) for array in kept]
            for action, outcome in np.ndindex(table.successors.shape[1:]):
                chance = (
                    self.behaviour[state, action] * table.probabilities[0, state, action, outcome]
                )
                self.observe(state, action, outcome, behaviour[state], trace)
                for n, (array, before) in enumerate(zip(self.arrays(), kept, strict=True)):
                    change[n] += chance * (array - before)
                    array[...] = before
            largest = max(largest, *(np.abs(total).max() for total in change))
        return largest

    def observe(self, state, action, outcome, behaviour, trace=None) -> None:
        table = self.mdp.outcomes
        successor = int(table.successors[state, action, outcome])
        reward = table.rewards[0, state, action, outcome]
        models: Any = self.choices.extended
        if trace is not None:
            models.traces[:, : self.states] = trace
        seen = self.transition(state, action, reward, None if successor < 0 else successor)
        fit_options(models, self.choices.options, seen, behaviour, GAMMA)


@pytest.mark.parametrize("trace", [0.0, 0.7])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=4, deadline=None)
def test_the_exact_models_are_where_learning_rests(trace, seed):
    """The mean update is zero there, in every state, whatever has been in the trace before."""
    world = World(seed, trace=trace)
    earlier = np.random.default_rng(seed).random((2, 4)) if trace else np.zeros((2, 4))
    assert world.mean_change(world.behaviour, earlier) > 1e-3  # where nothing is known
    world.set_exact()
    assert world.mean_change(world.behaviour, earlier) < 1e-12


@pytest.mark.parametrize("trace", [0.0, 0.9])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=3, deadline=None)
def test_learned_models_converge_to_the_exact_ones(trace, seed):
    """Random worlds whose actions have one outcome each: walks through them, again and again."""
    rng = np.random.default_rng(seed)
    successors = rng.integers(-1, 4, size=(4, 2, 1))
    successors[rng.integers(4), rng.integers(2)] = -1
    mdp = ex.FiniteMDP(np.ones((4, 2, 1)), rng.normal(size=(4, 2)), successors, endless=True)
    policy, stop = rng.integers(0, 2, size=4), rng.random(4)
    options = ex.options.OptionSet(
        (ex.options.TableOption(policy, stop),), step=0.5, trace=trace, bounded=False
    )
    b = Built(mdp, ex.OneHot())
    choices = build_choices(ex.Lookahead.paper(0.1, discount=GAMMA, options=options), b)
    models, behaviour, state, starts = choices.extended, np.array([1.0, 1.0]), 0, 0
    for step in range(2400):
        action = int(policy[state])
        successor = int(successors[state, action, 0])
        ended = successor < 0 or step % 10 == 9
        seen = b.transition(
            state,
            action,
            mdp.outcomes.rewards[0, state, action, 0],
            None if successor < 0 else successor,
        )
        fit_options(models, choices.options, seen, behaviour, GAMMA)
        starts += ended
        state = starts % 4 if ended else successor
        if ended:
            begin(models, b.state(state), b.rng)
    rewards, next_states = exact.option_model(mdp, policy, stop, GAMMA)
    np.testing.assert_allclose(models.rewards[0, :4], rewards, atol=1e-4)
    np.testing.assert_allclose(models.rows[0, :, :4], next_states, atol=1e-4)


def test_two_steps_by_hand():
    """ρ = 2, α = 1/4, γ = 1/2, λ = 1/2; to the right along three cells, stopping with 1/2."""
    line = ex.Corridor(cells=3, slip=0.0)
    b = Built(line, ex.OneHot())
    options = ex.options.OptionSet(
        (ex.options.TableOption((1, 1, 1), (0.5, 0.5, 0.5)),), step=0.25, trace=0.5, bounded=False
    )
    choices = build_choices(ex.Lookahead.paper(0.1, discount=0.5, options=options), b)
    models, half = choices.extended, np.array([0.5, 0.5])
    fit_options(models, choices.options, b.transition(0, 1, -1.0, 1), half, 0.5)
    # e = 2 s(0); δ_r = −1, δ_n = γβ s(1) = s(1) / 4; then e ← γλ(1 − β) e = e / 8
    assert models.rewards[0, :3].tolist() == [-0.5, 0.0, 0.0]
    assert models.rows[0, 0, :3].tolist() == [0.0, 0.125, 0.0]
    assert models.traces[0, :3].tolist() == [0.25, 0.0, 0.0]
    fit_options(models, choices.options, b.transition(1, 1, -1.0, 2), half, 0.5)
    # e = 2 (s(0) / 4 + s(1)); δ_r = −1 for cell 1, felt a quarter as much in cell 0
    assert models.rewards[0, :3].tolist() == [-0.625, -0.5, 0.0]
    assert models.durations[0, :3].tolist() == [0.625, 0.5, 0.0]
    fit_options(models, choices.options, b.transition(2, 1, 20.0, None), half, 0.5)
    # at the end β = 1 and nothing follows: δ_r = 20, the trace is left empty
    assert models.rewards[0, 2] == 10.0
    assert not models.rows[0, 2].any() and not models.traces.any()
    fit_options(models, choices.options, b.transition(0, 1, -1.0, 1), half, 0.5)
    fit_options(models, choices.options, b.transition(1, 0, -1.0, 0), half, 0.5)
    assert not models.traces.any()  # not what the option would do


def test_a_bounded_update_goes_to_its_target_and_no_further():
    line = ex.Corridor(cells=3, slip=0.0)
    b = Built(line, ex.OneHot())
    for bounded, expected in ((True, -1.0), (False, -4.0)):
        options = ex.options.OptionSet(
            (ex.options.TableOption((1, 1, 1), (0.5,) * 3),), step=0.1, bounded=bounded
        )
        choices = build_choices(ex.Lookahead.paper(0.1, options=options), b)
        rare = np.array([0.975, 0.025])  # ρ = 40
        fit_options(choices.extended, choices.options, b.transition(0, 1, -1.0, 1), rare, 1.0)
        assert choices.extended.rewards[0, 0] == pytest.approx(expected)


def test_durations_are_counted_in_steps_where_nothing_is_discounted():
    world = World(1)
    world.set_exact()
    for option in range(2):
        found = [duration(world.choices, world.state(s), 2 + option) for s in range(4)]
        np.testing.assert_allclose(found, world.exact(option)[2])
    assert duration(world.choices, world.state(0), 1) == 1.0
    line = ex.Corridor(cells=3, slip=0.0)
    right = ex.options.TableOption((1, 1, 1), (0.0, 0.0, 1.0))
    b = Built(line, ex.OneHot())
    agent = ex.Lookahead.paper(0.1, discount=1.0, options=ex.options.OptionSet((right,), step=1.0))
    choices = build_choices(agent, b)
    for state, successor in ((2, None), (1, 2), (0, 1)):
        seen = b.transition(state, 1, -1.0, successor)
        fit_options(choices.extended, choices.options, seen, np.array([0.0, 1.0]), 1.0)
    assert choices.extended.durations[0, :3].tolist() == [2.0, 1.0, 1.0]


@pytest.mark.parametrize("models", ["learned", "exact"])
def test_gradient_planning_counts_an_options_discount_once(models):
    """Who asks multiplies by γ; w += γ · amount · s̄ for an action is w += amount · n̂ for an option."""
    world = World(4, models=models)
    if models != "exact":
        world.set_exact()
    weights = np.zeros(8)
    add_expected(world.choices, world.state(1), 2, weights, GAMMA * 3.0)
    np.testing.assert_allclose(weights[:4], 3.0 * world.exact(0)[1][1], atol=1e-12)


def test_learning_sees_states_through_their_features():
    """With shared features the update is outer(δ, e), as the equations have it."""
    line = ex.Corridor(cells=5, slip=0.0)
    b = Built(line, ex.RandomBinary(6, 3))
    option = ex.options.TableOption((1,) * 5, (0.25,) * 5)
    # 0.3 of three active features is 0.1 of each
    options = ex.options.OptionSet((option,), step=0.3, trace=0.5, bounded=False)
    choices = build_choices(ex.Lookahead.paper(0.1, discount=GAMMA, options=options), b)
    models, rng = choices.extended, np.random.default_rng(0)
    models.rows[0, :, :6], models.rewards[0, :6] = rng.normal(size=(6, 6)), rng.normal(size=6)
    matrix, vector = models.rows[0, :, :6].T.copy(), models.rewards[0, :6].copy()
    s, s_next = (np.bincount(b.state(n).active, minlength=6) for n in (1, 2))
    seen = Transition(b.state(1), 1, -1.0, b.state(2), 1.0, 0)
    fit_options(models, choices.options, seen, np.array([0.2, 0.8]), GAMMA)
    trace = 1.25 * s
    errors = GAMMA * (0.25 * s_next + 0.75 * matrix @ s_next) - matrix @ s
    np.testing.assert_allclose(models.rows[0, :, :6].T, matrix + 0.1 * np.outer(errors, trace))
    surprise = -1.0 + GAMMA * 0.75 * vector @ s_next - vector @ s
    np.testing.assert_allclose(models.rewards[0, :6], vector + 0.1 * surprise * trace)
    np.testing.assert_allclose(models.traces[0, :6], GAMMA * 0.5 * 0.75 * trace)


def test_the_rate_is_charged_for_every_step_of_an_option_but_the_one_that_who_asks_takes_off():
    """To the right until the last cell, γ = 1/2: from cell 0 it takes 1 + 1/2 and pays −1.5."""
    domain = ex.Corridor(cells=3, slip=0.0)
    right = ex.options.TableOption((1, 1, 1), (0.0, 0.0, 1.0))
    options = ex.options.OptionSet((right,), models="exact")
    agent = ex.Lookahead.paper(0.1, model="exact", discount=0.5, centering=0.2, options=options)
    b = Built(domain, ex.OneHot())
    part = build_inner(agent, b)
    model, weights = part.planner.model, np.zeros(b.setting.width)
    assert backed_up_value(model, b.state(0), 2, weights, 0.5) == pytest.approx(-1.5)
    part.centering.rate[0] = 2.0
    assert backed_up_value(model, b.state(0), 2, weights, 0.5) == pytest.approx(-1.5 - 2.0 * 0.5)
    assert backed_up_value(model, b.state(1), 2, weights, 0.5) == pytest.approx(-1.0)  # one step
    assert backed_up_value(model, b.state(0), 1, weights, 0.5) == pytest.approx(-1.0)  # an action
