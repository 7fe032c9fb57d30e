from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from hall_env import CELLS, FailsIn, Hall, HallEnv

import expectant as ex

PLANNER = ex.Lookahead.paper(0.2, 0.2, planning_steps=3, replay_capacity=None)


def run_through(environment, agent=PLANNER, features=None, **options):
    options = {
        "episodes": 30,
        "runs": 2,
        "threads": 1,
        "progress": False,
        "compiled": False,
        **options,
    }
    return ex.run(ex.Gym(environment), features or ex.OneHot(), agent, **options)


def same(first, second):
    assert np.array_equal(first.returns, second.returns, equal_nan=True)
    assert np.array_equal(first.lengths, second.lengths)
    assert np.array_equal(first.rewards, second.rewards, equal_nan=True)


@pytest.mark.parametrize("budget", [{"episodes": 30}, {"episodes": None, "steps": 301, "bins": 7}])
def test_the_same_world_inside_and_outside_gives_the_same_bits(budget):
    outside = run_through(HallEnv, **budget)
    inside = ex.run(
        Hall(), ex.OneHot(), PLANNER, runs=2, progress=False, compiled=False,
        **{"episodes": 30, **budget},
    )  # fmt: skip
    same(inside, outside)


def test_compiled_is_plain_python_on_any_number_of_threads():
    plain = run_through(HallEnv)
    same(plain, run_through(HallEnv, compiled=True, threads=1))
    same(plain, run_through(HallEnv, compiled=True, threads=2))
    assert not np.array_equal(plain.returns, run_through(HallEnv, seed=1).returns)


class Cut(HallEnv):
    """Truncates every episode after two steps, never ends one."""

    def reset(self, *, seed=None, options=None):
        _, info = super().reset(seed=seed)
        self.cell = 0
        return self.seen(), info

    def step(self, action):
        *_, info = super().step(action)
        self.cell = 1  # where it stays, so that only the end of an episode makes a difference
        return self.seen(), 1.0, False, self.taken(), info

    def taken(self):
        self.steps = getattr(self, "steps", 0) + 1
        return self.steps % 2 == 0


class Ended(Cut):
    def step(self, action):
        seen, reward, _, truncated, info = super().step(action)
        return seen, reward, truncated, False, info


def test_truncated_bootstraps_and_terminated_does_not():
    agent = ex.QLearning.paper(1.0, discount=0.5)
    values = {}
    for world in (Cut, Ended):
        result = run_through(world, agent, episodes=400, runs=1, keep_agents=True)
        assert (result.lengths == 2).all()
        values[world] = result.kept[0][0].agent.weights[:, 1].max()
    assert values[Cut] == pytest.approx(2.0, abs=1e-6)  # 1 + 1/2 + 1/4 + …
    assert values[Ended] == 1.0  # the second reward is the last


def test_the_step_limit_cuts_off_and_the_environments_own_is_the_default():
    assert (run_through(HallEnv, step_limit=1).lengths == 1).all()
    assert ex.Gym("CartPole-v1").step_limit == 500
    assert ex.Gym("CartPole-v1", max_episode_steps=7).step_limit == 7


def test_every_run_has_an_environment_and_a_seed_of_its_own():
    made = []

    def make():
        made.append(HallEnv())
        return made[-1]

    run_through(make, runs=3, episodes=2)
    used = [env for env in made if env.seeds]
    seeds = [env.seeds[0] for env in used]
    assert len(used) == len(set(seeds)) == 3 and None not in seeds
    assert all(env.seeds[1:] == [None] for env in used)
    assert all(env.closed for env in made)
    again = [ex.Gym(HallEnv).make_env(0, run).seed for run in range(3)]
    assert set(again) == set(seeds)


def test_an_environment_given_is_copied_and_left_alone():
    env = HallEnv()
    same(run_through(env), run_through(HallEnv))
    assert env.episode == -1 and not env.closed


def test_actions_may_start_anywhere():
    actions = gymnasium.spaces.Discrete(2, start=5)
    same(run_through(HallEnv), run_through(lambda: HallEnv(None, actions)))


class Faulty(HallEnv):
    """Does one thing wrong in its third step."""

    wrong: object = None

    def step(self, action):
        self.taken = getattr(self, "taken", 0) + 1
        right: Any = (*super().step(action)[:2], False, False, {})
        return self.broken(right) if self.taken == 3 else right

    def broken(self, right):
        return (self.wrong, *right[1:])


def with_reward(reward):
    return lambda self, right: (right[0], reward, *right[2:])


@pytest.mark.parametrize(("wrong", "message"), [
    (lambda self, right: (CELLS, *right[1:]), "observation: must be a whole number from 0 to 5, got 6"),
    (lambda self, right: (-1, *right[1:]), "observation: must be a whole number from 0 to 5, got -1"),
    (lambda self, right: (2.5, *right[1:]), "'float' object cannot be interpreted as an integer"),
    (with_reward(float("nan")), "reward: must be a finite number, got nan"),
    (with_reward(None), "reward: must be a finite number, got None"),
    (lambda self, right: right[:4], r"must return \(observation, reward, terminated, truncated, info\)"),
])  # fmt: skip
def test_an_environment_at_fault_is_told_where(wrong, message):
    class Wrong(Faulty):
        broken = wrong

    with pytest.raises(ValueError, match=rf"{message}.*in step of run 0, episode 0, step 3"):
        run_through(Wrong, runs=1)


def test_an_error_of_the_environments_own_is_told_with_its_line_and_where_it_was():
    class Motor(Faulty):
        def broken(self, right):
            raise KeyError("motor broke")

    with pytest.raises(ex.EnvError) as caught:
        run_through(Motor, runs=1)
    assert re.fullmatch(
        r"KeyError: 'motor broke' \(.*test_gym_loop\.py, line \d+\), in step of run 0, episode 0, "
        r"step 3 of <.*Motor.*>",
        str(caught.value),
    )
    cause = caught.value.__cause__
    assert cause is not None and isinstance(cause.__cause__, KeyError)
    assert caught.value.finished is None


@pytest.mark.parametrize("threads", [1, 2])
def test_other_runs_finish_before_a_failure_is_told(threads):
    every = run_through(HallEnv, runs=6)
    with pytest.raises(ex.EnvError) as caught:
        run_through(lambda: FailsIn((1, 3)), runs=6, threads=threads)
    assert "in step of run 1, episode 0, step 2" in str(caught.value)
    assert str(caught.value).endswith(
        "; 2 of 6 runs failed (1, 3); 4 of 6 runs have finished, see the error's finished"
    )
    finished = caught.value.finished
    assert finished is not None and finished.numbers == [0, 2, 4, 5]
    assert finished.missing == (1, 3)
    assert np.array_equal(finished.returns, every.returns[[0, 2, 4, 5]])
    assert sorted(set(finished.table()["run"].to_pylist())) == [0, 2, 4, 5]


def test_no_more_runs_are_begun_where_all_fail():
    with pytest.raises(ex.EnvError) as caught:
        run_through(lambda: FailsIn(range(40)), runs=30, threads=1)
    assert str(caught.value).endswith(
        "; 5 of 30 runs failed (0, 1, 2, 3, 4), 25 were not started after 5 failures in a row"
    )
    assert caught.value.finished is None
