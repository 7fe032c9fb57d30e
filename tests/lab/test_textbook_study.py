"""What the study of the textbook needs of the lab: other curves, other looks, other measures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import expectant as ex
from expectant.analysis.panel import Panel
from expectant.lab.engines.tasks import Kernels, Task, assembled, run_one
from expectant.lab.looks import Seen, look_named
from expectant.lab.measures import measure_named
from expectant.lab.specs.spec import parse_spec
from expectant.lab.specs.spec_errors import SpecError
from expectant.lab.store.results import panels_of
from expectant.lab.study import packaged, read_study

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
action_step = 0.1
"""


def curve(extent: str, record: str):
    """A panel with both runs of the spec."""
    cells = parse_spec(SPEC.format(extent=extent, record=record), "spec.toml").cells()
    task, kernels = Task(cells[0], "name", 0, 2), Kernels(compiled=False)
    runs = [run_one(task, number, kernels, np.zeros(1, np.int64), {}) for number in (0, 1)]
    block = assembled(task, [run for run in runs if run is not None]).block
    assert block is not None
    return panels_of(cells, [block.curves])[0]


def test_curves_can_be_of_lengths():
    panel = curve("episodes = 4\nbin = 2", '["length"]')
    result = ex.run(
        ex.DynaMaze(), ex.OneHot(), ex.QLearning(0.1), episodes=4, runs=2, compiled=False
    )
    expected = result.lengths.reshape(2, 2, 2).mean(axis=2)
    np.testing.assert_array_equal(panel.curves["plain"], expected)
    assert (panel.unit, panel.quantity) == ("episode", "steps of an episode")


def test_curves_can_be_of_the_sum_of_rewards():
    panel = curve("steps = 2500\nbins = 4", '["total reward"]')
    result = ex.run(
        ex.DynaMaze(), ex.OneHot(), ex.QLearning(0.1), steps=2500, bins=4, runs=2, compiled=False
    )
    sums = np.cumsum(result.rewards * 625, axis=1)
    np.testing.assert_allclose(panel.curves["plain"], sums)
    assert sums[:, -1].max() > 0
    assert (panel.unit, panel.quantity) == ("step", "sum of rewards so far")


def test_what_is_recorded_alone_is_refused_in_company():
    with pytest.raises(SpecError, match="'total reward' is recorded alone"):
        parse_spec(SPEC.format(extent="steps = 9", record='["reward", "total reward"]'), "a.toml")
    with pytest.raises(SpecError, match="unknown 'total reward'"):
        parse_spec(SPEC.format(extent="episodes = 9", record='["total reward"]'), "a.toml")


def panel_of(*curves: list[float]) -> Panel:
    return Panel("f", "", "", 1, None, np.nan, {"a": np.array(curves)}, {"a": "a"})


def of(name: str, *curves: list[float]) -> list[float]:
    panel = panel_of(*curves)
    return measure_named(name).of(panel, panel.curves["a"]).tolist()


def test_measures_by_hand():
    falling = [90.0, 40.0, 11.5, 10.0, 12.0, 10.0, 10.0, 10.0]
    assert of("first", falling) == [90.0]
    assert of("second", falling) == [40.0]
    assert of("last", falling) == [10.0]
    assert of("late-slope", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 13.0]) == [4.0]
    assert of("settling", falling) == [6.0]  # episode 5, the twelve, is the last one above eleven
    assert of("settling", [10.0] * 8) == [1.0]
    assert of("first-full", [0.0, 0.5, 1.0, 0.0], [0.0] * 4) == [2.0, 4.0]
    assert of("log-first-full", [0.0, 0.5, 1.0, 0.0], [0.0] * 4) == [1.0, 2.0]


def seen(preferences: np.ndarray) -> Seen:
    return Seen(np.zeros((0, 0)), preferences[None], np.zeros(1, int))


def test_looks_by_hand():
    maze, agent = ex.DynaMaze(), ex.QLearning(0.1, discount=0.95)
    q = ex.exact.optimal_action_values(maze, discount=0.95)
    solved, decided = look_named("solved"), look_named("decided_states")
    assert solved.of(maze, agent, seen(q), horizon=100)[0] == pytest.approx(1.0)
    assert solved.of(maze, agent, seen(np.zeros((46, 4))), horizon=100)[0] < 0.01
    detour = q.copy()
    detour[int(maze.mdp().outcomes.start.argmax())] = [0.0, 0.0, 0.0, 1.0]  # into the wall
    assert solved.of(maze, agent, seen(detour), horizon=100)[0] == 0.0
    one = np.zeros((46, 4))
    one[3, 2] = 1.0
    one[4, :2] = 1.0  # a tie
    assert decided.of(maze, agent, seen(one))[0] == 1.0


@pytest.mark.parametrize("branches", [2, 10, 100])
def test_sample_updates_leave_what_figure_8_7_says(branches):
    """The mean of t draws among b values, against their mean: the formula in the docs."""
    rng, tasks = np.random.default_rng(branches), 4000
    values = rng.normal(size=(tasks, branches))
    for updates in (1, branches):
        drawn = np.take_along_axis(values, rng.integers(branches, size=(tasks, updates)), axis=1)
        error = np.sqrt(((drawn.mean(axis=1) - values.mean(axis=1)) ** 2).mean())
        assert error == pytest.approx(np.sqrt((branches - 1) / (branches * updates)), rel=0.1)


def test_the_first_episode_is_a_random_walk_whose_length_is_known():
    """The book says about 1,700 steps; the study's notes say what it is."""
    maze = ex.DynaMaze(goal_reward=-1.0, step_reward=-1.0)
    walk = ex.exact.policy_values(maze, np.full((46, 4), 0.25))
    steps = -ex.exact.start_return(maze, walk)
    study = read_study(packaged()["sutton-barto-8"])
    assert f"{steps:.1f} steps" in study.notes[0]
    best = -ex.exact.best_epsilon_soft_return(maze, 0.1)
    assert f"{best:.1f} on average at best" in study.experiments["8.2"].notes[0]


def test_the_exact_rates_in_the_notes():
    study = read_study(packaged()["wan-2021"])
    after = ex.exact.best_epsilon_soft_gain(ex.AccessControl(), 0.1)
    before = ex.exact.best_epsilon_soft_gain(ex.AccessControl(freed="before"), 0.1)
    note = study.experiments["access-control"].notes[0]
    assert f"{after:.3f} if a server" in note
    assert f"{before:.3f} if not" in note
    best = ex.exact.best_epsilon_soft_gain(ex.TwoChoice(), 0.1)
    assert f"is {best:.2f}." in study.experiments["two-choice"].notes[0]


@pytest.mark.parametrize(
    ("name", "page"), [("sutton-barto-8", "dyna.md"), ("wan-2021", "average-reward.md")]
)
def test_pages_list_every_claim(name, page):
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    cell = r" ([^|]*) \|"
    rows = re.findall(rf"^\| (\d+) \|{cell}{cell} [^|]* \| [^|]* \|$", text, re.MULTILINE)
    listed = [(int(id), figure.strip(), claim.strip()) for id, figure, claim in rows]
    claims = read_study(packaged()[name]).claims
    assert listed == [(claim.id, claim.figure, claim.claim) for claim in claims]
