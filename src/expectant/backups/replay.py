"""Experience replay: plan from stored transitions, all alike."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.memory import zeros
from expectant.descriptions import description, option
from expectant.features.vector import BinaryTable, WeightedTable, empty_table
from expectant.parts import Backups, Site, narrowest
from expectant.rules import or_none, whole
from expectant.verbs import (
    draw,
    function,
    grown,
    load,
    load_successor,
    pass_on,
    relabel,
    remember,
    reward_now,
    room,
    save,
    stored,
)

COUNT, NEXT = 0, 1
FIRST_ROOM = 4096


class ReplayPart(NamedTuple):
    """The latest transitions; ``counters`` says how many there are and which slot is next."""

    states: BinaryTable | WeightedTable
    next_states: BinaryTable | WeightedTable
    actions: np.ndarray
    rewards: np.ndarray
    alive: np.ndarray
    outcomes: np.ndarray
    counters: np.ndarray
    limited: bool


@function
def slot_of_age(replay, age):
    """Where the transition is that was stored ``age`` transitions before the newest."""
    slot = replay.counters[NEXT] - 1 - age
    return slot if slot >= 0 else slot + replay.actions.shape[0]


@remember.register(ReplayPart)
def _(replay, transition):
    counters, capacity = replay.counters, replay.actions.shape[0]
    slot = counters[NEXT]
    save(replay.states, slot, transition.state)
    save(replay.next_states, slot, transition.next_state)
    replay.actions[slot] = transition.action
    replay.rewards[slot] = transition.reward
    replay.alive[slot] = transition.alive
    replay.outcomes[slot] = transition.outcome
    counters[NEXT] = slot + 1 if slot + 1 < capacity else 0
    if counters[COUNT] < capacity:
        counters[COUNT] += 1


@draw.register(ReplayPart)
def _(replay, state, rng):
    slot = int(rng.random() * replay.counters[COUNT])
    load(replay.states, slot, state)
    return slot


@stored.register(ReplayPart)
def _(replay, slot):
    # compiled, int() alone would leave the action as narrow as it is, for others to compile twice
    action = int(replay.actions[slot]) + 0
    return action, replay.rewards[slot], float(replay.alive[slot])


@load_successor.register(ReplayPart)
def _(replay, slot, state):
    load(replay.next_states, slot, state)


@relabel.register(ReplayPart)
def _(replay, domain):
    for slot in range(replay.counters[COUNT]):
        replay.rewards[slot] = reward_now(domain, replay.outcomes[slot])


@room.register(ReplayPart)
def _(replay):
    if replay.limited:
        return 1
    return replay.actions.shape[0] - replay.counters[COUNT]


@grown.register(ReplayPart)
def _(replay):
    """Twice the room; only an unlimited replay ever asks, and it has not wrapped around."""

    return replay._replace(
        states=replay.states._make(map(_longer, replay.states)),
        next_states=replay.next_states._make(map(_longer, replay.next_states)),
        actions=_longer(replay.actions),
        rewards=_longer(replay.rewards),
        alive=_longer(replay.alive),
        outcomes=_longer(replay.outcomes),
        counters=np.array([replay.counters[COUNT], replay.counters[COUNT]]),
    )


def _longer(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, np.zeros_like(array)])


@description
class Replay(Backups):
    """Uniform over the last ``capacity`` real transitions, the newest included (None: over all)."""

    memory_advice: ClassVar[str] = "a smaller replay capacity"
    stores_transitions: ClassVar[bool] = True

    capacity: int | None = option(or_none(whole(1)), default=1000)

    def build(self, site: Site) -> ReplayPart:
        slots = self.capacity or FIRST_ROOM
        return ReplayPart(
            empty_table(site.shape, slots, _places(site)),
            empty_table(site.shape, slots, _places(site)),
            zeros(slots, narrowest(site.actions - 1)),
            zeros(slots),
            zeros(slots, np.int8),
            zeros(slots, np.int64),
            np.zeros(2, np.int64),
            self.capacity is not None,
        )


def _places(site: Site) -> int:
    """How many states the domain numbers; where it numbers none, no vector has a place."""
    return site.domain.states or 1


def pass_on_to_replay(part_type: type) -> None:
    """Let the ``replay`` inside a part store transitions for it; only drawing is its own."""
    pass_on(part_type, "replay", remember, stored, load_successor, relabel, room, grown)
