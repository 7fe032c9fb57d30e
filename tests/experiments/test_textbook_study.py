"""What the study of the textbook needs of experiments: other curves, other probes, other metrics."""

from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant.engine.driver import new_control
from expectant.experiments.config_file import parse_config
from expectant.experiments.curves import group_panels
from expectant.experiments.engines import Kernels, Task, run_one
from expectant.experiments.toml_tables import ConfigError
from expectant.experiments.trials import Trial

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


def test_probes_can_be_even_on_a_logarithmic_scale():
    record = '[{ probe = "decided_states", every = 2, growth = 2.0 }]'
    panel = curve("steps = 40", record)
    assert panel.points.tolist() == [0, 2, 6, 14, 30, 40]
    with pytest.raises(ConfigError, match="growth must be a finite number, 1 or more"):
        curve("steps = 40", record.replace("2.0", "0.5"))
