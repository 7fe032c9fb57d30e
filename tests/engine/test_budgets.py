"""What a run leaves behind: bins that are cut short, numbers of runs, errors on threads, progress."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.domains.outside import OutsidePart
from expectant.engine.course import drive, going_on
from expectant.engine.job import STEP_LIMIT, Job, closed
from expectant.engine.learner.saving import states_of
from expectant.engine.loop import DIVERGED, DONE, EPISODE, STEPS, simulate
from expectant.progress import Lines, Overall, Silent
from expectant.seeds import generator

AGENT = ex.QLearning(0.1)


def test_a_world_without_an_end_is_not_broken_off_by_a_budget_of_steps():
    job = Job(ex.TwoChoice(), ex.OneHot(), AGENT, steps=12_000)
    run, _, status = next(drive(job, 0, simulate, going_on()))
    assert (status, run.clock[EPISODE], run.clock[STEPS]) == (DONE, 0, 12_000)
    assert replace(job, step_limit=5).budget().step_limit == 5
    assert replace(job, steps=0, episodes=3).budget().step_limit == STEP_LIMIT
    assert of_steps(12_000, 1).budget().step_limit == STEP_LIMIT  # a corridor ends


def of_steps(steps: int, bins: int, **options) -> Job:
    return Job(ex.Corridor(**options), ex.OneHot(), AGENT, steps=steps, bins=bins)


@pytest.mark.parametrize(("steps", "bins", "sizes"), [
    (10, 5, [2, 2, 2, 2, 2]),
    (9, 5, [2, 2, 2, 2, 1]),
    (7, 3, [3, 3, 1]),
    (3, 9, [1, 1, 1]),
])  # fmt: skip
def test_rewards_become_means_over_the_steps_of_their_bin(steps, bins, sizes):
    job = of_steps(steps, bins)
    prepared, _ = job.prepare(0)
    prepared.rewards[:] = np.array(sizes) * 6.0
    assert closed(job, prepared, DONE).rewards.tolist() == [6.0] * len(sizes)


@pytest.mark.parametrize(("step", "known"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2)])
def test_the_bin_in_which_a_run_diverged_is_unknown_and_so_are_all_after_it(step, known):
    job = of_steps(6, 3)
    prepared, _ = job.prepare(0)
    prepared.clock[STEPS] = step
    assert np.isnan(closed(job, prepared, DIVERGED).rewards).tolist() == [
        *[False] * known, *[True] * (3 - known),
    ]  # fmt: skip


def test_an_episodes_limit_is_the_runs_or_the_domains_or_the_usual_one():
    job = Job(ex.MountainCar(), ex.Tiles(2, 4), AGENT, episodes=5)
    assert job.budget().step_limit == 200
    assert replace(job, step_limit=7).budget().step_limit == 7
    assert of_steps(6, 3).budget().step_limit == 10_000


def test_later_runs_are_those_that_more_runs_would_have_had():
    options: Any = {"episodes": 6, "compiled": False, "progress": False, "seed": 4}
    all_runs = ex.run(ex.Corridor(), ex.RandomBinary(14, 5), AGENT, runs=5, **options)
    later = ex.run(ex.Corridor(), ex.RandomBinary(14, 5), AGENT, runs=2, first_run=3, **options)
    np.testing.assert_array_equal(later.returns, all_runs.returns[3:])
    assert not np.array_equal(later.returns, all_runs.returns[:2])


def test_every_stream_of_every_run_has_numbers_of_its_own():
    drawn = [generator(*key).random() for key in ((0, 0), (0, 1), (1, 0), (0, 0, 1), (0, 0, 2))]
    assert len(set(drawn)) == 5
    assert generator(0, 0, 2).random() == drawn[-1]


# -------------------------------------------------------------------------------------- progress


def test_the_parts_of_a_long_piece_of_work_add_up(capsys):
    with Overall("all of it", 4.0) as overall:
        overall.advance(1.0)  # was there already
        with overall.part("first", 2.0).running("anything") as tell:
            overall.due = 0.0
            tell(0.5)
        assert overall.done == 3.0
        with overall.part("second", 1.0).compiling("anything"):
            pass
        assert overall.done == 3.0
    text = capsys.readouterr().err
    assert "all of it: 50 %, about" in text and "s left, now first" in text


def test_the_time_left_counts_only_what_was_done_here_and_not_compiling(monkeypatch):
    now = 0.0
    monkeypatch.setattr("expectant.progress.time.perf_counter", lambda: now)
    with Overall("all of it", 10.0) as overall:
        overall.skip(5.0)  # was there already
        assert overall.left(overall.done) == ""
        with overall.counted_apart():
            now = 1000.0
        now += 4.0
        overall.advance(1.0)  # in four seconds, so the four that are left take sixteen
        assert overall.left(overall.done) == ", about 16 s left"


def test_lines_tell_loading_from_compiling(capsys, monkeypatch):
    monkeypatch.setattr("expectant.progress.QUIET_SECONDS", 0.0)
    with Lines().loading("it"):
        time.sleep(0.05)
    assert re.fullmatch(r"loading it \.\.\.\nloaded it in [0-9.]+ s\n", capsys.readouterr().err)
    with Lines().compiling("it"):
        time.sleep(0.05)
    assert capsys.readouterr().err.startswith("compiling it (once, then cached) ...\ncompiled it")


def test_lines_say_how_far_a_run_has_come(capsys, monkeypatch):
    times = iter([0.0, 1.0, 9.0, 9.0, 10.0])
    monkeypatch.setattr("expectant.progress.time.perf_counter", lambda: next(times))
    with Lines().running("one") as tell:
        tell(0.1)  # too soon
        tell(0.25)
        tell(0.3)  # too soon after that
    assert capsys.readouterr().err == "one: 25 %\n"
    with Silent().running("nothing") as tell:
        tell(0.5)
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------------------- a loop of one's own


@pytest.mark.parametrize("how", [(True, False), (False, True)])
def test_a_learner_has_no_more_actions_when_the_episode_is_over(how):
    learner = ex.Learner(AGENT, ex.OneHot(), 2, states=4, compiled=False)
    assert learner.start(0) in (0, 1)
    assert learner.step(1.0, 1, False) in (0, 1)
    assert learner.step(1.0, 2, *how) is None
    with pytest.raises(ValueError, match="no episode has begun"):
        learner.step(1.0, 3, False)


def test_a_learner_breaks_ties_of_its_greedy_action_at_random():
    learner = ex.Learner(AGENT, ex.OneHot(), 3, states=4, compiled=False)
    chosen = np.bincount([learner.greedy(0) for _ in range(300)], minlength=3)
    assert chosen.min() > 60


def test_after_the_last_observation_of_an_episode_nothing_is_chosen():
    from expectant.engine.crossing import FIRST, GOES_ON, OVER, TERMINATED, TRUNCATED, respond

    job = of_steps(6, 3)
    prepared, streams = job.prepare(0)
    run = prepared._replace(domain=OutsidePart(np.zeros(1, np.int64)))
    for situation in (FIRST, GOES_ON):
        assert respond(run, 0, 1.0, situation, streams) in (0, 1)
    for situation in (TERMINATED, TRUNCATED):
        before = states_of(streams)
        assert respond(run, 0, 1.0, situation, streams) == OVER
        assert states_of(streams) == before  # nothing was drawn for it
