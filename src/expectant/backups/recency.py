"""Replay that prefers recent transitions, for worlds and policies that change."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from expectant.backups.replay import COUNT, Replay, ReplayPart, pass_on_to_replay, slot_of_age
from expectant.descriptions import description, option
from expectant.parts import Backups, Site
from expectant.rules import at_least, or_none, whole
from expectant.verbs import draw, load, remember


class RecencyPart(NamedTuple):
    """A replay whose weights fall by the factor q with age.

    ``log_factor`` is log q < 0; ``mass`` (1,) is q^count − 1, kept because it is slow to compute.
    """

    replay: ReplayPart
    log_factor: float
    mass: np.ndarray


pass_on_to_replay(RecencyPart)


@remember.register(RecencyPart)
def _(backups, transition):
    remember(backups.replay, transition)
    backups.mass[0] = math.expm1(backups.log_factor * backups.replay.counters[COUNT])


@draw.register(RecencyPart)
def _(backups, state, rng):
    """P(age < n) = (1 − qⁿ) / (1 − q^count) inverted: ⌊log(1 − u (1 − q^count)) / log q⌋.

    The forms for small arguments keep it right where q is almost 1 and all ages alike.
    """
    replay = backups.replay
    age = int(math.log1p(rng.random() * backups.mass[0]) / backups.log_factor)
    if age >= replay.counters[COUNT]:  # by rounding
        age = replay.counters[COUNT] - 1
    slot = slot_of_age(replay, age)
    load(replay.states, slot, state)
    return slot


@description
class RecencyReplay(Backups):
    """Over the last ``capacity`` transitions (None: all), weights halving every ``halflife``.

    The newest transition is the most likely one; one that is ``halflife`` transitions older is
    drawn half as often.
    """

    stores_transitions: ClassVar[bool] = True

    capacity: int | None = option(or_none(whole(1)), default=1000)
    halflife: float = option(at_least(1.0), default=100.0)

    def build(self, site: Site) -> RecencyPart:
        replay, log_factor = Replay(self.capacity).build(site), -math.log(2.0) / self.halflife
        return RecencyPart(replay, log_factor, np.zeros(1))
