"""The one driver of the loop, in plain Python."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hall_env import HallEnv

import expectant as ex
from expectant.core import tree
from expectant.engine.driver import drive, new_control
from expectant.engine.learner_file import states_of
from expectant.engine.loop import DIVERGED, DONE, EPISODE, STEPS, respond, simulate
from expectant.engine.setup import Setup

FIVE = ex.Corridor(cells=5, slip=0.2, switch_every=3)
GROWING = ex.Lookahead.paper(0.1, 0.1, planning_steps=1, replay_capacity=None)


def job_of(domain: Any = FIVE, agent: Any = GROWING, episodes=0, steps=0, features=None) -> Setup:
    return Setup(domain, features or ex.OneHot(), agent, episodes=episodes, steps=steps)


def bits(stop) -> list[Any]:
    return [
        states_of(stop.streams),
        *((name, array.tobytes()) for name, array in tree.arrays(stop.run)),
    ]


@pytest.mark.parametrize(
    ("length", "stops"),
    [({"episodes": 40}, [0, 1, 1, 17, 40]), ({"steps": 300}, np.array([0, 7, 260, 300]))],
    ids=["episodes", "steps"],
)
def test_stops_change_nothing(length, stops):
    setup, counter = job_of(**length), EPISODE if "episodes" in length else STEPS
    passed, last = [], None
    for stop in drive(setup, 3, simulate, new_control(), stops):
        assert stop.status == DONE
        passed.append(int(stop.run.clock[counter]))
        last = stop
    assert passed == list(stops)
    (end,) = drive(setup, 3, simulate, new_control())
    assert bits(last) == bits(end)


def test_nothing_has_happened_at_0_and_nothing_does_after_the_last_stop():
    course = drive(job_of(episodes=40), 0, simulate, new_control(), (0, 5))
    fresh, streams = job_of(episodes=40).build(0)
    start = next(course)
    assert bits(start) == bits(start._replace(run=fresh, streams=streams))
    assert next(course).run.clock[EPISODE] == 5
    assert next(course, None) is None


def test_a_run_that_diverges_is_yielded_once_more():
    setup = job_of(agent=ex.QLearning.paper(1e200), episodes=100)
    with np.errstate(all="ignore"):
        found = list(drive(setup, 0, simulate, new_control(), range(0, 101, 10)))
    assert [stop.status for stop in found] == [DONE] * (len(found) - 1) + [DIVERGED]
    assert len(found) < 11


# ------------------------------------------------------------------------------ worlds outside


class Noted(HallEnv):
    made: ClassVar[list[HallEnv]] = []

    def __init__(self) -> None:
        super().__init__()
        Noted.made.append(self)


OUTSIDE = job_of(ex.Gym(Noted), ex.QLearning.paper(0.2), episodes=12)


def test_a_world_outside_stops_between_episodes_and_is_closed():
    *_, last = drive(OUTSIDE, 0, respond, new_control(), (0, 1, 7, 12))
    assert Noted.made[-1].closed
    (end,) = drive(OUTSIDE, 0, respond, new_control())
    assert bits(last) == bits(end)


def test_a_world_is_closed_where_somebody_stops_looking():
    course = drive(OUTSIDE, 0, respond, new_control(), (3, 12))
    next(course)
    assert not Noted.made[-1].closed
    course.close()
    assert Noted.made[-1].closed
