"""Replay of whole pieces of experience, in the order in which they happened."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.replay import COUNT, Replay, ReplayPart, pass_on_to_replay, slot_of_age
from expectant.descriptions import description, option
from expectant.features.vector import Binary, Weighted, empty_state
from expectant.parts import Backups, Site
from expectant.rules import or_none, whole
from expectant.verbs import draw, function, load, matches

SLOT, LEFT = 0, 1


class TrajectoryPart(NamedTuple):
    """``walk`` says which slot was drawn last and how many are left to follow it.

    ``reached`` is scratch.
    """

    replay: ReplayPart
    walk: np.ndarray
    length: int
    reached: Binary | Weighted


pass_on_to_replay(TrajectoryPart)


@function
def slot_after(backups, slot):
    """The slot of the transition that went on where this one ended, −1 if there is none.

    What is stored next goes on from here only if the episode neither ended nor was cut off in
    between; a cut-off shows in the state that comes next being another one.
    """
    replay, reached = backups.replay, backups.reached
    if slot == slot_of_age(replay, 0) or replay.alive[slot] == 0.0:
        return -1
    after = slot + 1 if slot + 1 < replay.actions.shape[0] else 0
    load(replay.next_states, slot, reached)
    return after if matches(replay.states, after, reached) else -1


@draw.register(TrajectoryPart)
def _(backups, state, rng):
    replay, walk, slot = backups.replay, backups.walk, -1
    if walk[LEFT] > 0:
        slot = slot_after(backups, walk[SLOT])
    if slot >= 0:
        walk[LEFT] -= 1
    else:
        slot = int(rng.random() * replay.counters[COUNT])
        walk[LEFT] = backups.length - 1
    walk[SLOT] = slot
    load(replay.states, slot, state)
    return slot


@description
class Trajectory(Backups):
    """Walk along stored experience: from a random transition ``length`` transitions onwards.

    A walk ends early where its episode did, and at the newest transition; then another one begins
    anywhere in the last ``capacity`` transitions (None: all). Replayed fits are draws too and move
    along the same walk.
    """

    stores_transitions: ClassVar[bool] = True

    length: int = option(whole(1), default=10)
    capacity: int | None = option(or_none(whole(1)), default=1000)

    def build(self, site: Site) -> TrajectoryPart:
        return TrajectoryPart(
            Replay(self.capacity).build(site),
            np.zeros(2, np.int64),
            self.length,
            empty_state(site.shape),
        )
