"""Experience replay: stored transitions, drawn uniformly, by recency or in order."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from expectant.core import tree, verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Backups, BuildContext, model_fits_parameter, smallest_int_type
from expectant.core.memory import zeros
from expectant.core.rules import at_least, or_none, whole
from expectant.core.vectors import Table, Vector, empty_state, empty_table
from expectant.core.verbs import delegate, function

COUNT, NEXT = 0, 1
INITIAL_CAPACITY = 4096


class ReplayPart(NamedTuple):
    """A ring of the latest transitions; ``counters`` (2,) is their number and the next slot."""

    states: Table
    next_states: Table
    actions: np.ndarray
    rewards: np.ndarray
    alive: np.ndarray
    outcomes: np.ndarray
    counters: np.ndarray
    limited: bool


@function
def slot_of_age(replay, age):
    """Slot of the transition stored ``age`` transitions before the newest."""
    slot = replay.counters[NEXT] - 1 - age
    return slot if slot >= 0 else slot + replay.actions.shape[0]


@verbs.remember.register(ReplayPart)
def _(replay, transition):
    counters, capacity = replay.counters, replay.actions.shape[0]
    slot = counters[NEXT]
    verbs.save(replay.states, slot, transition.state)
    verbs.save(replay.next_states, slot, transition.next_state)
    replay.actions[slot] = transition.action
    replay.rewards[slot] = transition.reward
    replay.alive[slot] = transition.alive
    replay.outcomes[slot] = transition.outcome
    counters[NEXT] = slot + 1 if slot + 1 < capacity else 0
    if counters[COUNT] < capacity:
        counters[COUNT] += 1


@verbs.draw.register(ReplayPart)
def _(replay, state, rng):
    slot = int(rng.random() * replay.counters[COUNT])
    verbs.load(replay.states, slot, state)
    return slot


@verbs.stored_transition.register(ReplayPart)
def _(replay, slot):
    # + 0 widens the action to int64, so that callers are not compiled for narrow integers too
    action = int(replay.actions[slot]) + 0
    return action, replay.rewards[slot], float(replay.alive[slot])


@verbs.load_successor.register(ReplayPart)
def _(replay, slot, state):
    verbs.load(replay.next_states, slot, state)


@verbs.relabel.register(ReplayPart)
def _(replay, domain):
    for slot in range(replay.counters[COUNT]):
        replay.rewards[slot] = verbs.reward_now(domain, replay.outcomes[slot])


@verbs.free_capacity.register(ReplayPart)
def _(replay):
    if replay.limited:
        return 1
    return replay.actions.shape[0] - replay.counters[COUNT]


@verbs.grow.register(ReplayPart)
def _(replay):
    """Double the capacity of an unlimited replay, which has not wrapped around."""
    doubled = {id(array): np.concatenate([array, np.zeros_like(array)])
               for _, array in tree.arrays(replay)}  # fmt: skip
    return tree.replace(replay, doubled)._replace(counters=np.full(2, replay.counters[COUNT]))


class ReplayBackups(Backups, abstract=True):
    """Base of distributions over a ring of the last ``capacity`` transitions."""

    memory_advice: ClassVar[str] = "a smaller replay capacity"
    stores_transitions: ClassVar[bool] = True

    @classmethod
    def of_capacity(cls, capacity: int | None) -> Backups:
        make: Any = cls
        return make(capacity=capacity)


class Replay(ReplayBackups):
    """Uniform over the last ``capacity`` transitions, including the newest (None: all)."""

    short_name: ClassVar[str] = "replay"

    capacity: int | None = parameter(or_none(whole(1)), default=1000)
    model_fits: int | str = model_fits_parameter()

    def build(self, context: BuildContext) -> ReplayPart:
        slots, states = self.capacity or INITIAL_CAPACITY, context.domain.states or 1
        return ReplayPart(
            empty_table(context.shape, slots, states),
            empty_table(context.shape, slots, states),
            zeros(slots, smallest_int_type(context.actions - 1)),
            zeros(slots),
            zeros(slots, np.int8),
            zeros(slots, np.int64),
            np.zeros(2, np.int64),
            self.capacity is not None,
        )


def pass_on_to_replay(part_type: type) -> None:
    """Implement all verbs but ``draw`` by the ``replay`` inside a part."""
    storage = (
        verbs.remember,
        verbs.stored_transition,
        verbs.load_successor,
        verbs.relabel,
        verbs.free_capacity,
        verbs.grow,
    )
    delegate(part_type, "replay", *storage)


class RecencyPart(NamedTuple):
    """P(age) ∝ q^age. ``log_factor`` is log q; ``mass`` (1,) is q^count − 1, slow to compute."""

    replay: ReplayPart
    log_factor: float
    mass: np.ndarray


pass_on_to_replay(RecencyPart)


@verbs.remember.register(RecencyPart)
def _(backups, transition):
    verbs.remember(backups.replay, transition)
    backups.mass[0] = math.expm1(backups.log_factor * backups.replay.counters[COUNT])


@verbs.draw.register(RecencyPart)
def _(backups, state, rng):
    """Invert P(age < n) = (1 − qⁿ) / (1 − q^count): age = ⌊log(1 − u (1 − q^count)) / log q⌋.

    log1p and expm1 keep this accurate for q near 1.
    """
    replay = backups.replay
    age = int(math.log1p(rng.random() * backups.mass[0]) / backups.log_factor)
    if age >= replay.counters[COUNT]:  # by rounding
        age = replay.counters[COUNT] - 1
    slot = slot_of_age(replay, age)
    verbs.load(replay.states, slot, state)
    return slot


class RecencyReplay(ReplayBackups):
    """The last ``capacity`` transitions (None: all), weighted by recency.

    A transition that is ``halflife`` transitions older is drawn half as often.
    """

    short_name: ClassVar[str] = "recency"

    capacity: int | None = parameter(or_none(whole(1)), default=1000)
    halflife: float = parameter(at_least(1.0), default=100.0)
    model_fits: int | str = model_fits_parameter()

    def build(self, context: BuildContext) -> RecencyPart:
        replay, log_factor = Replay(self.capacity).build(context), -math.log(2.0) / self.halflife
        return RecencyPart(replay, log_factor, np.zeros(1))


SLOT, LEFT = 0, 1


class TrajectoryPart(NamedTuple):
    """``walk`` (2,) is the slot drawn last and the number left to draw; ``reached`` is scratch."""

    replay: ReplayPart
    walk: np.ndarray
    length: int
    reached: Vector


pass_on_to_replay(TrajectoryPart)


@function
def slot_after(backups, slot):
    """Slot of the transition that continues this one, −1 if there is none.

    After a truncation the next stored state differs from the one reached.
    """
    replay, reached = backups.replay, backups.reached
    if slot == slot_of_age(replay, 0) or replay.alive[slot] == 0.0:
        return -1
    after = slot + 1 if slot + 1 < replay.actions.shape[0] else 0
    verbs.load(replay.next_states, slot, reached)
    return after if verbs.matches(replay.states, after, reached) else -1


@verbs.draw.register(TrajectoryPart)
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
    verbs.load(replay.states, slot, state)
    return slot


class Trajectory(ReplayBackups):
    """Segments of stored experience: ``length`` transitions in order from a random one.

    A segment ends early with its episode and at the newest transition; the next one begins anywhere
    in the last ``capacity`` transitions (None: all). Replayed model fits advance along the same
    segment.
    """

    short_name: ClassVar[str] = "trajectory"

    length: int = parameter(whole(1), default=10, meaning="transitions of a walk")
    capacity: int | None = parameter(or_none(whole(1)), default=1000)
    model_fits: int | str = model_fits_parameter()

    def build(self, context: BuildContext) -> TrajectoryPart:
        return TrajectoryPart(
            Replay(self.capacity).build(context),
            np.zeros(2, np.int64),
            self.length,
            empty_state(context.shape),
        )
