from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hall_env import CELLS, HallEnv

import expectant as ex

AGENTS = [
    ex.QLearning.paper(0.2),
    ex.Lookahead.paper(0.2, 0.2, planning_steps=3, model="cached_lookahead"),
    ex.QPlanning.paper(0.2, model="sample", planning_steps=2),
    ex.CachedPolicy.paper(0.2, 0.1, 0.2, planning_steps=2, backups="prioritized"),
    ex.CachedValues.paper(0.2, 0.2, planning_steps=2, replay_capacity=None, backups="recency"),
    ex.Lookahead.paper(0.05, planning_steps=2, values=ex.agents.NetworkValues(hidden=5)),
]


WRONG: Any = "q"


def learner_for(agent, compiled=False, **options) -> Any:
    return ex.Learner(
        agent, ex.OneHot(), 2, states=CELLS, compiled=compiled, progress=False, **options
    )


def drive(learner, env, steps, action=None):
    """Let a learner act for some steps; returns its actions and where it stands."""
    taken = []
    for _ in range(steps):
        if action is None:
            action = learner.start(env.reset()[0])
        taken.append(action)
        seen, reward, terminated, truncated, _ = env.step(action)
        action = learner.step(reward, seen, terminated, truncated)
    return taken, action


def test_compiled_learners_are_plain_ones_and_reload_each_other(tmp_path):
    agent = AGENTS[1].replace(model="expectation", backups=ex.backups.Replay(None))
    plain, fast = learner_for(agent), learner_for(agent, compiled=True)
    assert drive(plain, HallEnv(), 300) == drive(fast, HallEnv(), 300)
    fast.save(tmp_path / "fast.npz")
    assert plain.predict(2) == fast.predict(2) == 1
    assert np.array_equal(plain.preferences(2), fast.preferences(2))
    reloaded = ex.Learner.load(tmp_path / "fast.npz", compiled=True, progress=False)
    assert drive(plain, HallEnv(), 100) == drive(reloaded, HallEnv(), 100)


def test_a_learner_does_what_run_does():
    result = ex.run(
        ex.Gym(HallEnv), ex.OneHot(), AGENTS[0], episodes=20, runs=1, compiled=False, progress=False
    )
    learner, env, lengths = learner_for(AGENTS[0]), HallEnv(), []
    for _ in range(20):
        action, steps, over = learner.start(env.reset()[0]), 0, False
        while not over:
            seen, reward, over, _, _ = env.step(action)
            action, steps = learner.step(reward, seen, over), steps + 1
        lengths.append(steps)
    assert lengths == result.lengths[0].tolist()


@pytest.mark.parametrize("domain", [ex.Corridor(cells=CELLS), ex.Gym(HallEnv)], ids=["ours", "gym"])
def test_what_a_run_has_learned_can_be_kept_and_saved(domain, tmp_path):
    agent = ex.Lookahead.paper(0.2, 0.2, planning_steps=3)
    result = ex.run(
        domain, ex.OneHot(), agent, episodes=100, runs=2, compiled=False, progress=False,
        keep_agents=True,
    )  # fmt: skip
    first: Any = ex.Learner.from_result(result, compiled=False)
    assert np.array_equal(first._run.agent.weights, result.kept[0][0].agent.weights)
    learner = ex.Learner.from_result(result, 1, compiled=False)
    assert [learner.predict(cell) for cell in range(CELLS - 1)] == [1] * (CELLS - 1)
    learner.save(tmp_path / "run.npz")
    again: Any = ex.Learner.load(tmp_path / "run.npz", compiled=False)
    kept = result.kept[1][0].agent.weights
    assert not np.array_equal(first._run.agent.weights, kept)
    assert np.array_equal(again._run.agent.weights, kept)
    drive(again, HallEnv(), 20)


@pytest.mark.parametrize(
    "agent", [AGENTS[1], ex.Lookahead.paper(0.2, model="sample")], ids=["", "sample"]
)
def test_greedy_neither_learns_nor_draws_from_the_run(agent):
    one, other = learner_for(agent), learner_for(agent)
    first, env = HallEnv(), HallEnv()
    _, action = drive(one, first, 30)
    drive(other, env, 30)
    for cell in range(CELLS):
        one.predict(cell)
        assert one.preferences(cell).tolist() == one.preferences(cell).tolist()
    assert drive(one, first, 50, action) == drive(other, env, 50, action)


def test_greedy_with_memory_leaves_the_memory_alone():
    features = ex.features.History(ex.OneHot(), 2)
    one = ex.Learner(AGENTS[0], features, 2, states=CELLS, compiled=False)
    other = ex.Learner(AGENTS[0], features, 2, states=CELLS, compiled=False)
    first, second = HallEnv(), HallEnv()
    _, action = drive(one, first, 30)
    drive(other, second, 30)
    one.predict(3)
    assert drive(one, first, 50, action) == drive(other, second, 50, action)


def test_for_env_reads_spaces():
    learner = ex.Learner.for_env(AGENTS[0], ex.OneHot(), HallEnv(), compiled=False)
    assert (learner.n_actions, learner.observation_spec.states) == (2, CELLS)
    drive(learner, HallEnv(), 20)


def test_weights_that_overflow():
    learner, env = learner_for(ex.QLearning.paper(1e200), compiled=True), HallEnv()
    message = (
        "^Learner: learning is diverging: QLearning in a loop of your own, run 0, .*"
        "; use smaller, bounded step sizes$"
    )
    with pytest.raises(FloatingPointError, match=message):
        drive(learner, env, 100)
    learner._run.agent.weights[:] = np.nan
    with pytest.raises(FloatingPointError, match=r"^Learner.predict: .* overflowed$"):
        learner.predict(0)


def test_preferences_are_the_action_values():
    learner, env = learner_for(AGENTS[0]), HallEnv()
    drive(learner, env, 40)
    for cell in range(CELLS):
        assert learner.preferences(cell).tolist() == learner._run.agent.weights[:, cell].tolist()
