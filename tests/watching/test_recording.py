"""What frames hold, worked out by hand on five cells, in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant.engine.asking import States, ask
from expectant.engine.job import Job
from expectant.engine.loop import simulate
from expectant.watching.layout import layout_of
from expectant.watching.probing import Prober
from expectant.watching.recording import record

FIVE = ex.Corridor(cells=5, slip=0.0)
QUICK: dict[str, Any] = {"compiled": False, "progress": False}
EXACT = ex.Lookahead(1.0, model="exact", planning_steps=10, epsilon=0.3)


def last(domain, features, agent, **options):
    recording = record(domain, features, agent, frames=2, **{**QUICK, "episodes": 40, **options})
    return recording.frames[-1]


def check(frame, values, actions, rewards, moves):
    np.testing.assert_allclose(frame.values, values, atol=1e-9)
    np.testing.assert_array_equal(frame.actions, actions)
    np.testing.assert_allclose(frame.rewards, rewards, atol=1e-9)
    np.testing.assert_allclose(frame.moves[:, 0], moves, atol=1e-9)


def test_with_an_exact_model_everything_is_known():
    frame = last(FIVE, ex.OneHot(), EXACT)
    check(frame, [16, 17, 18, 19, 20], [1] * 5, [-1, -1, -1, -1, 20], [1, 1, 1, 1, 0])


def test_a_perfectly_learned_model_moves_by_one():
    agent = ex.Lookahead(1.0, 1.0, planning_steps=10, epsilon=0.3)
    frame = last(FIVE, ex.OneHot(), agent, episodes=200)
    check(frame, [16, 17, 18, 19, 20], [1] * 5, [-1, -1, -1, -1, 20], [1, 1, 1, 1, 0])


def test_displacements_do_not_depend_on_the_features():
    frame = last(FIVE, ex.RandomBinary(12, 3), EXACT.replace(value_step=0.1), episodes=80, seed=1)
    right = frame.actions == 1
    expected = np.where(right, [1, 1, 1, 1, 0], [0, -1, -1, -1, -1])
    np.testing.assert_allclose(frame.moves[:, 0], expected, atol=1e-6)
    np.testing.assert_allclose(frame.rewards[right], [-1, -1, -1, -1, 20][-right.sum() :])


def test_expected_displacements_count_an_end_as_nothing():
    # Three times in four the move is the one asked for. In the last cell that is the end.
    frame = last(FIVE.replace(slip=0.25), ex.OneHot(), EXACT, episodes=60)
    assert (frame.actions == 1).all()
    np.testing.assert_allclose(frame.moves[:, 0], [0.75, 0.5, 0.5, 0.5, -0.25], atol=1e-9)
    np.testing.assert_allclose(frame.rewards, [-0.75, -1, -1, -1, 0.75 * 20 - 0.25])


def test_nothing_is_known_at_first():
    recording = record(FIVE, ex.OneHot(), ex.Lookahead(0.1), episodes=3, frames=2, **QUICK)
    first = recording.frames[0]
    check(first, [0] * 5, [-1] * 5, [0] * 5, [0] * 5)
    assert recording.caption(first) == "episode 0 · step 0 · goal on the right"


def test_the_goal_moves():
    recording = record(
        FIVE.replace(switch_every=40), ex.OneHot(), EXACT, episodes=80, frames=9, **QUICK
    )
    assert recording.changes == (40,)
    by_time = {recording.time(frame): frame for frame in recording.frames}
    right, left = by_time[40], by_time[80]
    check(right, [16, 17, 18, 19, 20], [1] * 5, [-1, -1, -1, -1, 20], [1, 1, 1, 1, 0])
    check(left, [20, 19, 18, 17, 16], [0] * 5, [20, -1, -1, -1, -1], [0, -1, -1, -1, -1])
    assert recording.caption(right).endswith("goal on the right")
    assert recording.caption(left).endswith("goal on the left")


def test_an_agent_without_a_model_shows_values_and_policy():
    recording = record(
        FIVE, ex.OneHot(), ex.QLearning(1.0, epsilon=0.5), episodes=60, frames=3, **QUICK
    )
    assert not recording.has_model
    np.testing.assert_allclose(recording.frames[-1].values, [16, 17, 18, 19, 20])
    np.testing.assert_array_equal(recording.frames[-1].actions, [1] * 5)
    assert np.isnan(recording.frames[-1].moves).all()


def test_a_maintained_look_ahead_tells_the_same_of_its_model():
    plain = ex.Lookahead(0.1, 0.5)
    one, other = (
        last(FIVE, ex.OneHot(), agent) for agent in (plain, plain.replace(maintained=True))
    )
    check(other, one.values, one.actions, one.rewards, one.moves[:, 0])
    assert abs(one.moves).max() > 0.5


def test_a_sample_model_is_asked_for_its_means():
    agent = ex.QPlanning(0.5, model="true_sample", epsilon=0.3)
    frame = last(FIVE.replace(slip=0.25), ex.OneHot(), agent, episodes=60)
    expected = np.where(
        frame.actions == 1, [0.75, 0.5, 0.5, 0.5, -0.25], [0.25, -0.5, -0.5, -0.5, -0.75]
    )
    np.testing.assert_allclose(frame.moves[:, 0], expected, atol=1e-9)


CAR = ex.MountainCar(step_limit=30)


@pytest.mark.parametrize(
    ("domain", "features", "agent"),
    [
        (FIVE.replace(slip=0.2), ex.OneHot(), ex.Lookahead(0.2, model="true_sample")),
        (CAR, ex.Tiles(2, 4, hash_size=20), ex.Lookahead(0.1, 0.1)),
    ],
    ids=["a model that draws", "tiles numbered as they are met"],
)
def test_looking_does_not_change_the_run(domain, features, agent):
    recording = record(domain, features, agent, episodes=6, frames=7, lattice=6, **QUICK)
    alone = ex.run(domain, features, agent, episodes=6, runs=1, **QUICK)
    np.testing.assert_array_equal(recording.curve, alone.returns[0])
    assert len(recording.frames) == 7


def test_coordinates_are_found_anew_where_features_change():
    features = ex.Tiles(2, 4, hash_size=20)
    job = Job(CAR, features, ex.Lookahead(0.1, 0.1), episodes=6)
    points = layout_of(CAR, 6).points
    states = States(points, np.full(len(points), -1))
    earlier, later = Prober(ask, states, points), Prober(ask, states, points)
    run, rng = job.prepare(0)
    before = earlier.look(run)
    simulate(run, job.budget(), rng, np.zeros(1, np.int64))
    now, expected = earlier.look(run), later.look(run)
    for one, other in zip(now, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert abs(now[-1]).max() > abs(before[-1]).max() == 0.0


def test_steps_can_be_counted_instead():
    domain = ex.LocaGrid(rows=2, columns=3, phase_steps=(100, 50, 50))
    agent = ex.Lookahead(0.5, model="exact", discount=0.9)
    recording = record(domain, ex.OneHot(), agent, steps=210, frames=10, **QUICK)
    alone = ex.run(domain, ex.OneHot(), agent, steps=210, bins=200, runs=1, **QUICK)
    np.testing.assert_array_equal(recording.curve, alone.rewards[0])
    assert (recording.changes, recording.unit) == ((100, 150), "step")
    assert {100, 150, 210} <= {frame.step for frame in recording.frames}
    assert [frame.phase for frame in recording.frames][-1] == 2
    assert recording.frames[-1].moves.shape == (6, 2)


def test_a_world_of_gymnasium():
    world = ex.Gym("MountainCar-v0")
    agent = ex.QLearning(0.1)
    options: dict[str, Any] = {"episodes": 2, "step_limit": 20, **QUICK}
    recording = record(world, ex.Tiles(2, 4), agent, frames=3, lattice=5, **options)
    alone = ex.run(world, ex.Tiles(2, 4), agent, runs=1, **options)
    np.testing.assert_array_equal(recording.curve, alone.returns[0])
    with pytest.raises(ValueError, match="give episodes, got steps=50"):
        record(world, ex.Tiles(2, 4), agent, steps=50, **QUICK)


def test_a_run_that_diverges_ends_there():
    agent = ex.Lookahead(1e9, 1e9)
    with np.errstate(all="ignore"):  # plain Python warns of what compiled code passes over
        recording = record(FIVE, ex.OneHot(), agent, episodes=500, frames=20, **QUICK)
    assert recording.diverged and recording.caption(recording.frames[-1]).endswith("diverged")
    assert recording.frames[-1].episode < 500 and len(recording.curve) < 500
    assert all(np.isfinite(frame.values).all() for frame in recording.frames[:-1])


def test_compiled_frames_have_the_same_bits():
    domain, agent = FIVE.replace(slip=0.1, switch_every=20), ex.Lookahead(0.1, 0.1)
    options: dict[str, Any] = {"episodes": 40, "frames": 6, "progress": False}
    fast = record(domain, ex.OneHot(), agent, **options)
    slow = record(domain, ex.OneHot(), agent, compiled=False, **options)
    for one, other in zip(fast.frames, slow.frames, strict=True):
        for first, second in zip(one, other, strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give episodes or steps"),
        ({"episodes": 3, "steps": 3}, "give episodes or steps, got episodes=3, steps=3"),
        ({"episodes": 0}, "episodes must be a whole number, 1 or more, or None, got 0"),
        ({"episodes": 3, "frames": 1}, "frames must be a whole number, 2 or more, got 1"),
        ({"episodes": 3, "lattice": 1}, "lattice must be a whole number, 2 or more, got 1"),
        ({"episodes": 3, "seed": -1}, "seed must be"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=f"watch: {message}"):
        record(FIVE, ex.OneHot(), ex.Lookahead(0.1), **QUICK, **options)
