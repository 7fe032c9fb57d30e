from __future__ import annotations

import copy
import dataclasses
from typing import Any

import gymnasium
import numpy as np
import pytest
from hall_env import CELLS, Hall, HallEnv

import expectant as ex
from expectant.core import tree
from expectant.engine.learner_file import states_of

WRONG: Any = 5
FORWARD = [-0.1 * (CELLS - 2 - start) + 0.9 for start in range(CELLS - 1)]  # from every cell


def train(domain=None, agent=None, features=None, **options):
    options = {"episodes": 60, "runs": 2, "keep_agents": True, "compiled": False, **options}
    return ex.run(
        domain or Hall(), features or ex.OneHot(), agent or ex.QLearning.paper(0.5, epsilon=0.5),
        progress=False, **options,
    )  # fmt: skip


def evaluate(learned, domain, episodes=CELLS - 1, **options):
    return ex.evaluate(
        learned, domain, episodes, **{"compiled": False, "progress": False, **options}
    )


def learner_of(result):
    return ex.Learner.from_result(result, 1, compiled=False)


@pytest.fixture(scope="module")
def result():
    return train()


# ---------------------------------------------------------------------------------------- doing


@pytest.mark.parametrize(
    "domain",
    [Hall(), ex.Gym(HallEnv), HallEnv(), HallEnv],
    ids=["compiled domain", "Gym", "environment", "class"],
)
def test_the_best_actions_are_taken_in_every_kind_of_world(result, domain):
    """Nothing in the hall is drawn, so every return is known; exploring would take longer."""
    found = evaluate(result, domain)
    np.testing.assert_allclose(found.returns, [FORWARD, FORWARD])
    assert found.lengths.tolist() == [list(range(CELLS - 1, 0, -1))] * 2
    assert not found.diverged.any()
    one = evaluate(learner_of(result), domain)
    np.testing.assert_allclose(one.returns, FORWARD)
    assert one.returns.shape == one.lengths.shape == (CELLS - 1,)


def test_ties_are_broken_at_random_and_seeds_seed():
    """Nothing has been learned yet: a walk to the left or to the right, as it comes."""
    result = train(ex.Corridor(slip=0.0), ex.QLearning.paper(0.0), episodes=1)
    first, again = (evaluate(result, ex.Corridor(slip=0.0), 30) for _ in range(2))
    other = evaluate(result, ex.Corridor(slip=0.0), 30, seed=1)
    np.testing.assert_array_equal(first.returns, again.returns)
    assert not np.array_equal(first.returns, other.returns)
    assert not np.array_equal(first.returns[0], first.returns[1])
    ends = first.returns + first.lengths - 1
    assert set(ends.ravel()) == {0.0, 20.0}


def test_episodes_are_cut_off_at_the_step_limit(result):
    for domain in (Hall(), ex.Gym(HallEnv)):
        found = evaluate(result, domain, step_limit=2)
        assert found.lengths[0].tolist() == [2, 2, 2, 2, 1]


def test_environments_are_seeded_anew(result):
    made: list[HallEnv] = []

    def make() -> HallEnv:
        made.append(HallEnv())
        return made[-1]

    seeds = []
    for seed in (0, 1):
        evaluate(result, make, 2, seed=seed)
        seeds += [tuple(env.seeds) for env in made if env.seeds]
        made.clear()
    train(ex.Gym(make), episodes=2, threads=1)
    seeds += [tuple(env.seeds) for env in made if env.seeds]
    assert len(set(seeds)) == 6  # two runs each
    assert all(env.closed for env in made)


# ------------------------------------------------------------------------------ nothing changes


def everything(runs: list[Any]) -> list[Any]:
    return [copy.deepcopy((run, states_of(streams))) for run, streams in runs]


def assert_same(before, after):
    for (old, old_state), (new, new_state) in zip(before, after, strict=True):
        assert old_state == new_state
        for (name, one), (_, other) in zip(tree.arrays(old), tree.arrays(new), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize(
    ("agent", "features"),
    [
        (ex.Lookahead.paper(0.2, model="sample"), ex.OneHot()),  # draws when it is asked
        (ex.CachedPolicy.paper(0.2, 0.1, 0.2), ex.features.History(ex.OneHot(), 2)),
    ],
    ids=["sample model", "traces"],
)
def test_what_was_learned_is_left_as_it_is(agent, features):
    result = train(Hall(), agent, features, episodes=10)
    kept: Any = list(result.kept)
    before = everything(kept)
    for domain in (Hall(), HallEnv):
        evaluate(result, domain)
    assert_same(before, everything(kept))


# ------------------------------------------------------------------------------------ the parts


class Steps(gymnasium.Env[Any, Any]):
    """Nine states and two actions, like the corridor; ends after as many steps as an action 1."""

    observation_space = gymnasium.spaces.Discrete(9)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return int(self.np_random.integers(9)), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        seen = int(self.np_random.integers(9))
        return seen, float(seen), bool(action and seen > 4), False, {}


def test_compiled_evaluations_are_plain_ones():
    result = train(ex.Corridor(), ex.QLearning.paper(0.1), episodes=30, compiled=True)
    plain, compiled = (evaluate(result, ex.Corridor(), 50, compiled=c) for c in (False, True))
    np.testing.assert_array_equal(plain.returns, compiled.returns)
    outside = [evaluate(result, Steps, 10, compiled=c).returns for c in (False, True)]
    np.testing.assert_array_equal(*outside)


def test_a_diverged_run_is_shown_and_not_evaluated(result):
    found = evaluate(dataclasses.replace(result, diverged=np.array([True, False])), Hall())
    assert found.diverged.tolist() == [True, False]
    assert np.isnan(found.returns[0]).all() and (found.lengths[0] == 0).all()
    np.testing.assert_allclose(found.returns[1], FORWARD)
    assert np.isnan(found.mean) and "diverged 1" in repr(found)
