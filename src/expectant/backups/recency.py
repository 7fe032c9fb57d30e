"""Replay that prefers recent transitions, for worlds and policies that change."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

from expectant.backups.base import Backups
from expectant.backups.replay import COUNT, Replay, ReplayPart, pass_on_to_replay, slot_of_age
from expectant.descriptions import Setting, description, setting
from expectant.rules import at_least, or_none, whole
from expectant.verbs import draw, function, load


class RecencyPart(NamedTuple):
    """A replay, and the natural logarithm of the factor between neighbouring weights (< 0)."""

    replay: ReplayPart
    log_factor: float


pass_on_to_replay(RecencyPart)


@function
def geometric_age(log_factor, count, uniform):
    """Invert the distribution function of a geometric age below ``count``.

    P(age < n) = (1 − qⁿ) / (1 − q^count), so the age is ⌊log(1 − u (1 − q^count)) / log q⌋. The
    forms for small arguments keep it right where q is almost 1, that is where it is uniform.
    """
    age = int(math.log1p(uniform * math.expm1(log_factor * count)) / log_factor)
    return age if age < count else count - 1  # rounding may reach count itself


@draw.register(RecencyPart)
def _(backups, state, rng):
    replay = backups.replay
    age = geometric_age(backups.log_factor, replay.counters[COUNT], rng.random())
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

    capacity: int | None = setting(or_none(whole(1)), default=1000)
    halflife: float = setting(at_least(1.0), default=100.0)

    def build(self, setting: Setting) -> RecencyPart:
        return RecencyPart(Replay(self.capacity).build(setting), -math.log(2.0) / self.halflife)
