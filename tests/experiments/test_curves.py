"""The exact optimum of a panel, and where its domain changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from experiments.sweeping import TRIAL

import expectant as ex
from expectant.engine.driver import new_control
from expectant.experiments.config_file import parse_config
from expectant.experiments.curves import group_panels
from expectant.experiments.executors import Kernels, Task, run_one
from expectant.experiments.trials import Trial


def panel_of(*agents, domain=TRIAL.domain):
    trials = [
        replace(TRIAL, agent=agent, agent_key=str(n), domain=domain)
        for n, agent in enumerate(agents)
    ]
    return group_panels(trials, [np.zeros((25, 4))] * len(trials))[0]


def test_the_optimum_is_that_of_the_agent_that_explores_most():
    optimum = ex.exact.epsilon_greedy_optimal_return
    policy, plain = ex.CachedPolicy.paper(0.1, 0.1), ex.QLearning.paper(0.1, epsilon=0.2)
    for agents in ((policy, plain), (plain, policy)):
        assert panel_of(*agents).optimum == pytest.approx(optimum(ex.Corridor(), 0.2))
    assert panel_of(policy).optimum == pytest.approx(optimum(ex.Corridor(), 0.0))


def test_what_is_recorded_is_not_discounted_but_the_policy_is():
    """Going left at once pays 4, going right 5 after one step more: γ = 1/2 prefers the former."""
    domain = ex.Corridor(cells=2, slip=0.0, goal_reward=6.0, other_reward=4.0)
    far, near = (ex.QLearning.paper(0.1, epsilon=0.0, discount=discount) for discount in (1.0, 0.5))
    assert panel_of(far, domain=domain).optimum == (5.0 + 6.0) / 2
    assert panel_of(near, domain=domain).optimum == (4.0 + 6.0) / 2
    longer = domain.replace(cells=3)  # from the middle −1 + 6, though γ = 1/2 makes it −1 + 3
    assert panel_of(near, domain=longer).optimum == (4.0 + 5.0 + 6.0) / 3


def test_there_is_no_one_optimum_where_phases_or_discounts_differ():
    still, moved = np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])
    ends = np.full((1, 2, 1), -1)
    for rewards, known in (
        (np.stack([still, still[:, ::-1]]), True),
        (np.stack([still, moved]), False),
    ):
        domain = ex.FiniteMDP(np.ones((1, 2, 1)), rewards[..., None], ends, switch_every=5)
        assert np.isfinite(panel_of(ex.QLearning.paper(0.1), domain=domain).optimum) == known
    assert np.isnan(
        panel_of(ex.QLearning.paper(0.1), ex.QLearning.paper(0.1, discount=0.9)).optimum
    )
    assert np.isnan(panel_of(ex.QLearning.paper(0.1), domain=ex.MountainCar()).optimum)


def test_a_panel_says_when_its_domain_changes():
    trial = replace(
        TRIAL, domain=ex.domains.BlockingMaze(change_after=7), episodes=0, steps=20, bins=4
    )
    assert group_panels([trial], [np.zeros((25, 4))])[0].changes == (7.0,)


SPEC = """
{extent}
record = {record}
runs = 2
[domain]
kind = "dyna_maze"
[features]
kind = "one_hot"
[agents.plain]
kind = "q_learning"
preset = "paper"
action_step = 0.1
"""


def curve(extent: str, record: str):
    """A panel with both runs of the spec."""
    trials = parse_config(SPEC.format(extent=extent, record=record), "config.toml").trials()
    return group_panels(trials, [compute_curves(trials[0], 2)])[0]


def compute_curves(trial: Trial, runs: int) -> np.ndarray:
    task, kernels, control = Task(trial, "name", range(runs)), Kernels(False), new_control()
    finished = [run_one(task, number, kernels, control, {}) for number in range(runs)]
    return np.stack([run.curve for run in finished if run is not None])


def test_curves_can_be_of_lengths():
    panel = curve("episodes = 4\nbin = 2", '["length"]')
    result = ex.run(
        ex.domains.DynaMaze(), ex.OneHot(), ex.QLearning.paper(0.1), episodes=4, runs=2,
        compiled=False,
    )  # fmt: skip
    expected = result.lengths.reshape(2, 2, 2).mean(axis=2)
    np.testing.assert_array_equal(panel.curves["plain"], expected)
    assert (panel.unit, panel.quantity) == ("episode", "steps of an episode")


def test_curves_can_be_of_the_sum_of_rewards():
    panel = curve("steps = 2500\nbins = 4", '["total reward"]')
    result = ex.run(
        ex.domains.DynaMaze(), ex.OneHot(), ex.QLearning.paper(0.1), steps=2500, bins=4, runs=2,
        compiled=False,
    )  # fmt: skip
    sums = np.cumsum(result.rewards * 625, axis=1)
    np.testing.assert_allclose(panel.curves["plain"], sums)
    assert sums[:, -1].max() > 0
    assert (panel.unit, panel.quantity) == ("step", "sum of rewards so far")


SMALL_TASKS = """
steps = 40
runs = 3
record = [{ probe = "start_return", every = 10 }]
[domain]
kind = "branching"
states = 6
branches = 2
task_per_run = true
[features]
kind = "one_hot"
[agents.uniform]
kind = "planning_only"
[agents.uniform.agent]
kind = "q_planning"
preset = "paper"
action_step = 1.0
model = "true"
planning_steps = 1
backups = "all_pairs"
"""


def test_every_run_has_a_task_of_its_own_and_is_held_against_it():
    trials = parse_config(SMALL_TASKS, "config.toml").trials()
    panel = group_panels(trials, [compute_curves(trials[0], 3)])[0]
    assert panel.levels == ()  # there is no one optimum
    for number in range(3):
        own = ex.domains.Branching(states=6, branches=2, task_seed=number)
        q = np.zeros((6, 2))
        for _ in range(40 // 12):  # whole sweeps, in the order of the pairs
            for pair in range(12):
                values = q.max(axis=1)
                target = ex.exact.action_values_of(own, values)
                q[pair // 2, pair % 2] = target[pair // 2, pair % 2]
        for pair in range(40 % 12):
            q[pair // 2, pair % 2] = ex.exact.action_values_of(own, q.max(axis=1))[
                pair // 2, pair % 2
            ]
        values = ex.exact.policy_values(own, ex.exact.greedy_policy(q))
        assert panel.curves["uniform"][number, -1] == pytest.approx(values[0], abs=1e-4)
