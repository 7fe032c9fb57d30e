"""The properties that hold whatever the machinery; tests/test_contract.py has them by component."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from engine.own_parts import Cautious, Latest, Queue, QueuePart

import expectant as ex
from expectant.core.verbs import step
from expectant.engine.setup import Setup
from expectant.jit import compile as kernels

PLAIN: Any = {"compiled": False, "progress": False}


# ------------------------------------------------------------------------------ 1. composition


class SampleLike(Cautious):
    """A user's model that does not predict means, which gradient planning needs."""

    predicts_means = False


def named(part):
    return part if isinstance(part, str) else type(part).__name__


@pytest.mark.parametrize("model", ["expectation", "true", SampleLike()], ids=named)
@pytest.mark.parametrize("backups", ["replay", Latest()], ids=named)
@pytest.mark.parametrize(
    ("agent", "steps"),
    [(ex.Lookahead, (0.1,)), (ex.CachedValues, (0.1, 0.1)), (ex.CachedPolicy, (0.1, 0.1))],
    ids=["Lookahead", "CachedValues", "CachedPolicy"],
)
def test_parts_compose_freely(agent, steps, model, backups):
    printed = agent.paper(*steps, model=model, backups=backups)
    tuned = agent(model=model, backups=backups)
    for domain, composed in itertools.product((ex.Corridor(cells=4), Queue()), (printed, tuned)):
        if isinstance(domain, Queue) and model == "true":
            continue
        result = ex.run(domain, ex.RandomBinary(6, 2), composed, episodes=3, runs=1, **PLAIN)
        assert np.isfinite(result.returns).all()


def test_parts_of_a_users_own_compose_compiled():
    agent = ex.Lookahead.paper(0.1, planning_steps=2, model=SampleLike(), backups=Latest())
    compiled = ex.run(Queue(), ex.OneHot(), agent, episodes=20, runs=2)
    plain = ex.run(Queue(), ex.OneHot(), agent, episodes=20, runs=2, compiled=False)
    np.testing.assert_array_equal(compiled.returns, plain.returns)


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
        result = ex.run(Queue(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=5, runs=1)
        return float(result.returns.sum())

    original = step.implementations[QueuePart]
    before = returns()

    @step.register(QueuePart)
    def _(domain, action, rng):
        return 7.0, 0.0

    try:
        assert returns() == 35.0
    finally:
        step.register(QueuePart)(original)
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
