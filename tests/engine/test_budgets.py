"""What a run leaves behind: bins that are cut short, numbers of runs, errors on threads, progress."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import expectant as ex
from expectant.engine.driver import Stop, drive, new_control
from expectant.engine.loop import DIVERGED, DONE, EPISODE, STEPS, simulate
from expectant.engine.run import finish_run
from expectant.engine.setup import STEP_LIMIT, Setup

AGENT = ex.QLearning.paper(0.1)


def test_a_world_without_an_end_is_not_broken_off_by_a_budget_of_steps():
    setup = Setup(ex.domains.TwoChoice(), ex.OneHot(), AGENT, steps=12_000)
    run, _, status = next(drive(setup, 0, simulate, new_control()))
    assert (status, run.clock[EPISODE], run.clock[STEPS]) == (DONE, 0, 12_000)
    assert replace(setup, step_limit=5).budget().step_limit == 5
    assert replace(setup, steps=0, episodes=3).budget().step_limit == STEP_LIMIT
    assert of_steps(12_000, 1).budget().step_limit == STEP_LIMIT  # a corridor ends


def of_steps(steps: int, bins: int, **options) -> Setup:
    return Setup(ex.Corridor(**options), ex.OneHot(), AGENT, steps=steps, bins=bins)


@pytest.mark.parametrize(("steps", "bins", "sizes"), [
    (10, 5, [2, 2, 2, 2, 2]),
    (9, 5, [2, 2, 2, 2, 1]),
    (7, 3, [3, 3, 1]),
    (3, 9, [1, 1, 1]),
])  # fmt: skip
def test_rewards_become_means_over_the_steps_of_their_bin(steps, bins, sizes):
    setup = of_steps(steps, bins)
    prepared, streams = setup.build(0)
    prepared.rewards[:] = np.array(sizes) * 6.0
    assert finish_run(setup, Stop(prepared, streams, DONE)).rewards.tolist() == [6.0] * len(sizes)


@pytest.mark.parametrize(("step", "known"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)])
def test_the_bin_in_which_a_run_diverged_is_unknown_and_so_are_all_after_it(step, known):
    setup = of_steps(6, 3)
    prepared, streams = setup.build(0)
    prepared.clock[STEPS] = step
    assert np.isnan(finish_run(setup, Stop(prepared, streams, DIVERGED)).rewards).tolist() == [
        *[False] * known, *[True] * (3 - known),
    ]  # fmt: skip


def test_an_episodes_limit_is_the_runs_or_the_domains_or_the_usual_one():
    setup = Setup(ex.MountainCar(), ex.Tiles(2, 4), AGENT, episodes=5)
    assert setup.budget().step_limit == 200
    assert replace(setup, step_limit=7).budget().step_limit == 7
    assert of_steps(6, 3).budget().step_limit == 10_000
