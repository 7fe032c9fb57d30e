"""Verbs that only the package asks, from Python, and a helper that passes verbs on."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.core.dispatch import Verb, plain
from expectant.core.verbs.backups import grow
from expectant.core.verbs.features import encode, save

if TYPE_CHECKING:
    from expectant.core.vectors import Binary, BinaryTable, Weighted, WeightedTable

__all__ = [
    "count_backups",
    "count_evicted",
    "delegate",
    "encode_all",
    "with_predecessors",
    "without_planning",
]


@plain
def count_evicted(part: tuple[object, ...]) -> int:
    """How much a part has given up because there was no room for it; people are told of it.

    A part that does not implement the verb answers for the parts in it.
    """
    return sum(count_evicted(item) for item in part if isinstance(item, tuple))


@plain
def count_backups(part: tuple[object, ...]) -> int:
    """How many backups a part has drawn; one that does not count them asks the parts in it."""
    return sum(count_backups(item) for item in part if isinstance(item, tuple))


@plain
def encode_all(
    features: object,
    states: int,
    table: BinaryTable | WeightedTable,
    state: Binary | Weighted,
) -> None:
    """Write the vectors of all numbered states into a table, in order; ``state`` is scratch.

    A part that does not implement the verb encodes them one by one.
    """
    for number in range(states):
        encode(features, np.array([number]), -1, state)
        state.state_index[0] = number
        save(table, number, state)


@plain
def with_predecessors(model: object) -> object:
    """The same model, newly built, as one that can be traced back (called from Python)."""
    return model


@plain
def without_planning(agent: object) -> object:
    """The same agent without what it needs only to plan: enough to ask what it thinks.

    A look copies and compiles no more than this, so agents that differ in nothing else share one.
    """
    return agent


def delegate(part_type: type, field: str, *verbs: Verb[object]) -> None:
    """Let the part in a field answer verbs for the part type that it is in."""
    for each in verbs:
        _pass_on(part_type, field, each)


def _pass_on(part_type: Any, field: str, verb: Verb[object]) -> None:
    position = part_type._fields.index(field)

    def rebuild(part):
        return part._replace(**{field: verb(part[position])})

    def pass_none(part):
        return verb(part[position])

    def pass_one(part, first):
        return verb(part[position], first)

    def pass_two(part, first, second):
        return verb(part[position], first, second)

    def pass_three(part, first, second, third):
        return verb(part[position], first, second, third)

    def pass_four(part, first, second, third, fourth):
        return verb(part[position], first, second, third, fourth)

    # Compiled, one function with *arguments would pack them into a tuple, which is slower.
    by_count = (pass_none, pass_one, pass_two, pass_three, pass_four)
    arguments = len(inspect.signature(verb).parameters) - 1
    returns_part = verb in (grow, without_planning)
    verb.register(part_type)(rebuild if returns_part else by_count[arguments])
