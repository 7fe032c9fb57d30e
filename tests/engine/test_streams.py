"""The world, acting, planning and building draw from generators of their own."""

from __future__ import annotations

import copy
import ctypes
from typing import Any, NamedTuple

import numpy as np
import pytest

import expectant as ex
from expectant.descriptions import description
from expectant.engine.course import drive, going_on
from expectant.engine.job import Job, loop_for
from expectant.engine.learner.learner_facts import states_of
from expectant.engine.loop import simulate
from expectant.parts import Agent, Site
from expectant.progress import Silent
from expectant.seeds import Streams, evaluation_streams, generator, streams_of
from expectant.verbs import act, learn, plan, preference

SLIPPERY = ex.Corridor(cells=5, slip=0.3, switch_every=7)
OPTIONS: Any = {"episodes": 30, "runs": 2, "compiled": False, "progress": False}


class SpendthriftPart(NamedTuple):
    """Acts at random, with ``wasted`` draws more at every decision and whenever it learns."""

    acting: int
    learning: int


@act.register(SpendthriftPart)
def _(agent, state, rng):
    action = int(rng.random() * 2)
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


@description
class Spendthrift(Agent):
    acting: int = 0
    learning: int = 0

    def build(self, site: Site) -> SpendthriftPart:
        return SpendthriftPart(self.acting, self.learning)


class AlwaysRightPart(NamedTuple):
    drawn: int


@act.register(AlwaysRightPart)
def _(agent, state, rng):
    for _ in range(agent.drawn):
        rng.random()
    return 1


@learn.register(AlwaysRightPart)
def _(agent, transition, rng):
    for _ in range(agent.drawn):
        rng.random()
    return 0.0


@preference.register(AlwaysRightPart)
def _(agent, state, action):
    return float(action)


@description
class AlwaysRight(Agent):
    drawn: int = 0

    def build(self, site: Site) -> AlwaysRightPart:
        return AlwaysRightPart(self.drawn)


def outcome(agent: Any, features: Any = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    found = ex.run(SLIPPERY, features or ex.OneHot(), agent, **{**OPTIONS, **options})
    return found.returns, found.lengths


@pytest.mark.parametrize("features", [ex.OneHot(), ex.RandomBinary(8, 3)], ids=["one", "many"])
def test_with_the_same_actions_two_agents_see_the_same_world(features):
    """However much one of them draws, and whatever is drawn to build its features."""
    one, other = (outcome(AlwaysRight(drawn), features) for drawn in (0, 3))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, outcome(AlwaysRight(0), ex.OneHot()))


def test_learning_and_planning_do_not_disturb_acting():
    np.testing.assert_array_equal(outcome(Spendthrift(0, 0)), outcome(Spendthrift(0, 4)))
    assert not np.array_equal(outcome(Spendthrift(0, 0)), outcome(Spendthrift(1, 0)))


def test_planning_of_an_agent_that_learns_nothing_changes_no_action():
    """Ties are broken and explored by the same numbers, with and without backups."""
    one, other = (outcome(ex.CachedValues(0.0, 0.0, 0.0, planning_steps=steps)) for steps in (0, 5))
    np.testing.assert_array_equal(one, other)


def test_only_the_streams_that_are_drawn_from_move_on():
    """Only the streams that are drawn from move on."""
    ends = []
    for drawn in (0, 2):
        (end,) = drive(
            Job(SLIPPERY, ex.OneHot(), AlwaysRight(drawn), episodes=30), 0, simulate, going_on()
        )
        ends.append(states_of(end.streams))
    assert ends[0]["world"] == ends[1]["world"]
    assert ends[0]["building"] == ends[1]["building"]
    assert ends[0]["acting"] != ends[1]["acting"] and ends[0]["planning"] != ends[1]["planning"]


def test_a_first_episode_is_shared_by_different_agents():
    """Until values differ, what they do and what happens to them is the same."""
    agents = [
        ex.QLearning(0.1),
        ex.QPlanning(0.1, model="true", planning_steps=5),
        ex.Lookahead(0.1, 0.1, planning_steps=5),
        ex.CachedValues(0.1, 0.1, 0.1, planning_steps=5),
    ]
    firsts = []
    for agent in agents:
        (end,) = drive(Job(SLIPPERY, ex.OneHot(), agent, steps=1), 0, simulate, going_on())
        firsts.append((int(end.run.state.place[0]), states_of(end.streams)["world"]))
    assert all(first == firsts[0] for first in firsts)


@pytest.mark.parametrize("steps", [0, 5])
def test_a_sample_model_draws_from_the_planning_stream_alone(steps):
    job = Job(
        SLIPPERY, ex.OneHot(), ex.QPlanning(0.1, model="sample", planning_steps=steps), episodes=30
    )
    (end,) = drive(job, 0, simulate, going_on())
    assert end.run.agent.planner.model.rng is end.streams.planning
    fresh = states_of(streams_of(0, 0))["planning"]
    assert (states_of(end.streams)["planning"] == fresh) == (steps == 0)


def test_compiled_runs_leave_every_stream_where_plain_ones_do():
    agent = ex.Lookahead(0.1, 0.1, planning_steps=2)
    job, ends = Job(ex.Corridor(slip=0.2), ex.RandomBinary(14, 5), agent, episodes=30), []
    for kernel in (loop_for(job, True, "", Silent()), simulate):
        (end,) = drive(job, 1, kernel, going_on())
        ends.append((states_of(end.streams), end.run.returns.tolist()))
    assert ends[0] == ends[1]
    fresh = states_of(streams_of(0, 1))
    assert {name for name, state in ends[0][0].items() if state != fresh[name]} == {
        "world",
        "acting",
        "planning",
        "building",
    }


def test_copies_of_streams_have_addresses_of_their_own():
    streams = streams_of(3, 4)
    addresses = list((ctypes.c_size_t * 3).from_address(streams.address))
    assert len(set(addresses)) == 3
    again = copy.deepcopy(streams)
    assert again.address != streams.address
    assert streams.world.random() == again.world.random()  # the same place, moved apart
    assert streams.world.random() != again.acting.random()
    assert states_of(streams) != states_of(again)


def test_every_stream_has_numbers_of_its_own():
    found = [
        rng.random()
        for streams in (streams_of(0, 0), streams_of(0, 1), evaluation_streams(0, 0))
        for rng in streams.named().values()
    ]
    assert len(set(found)) == len(found)
    assert generator(0, 0).random() == found[3]  # what is built is drawn from the run's own


def test_generators_of_different_runs_share_no_cache_line():
    """What a generator writes to, less than 64 bytes, lies in its object; cores fetch 128."""
    alive = [streams_of(0, number) for number in range(20)]
    rngs = [rng for streams in alive for rng in streams.named().values()]
    spots = sorted(rng.bit_generator.ctypes.state_address for rng in rngs)
    assert len(spots) == 80 and min(np.diff(spots)) >= 128 + 64


def test_streams_without_generators_cannot_be_passed_on():
    nothing: Any = None
    with pytest.raises(AttributeError):
        _ = Streams(nothing, nothing, nothing, nothing).address
