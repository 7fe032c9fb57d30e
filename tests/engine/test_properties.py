"""The properties that hold whatever the machinery; tests/test_contract.py has them by component."""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

import expectant as ex
from expectant.core.vectors import empty_state
from expectant.core.verbs import (
    backed_up_value,
    draw,
    fit,
    load_successor,
    observation,
    remember,
    reset,
    step,
    stored_transition,
)
from expectant.engine.loop import simulate
from expectant.engine.probe import TOPICS, _questions, all_states, ask, copy_subject
from expectant.engine.setup import Setup
from expectant.jit import compile as kernels
from expectant.jit.code_hash import hash_kernel, part_types

PLAIN: Any = {"compiled": False, "progress": False}


# ------------------------------------------------- parts of a user's own, outside the package


class Ring(NamedTuple):
    """Ten places in a circle; a step right from place 9 ends the episode."""

    where: np.ndarray


@reset.register(Ring)
def _(domain, episode, rng):
    domain.where[0] = int(rng.random() * 10)


@step.register(Ring)
def _(domain, action, rng):
    if action == 1 and domain.where[0] == 9:
        return 5.0, 0.0
    domain.where[0] = (domain.where[0] + (1 if action == 1 else 9)) % 10
    return -1.0, 1.0


@observation.register(Ring)
def _(domain):
    return domain.where


class RingDomain(ex.Domain):
    states = 10
    actions = 2

    def build(self, rng):
        return Ring(np.zeros(1, np.int64))


class Rewards(NamedTuple):
    """A model that only knows mean rewards, with arrays of its own making inside a verb."""

    means: np.ndarray


@fit.register(Rewards)
def _(model, transition):
    scratch = np.zeros(2)  # users may allocate; the package's own code does not
    scratch[0] = transition.reward - model.means[transition.action]
    model.means[transition.action] += 0.1 * scratch[0]
    return abs(scratch[0])


@backed_up_value.register(Rewards)
def _(model, state, action, weights, discount):
    return model.means[action]


class RewardsModel(ex.Model):
    def build(self, context):
        return Rewards(np.zeros(context.actions))


class Latest(NamedTuple):
    """Plan from the latest state only."""

    state: object
    next_state: object
    facts: np.ndarray


@remember.register(Latest)
def _(backups, transition):
    for n in range(backups.state.active.shape[0]):
        backups.state.active[n] = transition.state.active[n]
        backups.next_state.active[n] = transition.next_state.active[n]
    backups.facts[0] = transition.action
    backups.facts[1] = transition.reward
    backups.facts[2] = transition.alive


@draw.register(Latest)
def _(backups, state, rng):
    for n in range(state.active.shape[0]):
        state.active[n] = backups.state.active[n]
    return 0


@stored_transition.register(Latest)
def _(backups, slot):
    return int(backups.facts[0]), backups.facts[1], backups.facts[2]


@load_successor.register(Latest)
def _(backups, slot, state):
    for n in range(state.active.shape[0]):
        state.active[n] = backups.next_state.active[n]


class LatestState(ex.Backups):
    def build(self, context):
        return Latest(empty_state(context.shape), empty_state(context.shape), np.zeros(3))


# ------------------------------------------------------------------------------ 1. composition


def named(part):
    return part if isinstance(part, str) else type(part).__name__


@pytest.mark.parametrize("model", ["expectation", "true", RewardsModel()], ids=named)
@pytest.mark.parametrize("backups", ["replay", LatestState()], ids=named)
@pytest.mark.parametrize(
    ("agent", "steps"),
    [(ex.Lookahead, (0.1,)), (ex.CachedValues, (0.1, 0.1)), (ex.CachedPolicy, (0.1, 0.1))],
    ids=["Lookahead", "CachedValues", "CachedPolicy"],
)
def test_parts_compose_freely(agent, steps, model, backups):
    printed = agent.paper(*steps, model=model, backups=backups)
    tuned = agent(model=model, backups=backups)
    for domain, composed in itertools.product(
        (ex.Corridor(cells=4), RingDomain()), (printed, tuned)
    ):
        if isinstance(domain, RingDomain) and model == "true":
            continue
        result = ex.run(domain, ex.RandomBinary(6, 2), composed, episodes=3, runs=1, **PLAIN)
        assert np.isfinite(result.returns).all()


def test_parts_of_a_users_own_compose_compiled():
    agent = ex.Lookahead.paper(0.1, planning_steps=2, model=RewardsModel(), backups=LatestState())
    compiled = ex.run(RingDomain(), ex.OneHot(), agent, episodes=20, runs=2)
    plain = ex.run(RingDomain(), ex.OneHot(), agent, episodes=20, runs=2, compiled=False)
    np.testing.assert_array_equal(compiled.returns, plain.returns)


GENERATOR = {  # works at compile time, or in plain Python only
    "expectant.core.dispatch",
    "expectant.core.rng",
    "expectant.core.tree",
    *(f"expectant.jit.{name}" for name in ("reductions", "rng", "overloads", "numba_internals")),
}
# Records that the loop itself makes, and those of a look.
KNOWN_TO_ALL = {
    "Transition",
    "Budget",
    "Ranges",
    "Run",
    "Questions",
    "Subject",
    "States",
    "Answers",
}
TO_THE_END = ex.options.TableOption(policy=(1,) * 9, stop=(0.0,) * 8 + (1.0,))


@pytest.mark.parametrize(
    ("domain", "features", "agent"),
    [
        (
            ex.Corridor(),
            ex.RandomBinary(14, 5),
            ex.Lookahead.paper(0.1, model="cached_lookahead", backups="prioritized"),
        ),
        (
            ex.MountainCar(),
            ex.features.Traces(ex.Tiles(2, 3, hash_size=16), 0.5),
            ex.CachedValues.paper(0.1, 0.1),
        ),
        (
            ex.Corridor(),
            ex.OneHot(),
            ex.Lookahead.paper(
                ex.step_sizes.IDBD(0.1, per="feature", bounded=False), options=(TO_THE_END,)
            ),
        ),
    ],
)
@pytest.mark.parametrize("entry", [simulate, ask], ids=lambda entry: entry.__name__)
def test_no_kernel_knows_a_part_by_name(entry, domain, features, agent):
    """Everything that a kernel reaches is walked: no function asks what type or name a part has."""
    prepared, _ = Setup(domain, features, agent, episodes=1, step_limit=9).build(0)
    given: Any = prepared
    if entry is ask:
        given = _questions(copy_subject(prepared), all_states(9), TOPICS)
    kinds = {kind.__name__ for kind in part_types(given)} - KNOWN_TO_ALL
    generator = {importlib.import_module(name).__file__ for name in GENERATOR}
    functions = [
        text.thing
        for text in hash_kernel(entry, part_types(given)).texts
        if isinstance(text.thing, types.FunctionType)
        and text.thing.__code__.co_filename not in generator  # verbs are made there, for others
    ]
    assert len(functions) > 10
    for function in functions:
        names = names_in(function.__code__)
        where = f"{function.__module__}.{function.__qualname__}"
        assert not names & {"isinstance", "type", "hasattr", "getattr", "__class__"}, where
        assert not names & kinds, where


def names_in(code):
    """All names that code reads, functions and comprehensions within it included."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(names_in, inner))


# ------------------------------------------------------------------------- 2. run-time numbers


def test_numbers_are_run_time_values():
    def kernel(domain, features, agent):
        setup = Setup(domain, features, agent, episodes=5, step_limit=100)
        prepared, streams = setup.build(0)
        found = kernels.kernel_for(prepared)
        found(prepared, setup.budget(), streams, np.zeros(1, np.int64))
        return found

    base = kernel(ex.Corridor(), ex.RandomBinary(14, 5), ex.Lookahead.paper(0.1, 0.1))
    compiled = list(base.signatures)  # others may have compiled it for a replay of wider numbers
    others = [
        kernel(
            ex.Corridor(cells=20, slip=0.0, goal_reward=3, switch_every=7),
            ex.RandomBinary(30, 2),
            ex.Lookahead.paper(1, 0, planning_steps=0, epsilon=1, discount=0, replay_capacity=5),
        ),
        kernel(
            ex.Counterexample(),
            ex.OneHot(),
            ex.Lookahead.paper(
                0.2,
                interpretation=ex.Interpretation(
                    stored_termination=True, replayed_fits=3, relabelled_rewards=True
                ),
            ),
        ),
        kernel(ex.Corridor(), ex.OneHot(), ex.Lookahead.paper(0.1, 0.1, replay_capacity=None)),
    ]
    assert all(other is base for other in others)
    assert base.signatures == compiled


# ------------------------------------------------------------------------ 3. same seed, same bits


def test_same_bits_for_any_number_of_threads_and_any_number_of_runs():
    domain, features, agent = ex.Corridor(), ex.RandomBinary(14, 5), ex.Lookahead.paper(0.1, 0.1)
    one = ex.run(domain, features, agent, episodes=50, runs=7, seed=3, threads=1)
    two = ex.run(domain, features, agent, episodes=50, runs=7, seed=3, threads=2)
    few = ex.run(domain, features, agent, episodes=50, runs=3, seed=3, threads=4)
    other = ex.run(domain, features, agent, episodes=50, runs=7, seed=4)
    np.testing.assert_array_equal(one.returns, two.returns)
    np.testing.assert_array_equal(one.returns[:3], few.returns)
    assert not np.array_equal(one.returns, other.returns)
    assert len({row.tobytes() for row in one.returns}) == 7


def test_numba_can_be_switched_off_from_outside():
    code = (
        "import expectant as ex, sys;"
        "r = ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=3, runs=1);"
        "assert 'numba' not in sys.modules; print(r.returns.tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = ex.run(
        ex.Corridor(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=3, runs=1, **PLAIN
    )
    assert done.stdout.strip() == str(expected.returns.tolist())


@pytest.mark.parametrize("model", ["expectation", "true"])
def test_q_planning_without_planning_is_q_learning_to_the_bit(model):
    planning = ex.QPlanning.paper(0.1, model=model, planning_steps=0)
    left, right = (
        ex.run(ex.Corridor(switch_every=10), ex.RandomBinary(14, 5), agent, episodes=30, **PLAIN)
        for agent in (ex.QLearning.paper(0.1), planning)
    )
    np.testing.assert_array_equal(left.returns, right.returns)


def test_cached_lookahead_has_the_same_returns():
    domain, features = ex.Corridor(switch_every=20), ex.RandomBinary(14, 5)
    plain, kept = (
        ex.run(domain, features, ex.Lookahead.paper(0.01, 0.1, model=model), episodes=40, **PLAIN)
        for model in ("expectation", "cached_lookahead")
    )
    np.testing.assert_array_equal(plain.returns, kept.returns)


# ------------------------------------------------------------------ 4. compiled code is never stale


def test_a_verb_implemented_again_is_seen_in_the_same_process(kernel_cache):
    def returns() -> float:
        result = ex.run(RingDomain(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=5, runs=1)
        return float(result.returns.sum())

    original = step.implementations[Ring]
    before = returns()

    @step.register(Ring)
    def _(domain, action, rng):
        return 7.0, 0.0

    try:
        assert returns() == 35.0
    finally:
        step.register(Ring)(original)
    assert returns() == before


# ----------------------------------------------------------- 9. truncated runs, and diverged ones


def test_truncation_is_not_termination():
    """A single place with reward −1 that never ends: v = −1 / (1 − γ), cut off or not."""
    domain = ex.FiniteMDP(np.ones((1, 1, 1)), [[-1.0]], endless=True)
    agent = ex.QLearning.paper(0.2, discount=0.9)
    result = ex.run(
        domain, ex.OneHot(), agent, episodes=100, runs=1, step_limit=10, keep_agents=True, **PLAIN
    )
    assert (result.lengths == 10).all() and (result.returns == -10.0).all()
    assert result.kept[0][0].agent.weights[0, 0] == pytest.approx(-10.0, abs=1e-6)  # not −1


@pytest.mark.filterwarnings("ignore")  # of NumPy, about overflows
def test_a_diverged_run_is_counted_and_never_dropped():
    """LEVI with far too large a step overflows; the run keeps its row, as NaN from there on."""
    agent = ex.Lookahead.paper(1e160, 0.1, planning_steps=2)
    result = ex.run(ex.Corridor(), ex.RandomBinary(14, 5), agent, episodes=20, runs=3, **PLAIN)
    assert result.diverged.tolist() == [True] * 3
    assert result.returns.shape == (3, 20) and np.isnan(result.returns[:, -1]).all()
    assert np.isnan(result.means).all()


# --------------------------------------------------------------------------- one look-ahead
