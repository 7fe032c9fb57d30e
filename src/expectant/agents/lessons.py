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
    pass_on,
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


pass_on(
    LessonsPart,
    "agent",
    act,
    preference,
    policy,
    relabel,
    begin,
    break_off,
    room,
    grown,
    wrapped,
    followed,
)


@learn.register(LessonsPart)
def _(taught, transition, rng):
    taught.taken[0] += 1
    if taught.taken[0] > taught.lessons:
        return 0.0
    return learn(taught.agent, transition, rng)


@plan.register(LessonsPart)
def _(taught, rng):
    return plan(taught.agent, rng) if taught.taken[0] > taught.lessons else 0.0


def with_lessons(agent: object, lessons: int) -> object:
    """The same agent, taught for so many steps before it plans; without lessons, itself."""
    return LessonsPart(agent, lessons, np.zeros(1, np.int64)) if lessons else agent
