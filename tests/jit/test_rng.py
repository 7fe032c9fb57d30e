"""The world, acting, planning and building draw from generators of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import expectant as ex
from expectant.core.interfaces import Agent, BuildContext
from expectant.core.rng import evaluation_streams, generator, run_streams
from expectant.core.verbs import act, learn, plan, preference
from expectant.engine.driver import drive, new_control
from expectant.engine.learner_file import states_of
from expectant.engine.loop import simulate
from expectant.engine.setup import Setup

SLIPPERY = ex.Corridor(cells=5, slip=0.3, switch_every=7)
OPTIONS: Any = {"episodes": 30, "runs": 2, "compiled": False, "progress": False}


class SpendthriftPart(NamedTuple):
    """Acts at random, or goes right, and draws more than it needs when acting and learning."""

    acting: int
    learning: int
    right: bool


@act.register(SpendthriftPart)
def _(agent, state, rng):
    action = 1 if agent.right else int(rng.random() * 2)
    for _ in range(agent.acting):
        rng.random()
    return action


@learn.register(SpendthriftPart)
def _(agent, transition, rng):
    for _ in range(agent.learning):
        rng.random()
    return 0.0


@plan.register(SpendthriftPart)
def _(agent, rng):
    for _ in range(agent.learning):
        rng.normal()
    return 0.0


@preference.register(SpendthriftPart)
def _(agent, state, action):
    return 0.0


class Spendthrift(Agent):
    acting: int = 0
    learning: int = 0
    right: bool = False

    def build(self, context: BuildContext) -> SpendthriftPart:
        return SpendthriftPart(self.acting, self.learning, self.right)


def always_right(drawn: int) -> Spendthrift:
    return Spendthrift(drawn, drawn, True)


def outcome(agent: Any, features: Any = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    found = ex.run(SLIPPERY, features or ex.OneHot(), agent, **{**OPTIONS, **options})
    return found.returns, found.lengths


@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(8, 3)], ids=["one", "many"])
def test_with_the_same_actions_two_agents_see_the_same_world(features):
    """However much one of them draws, and whatever is drawn to build its features."""
    one, other = (outcome(always_right(drawn), features) for drawn in (0, 3))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, outcome(always_right(0), ex.OneHot()))


def test_learning_and_planning_do_not_disturb_acting():
    np.testing.assert_array_equal(outcome(Spendthrift(0, 0)), outcome(Spendthrift(0, 4)))
    assert not np.array_equal(outcome(Spendthrift(0, 0)), outcome(Spendthrift(1, 0)))


def test_only_the_streams_that_are_drawn_from_move_on():
    ends = []
    for drawn in (0, 2):
        (end,) = drive(
            Setup(SLIPPERY, ex.OneHot(), always_right(drawn), episodes=30),
            0,
            simulate,
            new_control(),
        )
        ends.append(states_of(end.streams))
    assert ends[0]["world"] == ends[1]["world"]
    assert ends[0]["building"] == ends[1]["building"]
    assert ends[0]["acting"] != ends[1]["acting"] and ends[0]["planning"] != ends[1]["planning"]


@pytest.mark.parametrize("steps", [0, 5])
def test_a_sample_model_draws_from_the_planning_stream_alone(steps):
    setup = Setup(
        SLIPPERY,
        ex.OneHot(),
        ex.QPlanning.paper(0.1, model="sample", planning_steps=steps),
        episodes=30,
    )
    (end,) = drive(setup, 0, simulate, new_control())
    assert end.run.agent.planner.model.rng is end.streams.planning
    fresh = states_of(run_streams(0, 0))["planning"]
    assert (states_of(end.streams)["planning"] == fresh) == (steps == 0)


def test_every_stream_has_numbers_of_its_own():
    found = [
        rng.random()
        for streams in (run_streams(0, 0), run_streams(0, 1), evaluation_streams(0, 0))
        for rng in streams.by_name().values()
    ]
    assert len(set(found)) == len(found)
    assert generator(0, 0).random() == found[3]  # what is built is drawn from the run's own


def test_generators_of_different_runs_share_no_cache_line():
    """What a generator writes to, less than 64 bytes, lies in its object; cores fetch 128."""
    alive = [run_streams(0, number) for number in range(20)]
    rngs = [rng for streams in alive for rng in streams.by_name().values()]
    spots = sorted(rng.bit_generator.ctypes.state_address for rng in rngs)
    assert len(spots) == 80 and min(np.diff(spots)) >= 128 + 64
