"""What agents tell their backup distribution of every update, which prioritized sweeping relies on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from backups.weighted import Values
from building import Built

import expectant as ex
from expectant.core.vectors import dense, dot, empty_state
from expectant.core.verbs import (
    back_up,
    copy,
    draw,
    learn,
    on_action_priority,
    on_priority,
    remember,
)


class NotebookPart(NamedTuple):
    """Draws the state that was remembered last; ``told`` has (vector, moved, left)."""

    state: object
    told: list[tuple[list[float], float, float]]


@remember.register(NotebookPart)
def _(notebook, transition):
    copy(notebook.state, transition.state)


@draw.register(NotebookPart)
def _(notebook, state, rng):
    copy(state, notebook.state)
    return -1


@on_priority.register(NotebookPart)
def _(notebook, state, moved, left):
    notebook.told.append((dense(state, 7).tolist(), float(moved), float(left)))


class Notebook(ex.Backups):
    def build(self, context):
        return NotebookPart(empty_state(context.shape), [])


AGENTS = {
    "lookahead": ex.Lookahead.paper(0.25, 0.0, backups=Notebook()),
    "maintained": ex.Lookahead.paper(0.25, 0.0, model="cached_lookahead", backups=Notebook()),
    "cached_values": ex.CachedValues.paper(0.25, 0.5, 0.0, backups=Notebook()),
    "cached_policy": ex.CachedPolicy.paper(0.25, 0.5, 0.0, backups=Notebook()),
    "q_planning": ex.QPlanning.paper(0.25, 0.0, backups=Notebook()),
}


def value_of(agent, state):
    """v̂(s), or q̂(s, 1): the action that is taken, and with one action the only one."""
    weights = agent.weights
    return dot(state, weights if weights.ndim == 1 else weights[-1])


@pytest.mark.parametrize("name", AGENTS)
def test_a_real_update_is_told_with_how_far_it_moved_and_what_is_left(name):
    built = Built(ex.Corridor(), Values(), AGENTS[name])
    state, agent = built.state(3), built.agent
    agent.weights[...] = 0.5
    before = value_of(agent, state)
    learn(agent, built.transition(3, 1, 10.0, None), built.rng)
    moved, error = value_of(agent, state) - before, 10.0 - before
    left = error if name == "q_planning" else error - moved  # other actions may be as wrong
    ((vector, told_moved, told_left),) = agent.planner.backups.told
    assert vector == dense(state, 7).tolist()
    assert (told_moved, told_left) == pytest.approx((moved, left))
    assert 0.01 < moved < 0.99 * error


@pytest.mark.parametrize("name", AGENTS)
def test_a_planned_update_is_told_in_the_same_way(name):
    one_action = ex.FiniteMDP(np.full((9, 1, 10), 0.1), np.zeros((9, 1)))
    built = Built(one_action, Values(), AGENTS[name])
    state, agent = built.state(3), built.agent
    agent.weights[...] = 0.5
    before = value_of(agent, state)
    back_up(agent, state, -1, 1.0, built.rng)  # an empty model: the target is 0
    moved, error = value_of(agent, state) - before, -before
    left = error if name == "q_planning" else error - moved
    ((vector, told_moved, told_left),) = agent.planner.backups.told
    assert vector == dense(state, 7).tolist()
    assert (told_moved, told_left) == pytest.approx((moved, left))
    assert abs(moved) > 0.001


class LedgerPart(NamedTuple):
    """As a notebook, for updates of actions: ``told`` has (action, moved, error, discount)."""

    state: object
    told: list[tuple[int, float, float, float]]


@remember.register(LedgerPart)
def _(ledger, transition):
    copy(ledger.state, transition.state)


@draw.register(LedgerPart)
def _(ledger, state, rng):
    copy(state, ledger.state)
    return -1


@on_action_priority.register(LedgerPart)
def _(ledger, weights, state, action, moved, error, discount):
    ledger.told.append((action, float(moved), float(error), discount))


class Ledger(ex.Backups):
    def build(self, context):
        return LedgerPart(empty_state(context.shape), [])


def test_an_update_of_an_action_is_told_with_its_error_and_the_agents_discount():
    """One-hot features: a step of a quarter moves the value by a quarter of its error."""
    agent = ex.QPlanning.paper(0.25, 0.0, discount=0.5, backups=Ledger())
    built = Built(ex.Corridor(), ex.OneHot(), agent)
    built.agent.weights[1, 4] = 6.0
    learn(built.agent, built.transition(3, 1, 1.0, 4), built.rng)  # 1 + 0.5 · 6
    assert built.agent.planner.backups.told == [(1, 1.0, 4.0, 0.5)]
    built.agent.weights[:, 3] = 8.0
    back_up(built.agent, built.state(3), -1, 0.5, built.rng)  # an empty model: the target is 0
    (_, (action, *numbers)) = built.agent.planner.backups.told
    assert numbers == [-2.0, -8.0, 0.5]
    assert built.agent.weights[action, 3] == 6.0
