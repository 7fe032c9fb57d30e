"""Lessons first, planning afterwards: an agent that learns for a while, and then only plans.

That is how planning itself is measured: with models as they are by then, and nothing new.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.verbs import (
    act,
    begin,
    break_off,
    followed,
    grown,
    learn,
    plan,
    policy,
    preference,
    relabel,
    room,
    wrapped,
)


class LessonsPart(NamedTuple):
    """``agent`` learns for ``lessons`` real steps, then plans; ``taken`` (1,) counts steps."""

    agent: object
    lessons: int
    taken: np.ndarray


@act.register(LessonsPart)
def _(taught, state, rng):
    return act(taught.agent, state, rng)


@learn.register(LessonsPart)
def _(taught, transition, rng):
    taught.taken[0] += 1
    if taught.taken[0] > taught.lessons:
        return 0.0
    return learn(taught.agent, transition, rng)


@plan.register(LessonsPart)
def _(taught, rng):
    return plan(taught.agent, rng) if taught.taken[0] > taught.lessons else 0.0


@preference.register(LessonsPart)
def _(taught, state, action):
    return preference(taught.agent, state, action)


@policy.register(LessonsPart)
def _(taught, state, probabilities):
    policy(taught.agent, state, probabilities)


@relabel.register(LessonsPart)
def _(taught, domain):
    relabel(taught.agent, domain)


@begin.register(LessonsPart)
def _(taught, state, rng):
    begin(taught.agent, state, rng)


@break_off.register(LessonsPart)
def _(taught, state, rng):
    break_off(taught.agent, state, rng)


@room.register(LessonsPart)
def _(taught):
    return room(taught.agent)


@grown.register(LessonsPart)
def _(taught):
    return taught._replace(agent=grown(taught.agent))


@wrapped.register(LessonsPart)
def _(taught):
    return wrapped(taught.agent)


@followed.register(LessonsPart)
def _(taught):
    return followed(taught.agent)


def with_lessons(agent: object, lessons: int) -> object:
    """The same agent, taught for so many steps before it plans; without lessons, itself."""
    return LessonsPart(agent, lessons, np.zeros(1, np.int64)) if lessons else agent
