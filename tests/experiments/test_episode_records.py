"""Records of the return of a copy of the agent, in the phase in which it is evaluated."""

from __future__ import annotations

import numpy as np
import pytest

import expectant as ex
from expectant.engine.driver import drive, new_control
from expectant.engine.loop import simulate
from expectant.engine.progress import Silent
from expectant.engine.setup import Setup
from expectant.exact.loca_mountain_car import reference_levels
from expectant.experiments.recording import (
    evaluate_copy,
    load_kernel,
    parse_record,
    record_levels,
    record_run,
)

CAR = ex.domains.LocaMountainCar(phase_steps=(300, 100, 100))
AGENT = ex.QLearning.paper(0.3, step_unit="total", discount=0.99, initial_value=4.0)


def record(every, episodes):
    return parse_record({"probe": "episode_return", "every": every, "episodes": episodes})


def car_job(domain=CAR):
    return Setup(domain, ex.Tiles(2, 4), AGENT, steps=500)


def test_returns_are_discounted_by_hand():
    """Three steps that pay 1, 2 and 4, whatever is done."""
    chain = ex.FiniteMDP(
        probabilities=np.ones((3, 1, 1)),
        rewards=np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1),
        successors=np.array([1, 2, -1]).reshape(3, 1, 1),
        start=[1.0, 0.0, 0.0],
    )
    setup = Setup(chain, ex.OneHot(), ex.QLearning.paper(0.5, discount=0.5), episodes=6)
    curve, _ = record_run(setup, 0, simulate, simulate, new_control(), record(3, 2))
    assert curve.tolist() == [1.0 + 0.5 * 2.0 + 0.25 * 4.0] * 3


def test_a_run_that_is_looked_at_is_the_same_run():
    setup = car_job()
    curve, looked_at = record_run(setup, 1, simulate, simulate, new_control(), record(100, 3))
    (alone,) = drive(setup, 1, simulate, new_control())
    assert np.array_equal(looked_at.run.agent.weights, alone.run.agent.weights)
    assert np.array_equal(looked_at.run.domain.car, alone.run.domain.car)
    assert looked_at.streams.acting.random() == alone.streams.acting.random()
    assert curve.shape == (4 + 2 + 2,)
    assert curve[3] != curve[4] or curve[3] == 0.0  # at the border the right exit pays less


def test_levels_are_those_of_the_car():
    before, local, after = reference_levels(CAR, 3)
    assert before == {"optimum": pytest.approx(1.936, abs=0.01)}
    assert local == after
    assert local["optimum"] == pytest.approx(1.309, abs=0.01)
    assert local["outdated policy"] == pytest.approx(0.484, abs=0.01)
    lines = record_levels(car_job(), record(100, 2))
    assert [(line.name, line.start, line.end) for line in lines] == [
        ("optimum", 0.0, 300.0), ("optimum", 300.0, 500.0), ("outdated policy", 300.0, 500.0),
    ]  # fmt: skip
    assert record_levels(car_job(ex.MountainCar()), record(100, 2)) == ()


def test_a_diverged_agent_earns_nothing_that_is_known():
    setup = car_job()
    run, _ = setup.build(0)
    run.agent.weights[:] = np.nan
    assert np.isnan(evaluate_copy(simulate, setup, run, 0, 0, 2, new_control())).all()
    stopped = evaluate_copy(simulate, setup, setup.build(0)[0], 0, 0, 2, np.ones(1, np.int64))
    assert np.isnan(stopped).all()  # and has not taken a step


def test_what_cannot_be_judged_by_episodes():
    with pytest.raises(ValueError, match=r"LocaGrid: has phases.*prepare_evaluation"):
        record_run(
            Setup(ex.domains.LocaGrid(), ex.OneHot(), AGENT, steps=10), 0, simulate, simulate,
            new_control(), record(5, 1),
        )  # fmt: skip
    outside = Setup(ex.Gym("FrozenLake-v1"), ex.OneHot(), AGENT, episodes=3)
    with pytest.raises(ValueError, match="needs a domain in compiled code, got Gym"):
        load_kernel(outside, record(1, 1), None, "", Silent())
