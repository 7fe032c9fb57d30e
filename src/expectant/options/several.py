"""Several options in one part: found by their numbers, of whatever kinds they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from expectant.parts import Option, Site
from expectant.verbs import begin, learn_options, policy_of, stop_of


class SeveralOptionsPart(NamedTuple):
    """``first`` has the options below ``held``, ``rest`` those from there on."""

    first: object
    held: int
    rest: object


@policy_of.register(SeveralOptionsPart)
def _(options, number, state, probabilities):
    if number < options.held:
        policy_of(options.first, number, state, probabilities)
    else:
        policy_of(options.rest, number - options.held, state, probabilities)


@stop_of.register(SeveralOptionsPart)
def _(options, number, state):
    if number < options.held:
        return stop_of(options.first, number, state)
    return stop_of(options.rest, number - options.held, state)


@learn_options.register(SeveralOptionsPart)
def _(options, transition, behaviour, weights, discount):
    errors = learn_options(options.first, transition, behaviour, weights, discount)
    return errors + learn_options(options.rest, transition, behaviour, weights, discount)


@begin.register(SeveralOptionsPart)
def _(options, state, rng):
    begin(options.first, state, rng)
    begin(options.rest, state, rng)


def build_options(options: Sequence[Option], site: Site) -> object:
    """One part for all, in their order; neighbours of one kind share their arrays."""
    built: list[tuple[int, object]] = []
    for _, group in groupby(options, type):
        found = list(group)
        together = found[0].build_together(found, site)
        if together is None:
            built += [(1, option.build(site)) for option in found]
        else:
            built.append((len(found), together))
    (_, joined), *before = reversed(built)
    for count, part in before:
        joined = SeveralOptionsPart(part, count, joined)
    return joined
