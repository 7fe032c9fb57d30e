"""Every turn of the loop, with parts that do as they are told and write down what they are told."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from expectant.core.interfaces import Shape
from expectant.core.rng import Streams
from expectant.core.vectors import empty_state
from expectant.core.verbs import (
    act,
    encode,
    free_capacity,
    grow,
    learn,
    observation,
    outcome,
    phase,
    plan,
    relabel,
    reset,
    state_index,
    step,
    truncated,
)
from expectant.engine.driver import advance
from expectant.engine.loop import DIVERGED, DONE, FULL, STOPPED, Budget, Ranges, Run, simulate

CELLS, MANY = 20, 1000
NOBODY: Any = None
NOTHING = Streams(NOBODY, NOBODY, NOBODY, NOBODY)  # nobody draws


class Track(NamedTuple):
    """Every step goes one cell on and pays the number of that cell; phases are two episodes long.

    An episode ends in cell ``end``, and is cut off after ``cut_after`` steps.
    """

    now: np.ndarray
    end: int
    cut_after: int


@reset.register(Track)
def _(track, episode, rng):
    track.now[:] = 0, episode // 2


@step.register(Track)
def _(track, action, rng):
    track.now[0] += 1
    return float(track.now[0]), 0.0 if track.now[0] == track.end else 1.0


@truncated.register(Track)
def _(track):
    return track.now[0] == track.cut_after


@observation.register(Track)
def _(track):
    return track.now


@state_index.register(Track)
def _(track):
    return 100 + track.now[0]


@outcome.register(Track)
def _(track):
    return 7 * track.now[0]


@phase.register(Track)
def _(track):
    return track.now[1]


class Seen(NamedTuple):
    """What an agent was given to learn from."""

    here: int
    action: int
    reward: float
    there: int
    alive: float
    state_index: int
    outcome: int


class Witness(NamedTuple):
    """Takes the actions 0, 1, 0, …; ``learns`` and ``plans`` are the errors it tells of."""

    seen: list[Seen]
    phases: list[int]
    learns: float = 0.0
    plans: float = 0.0
    room: int = 1


@act.register(Witness)
def _(witness, state, rng):
    return len(witness.seen) % 2


@learn.register(Witness)
def _(witness, transition, rng):
    state, action, reward, next_state, alive, number = transition
    here, there, place = state.active[0], next_state.active[0], state.state_index[0]
    witness.seen.append(Seen(here, action, reward, there, alive, place, number))
    return witness.learns


@plan.register(Witness)
def _(witness, rng):
    return witness.plans


@relabel.register(Witness)
def _(witness, domain):
    witness.phases.append(int(domain.now[1]))


@free_capacity.register(Witness)
def _(witness):
    return witness.room


@grow.register(Witness)
def _(witness):
    return witness._replace(room=1)


class Footprints(NamedTuple):
    """Tabular features that write down which action led to which cell."""

    seen: list[tuple[int, int]]


@encode.register(Footprints)
def _(features, observation, action, state):
    features.seen.append((action, int(observation[0])))
    state.active[0] = observation[0]


def a_run(domain, agent=None, episodes=0, bins=0, bin=1) -> Run:
    """A run that has not begun."""
    state, next_state = (empty_state(Shape(CELLS, 1)) for _ in range(2))
    return Run(
        domain, Footprints([]), agent or Witness([], []), state, next_state, Ranges(2, CELLS, 0),
        np.zeros(6, np.int64), np.zeros(1),
        np.full(episodes, np.nan), np.zeros(episodes, np.int64), np.zeros(bins), bin,
    )  # fmt: skip


def track(end: int = MANY, cut_after: int = MANY) -> Track:
    return Track(np.zeros(2, np.int64), end, cut_after)


def go(
    run: Run, *, episodes: int = MANY, steps: int = MANY, limit: int = MANY, stop: int = 0
) -> int:
    return simulate(run, Budget(episodes, steps, limit), NOTHING, np.array([stop]))


def brief(agent: Witness) -> list[tuple[float, ...]]:
    """From, to, alive."""
    return [(step.here, step.there, step.alive) for step in agent.seen]


ALIVE = [(0, 1, 1), (1, 2, 1), (2, 3, 1)]


@pytest.mark.parametrize("how", [{"cut_after": 3}, {"limit": 3}])
def test_an_episode_that_is_cut_off_is_over_but_has_not_ended(how):
    limit = how.pop("limit", MANY)
    run = a_run(track(**how), episodes=2)
    assert go(run, episodes=2, limit=limit) == DONE
    assert brief(run.agent) == ALIVE * 2
    assert run.lengths.tolist() == [3, 3]
    assert run.returns.tolist() == [6.0, 6.0]


def test_an_episode_that_ends():
    run = a_run(track(end=3), episodes=2)
    assert go(run, episodes=2) == DONE
    first = [(0, 0, 1.0, 1.0, 100, 7), (1, 1, 2.0, 1.0, 101, 14), (2, 0, 3.0, 0.0, 102, 21)]
    again = [(0, 1, 1.0, 1.0, 100, 7), (1, 0, 2.0, 1.0, 101, 14), (2, 1, 3.0, 0.0, 102, 21)]
    assert [step[:3] + step[4:] for step in run.agent.seen] == first + again
    assert run.features.seen == [(-1, 0), (0, 1), (1, 2), (-1, 0), (1, 1), (0, 2)]
    assert run.lengths.tolist() == [3, 3] and run.returns.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("lost", [math.inf, math.nan])
@pytest.mark.parametrize("where", ["learns", "plans"])
def test_errors_of_learning_and_of_planning_both_count_as_divergence(where, lost):
    agent = Witness([], [], **{where: lost})
    run = a_run(track(end=3), agent, episodes=2)
    assert go(run, episodes=2) == DIVERGED
    assert len(agent.seen) == 1 and np.isnan(run.returns).all()


def test_rewards_go_to_the_bin_of_their_step():
    run = a_run(track(end=3), bins=4, bin=2)
    assert go(run, steps=7) == DONE  # pays 1, 2 | 3, 1 | 2, 3 | 1
    assert run.rewards.tolist() == [3.0, 4.0, 5.0, 1.0]
    assert run.clock.tolist()[:3] == [2, 1, 7]


def test_stored_rewards_are_relabelled_when_a_phase_begins_and_only_then():
    run = a_run(track(end=2))
    go(run, episodes=6)
    assert run.agent.phases == [1, 2]


def test_the_loop_stops_when_asked_and_when_there_is_no_room():
    run = a_run(track())
    assert go(run, stop=1) == STOPPED
    assert go(a_run(track(), Witness([], [], room=0))) == FULL
    assert run.agent.seen == []


def test_room_is_made_where_it_is_asked_for():
    full = Witness([], [], room=0)
    budget, new_control = Budget(1, MANY, MANY), np.zeros(1, np.int64)
    inside, status = advance(simulate, a_run(track(end=3), full), budget, NOTHING, new_control)
    assert status == DONE and inside.agent.room == 1 and len(full.seen) == 3


def test_a_loop_that_was_left_goes_on_where_it_was():
    whole, parts = a_run(track(end=5), episodes=4), a_run(track(end=5), episodes=4)
    go(whole, episodes=4)
    for steps in (1, 5, 6, 13, 20):
        go(parts, episodes=4, steps=steps)
    assert parts.agent.seen == whole.agent.seen
    assert parts.returns.tolist() == whole.returns.tolist() == [15.0] * 4
