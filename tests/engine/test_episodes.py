"""Agents, models and backups are told when an episode begins and when it is cut off."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import expectant as ex
from expectant.core.verbs import (
    act,
    begin,
    learn,
    observation,
    on_truncation,
    preference,
    reset,
    step,
    truncated,
)

BEGIN, BREAK_OFF, ACT, LEARN = 1, 2, 3, 4


class RowPart(NamedTuple):
    """Walks to the right through ``cells`` cells; cuts its own episode off at ``breaks``."""

    cell: np.ndarray
    cells: int
    breaks: int


@reset.register(RowPart)
def _(row, episode, rng):
    row.cell[0] = 0


@step.register(RowPart)
def _(row, action, rng):
    row.cell[0] += 1
    if row.cell[0] == row.cells:
        return 1.0, 0.0
    return 0.0, 1.0


@observation.register(RowPart)
def _(row):
    return row.cell


@truncated.register(RowPart)
def _(row):
    return row.cell[0] == row.breaks


class Row(ex.Domain):
    cells: int = ex.parameter(ex.rules.whole(1), default=3)
    breaks: int = ex.parameter(ex.rules.whole(0), default=0)
    actions = 1
    states = property(lambda self: self.cells)

    def build(self, rng):
        return RowPart(np.zeros(1, np.int64), self.cells, self.breaks)


class DiaryPart(NamedTuple):
    """``page`` (n, 2): what the agent was told, and in which state; ``line`` (1,) the next one."""

    page: np.ndarray
    line: np.ndarray


def note(agent, what, state):
    agent.page[agent.line[0], 0] = what
    agent.page[agent.line[0], 1] = state.active[0]
    agent.line[0] += 1


note = ex.extend.function(note)


@begin.register(DiaryPart)
def _(agent, state, rng):
    note(agent, BEGIN, state)


@on_truncation.register(DiaryPart)
def _(agent, state, rng):
    note(agent, BREAK_OFF, state)


@act.register(DiaryPart)
def _(agent, state, rng):
    note(agent, ACT, state)
    return 0


@preference.register(DiaryPart)
def _(agent, state, action):
    return 0.0


@learn.register(DiaryPart)
def _(agent, transition, rng):
    note(agent, LEARN, transition.state)
    return 0.0


class Diary(ex.Agent):
    def build(self, context):
        return DiaryPart(np.zeros((200, 2), np.int64), np.zeros(1, np.int64))


def told(domain: Any, compiled: bool, **options: Any) -> list[tuple[int, int]]:
    result = ex.run(
        domain, ex.OneHot(), Diary(), runs=1, compiled=compiled, keep_agents=True, progress=False,
        **options,
    )  # fmt: skip
    agent = result.kept[0][0].agent
    return [tuple(row) for row in agent.page[: agent.line[0]].tolist()]


WHOLE = [(BEGIN, 0), (ACT, 0), (LEARN, 0), (ACT, 1), (LEARN, 1), (ACT, 2), (LEARN, 2)]
SHORT = [(BEGIN, 0), (ACT, 0), (LEARN, 0), (ACT, 1), (LEARN, 1), (BREAK_OFF, 2)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("domain", "options", "expected"), [
    (Row(), {"episodes": 2}, WHOLE * 2),
    (Row(), {"episodes": 2, "step_limit": 2}, SHORT * 2),
    (Row(breaks=2), {"episodes": 2}, SHORT * 2),
    (Row(), {"steps": 5}, WHOLE + SHORT[:-1]),
], ids=["ended", "limit", "cut", "budget"])  # fmt: skip
def test_the_order_in_which_an_agent_is_told(domain, options, expected, compiled):
    assert told(domain, compiled, **options) == expected


def test_a_domain_that_cuts_off_and_ends_at_once_has_ended():
    assert told(Row(cells=2, breaks=2), False, episodes=1)[-1] == (LEARN, 1)
