"""check_domain compares steps with a finite MDP; a place is one of the numbered states."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

import expectant as ex
from expectant.domains.own import check_frequencies
from expectant.verbs import observation, place, reset, step


class PlacedPart(NamedTuple):
    """What is seen are vectors, and yet it knows a number of the state it is in."""

    seen: np.ndarray
    where: int


@reset.register(PlacedPart)
def _(part, episode, rng):
    part.seen[0] = 0.25


@step.register(PlacedPart)
def _(part, action, rng):
    return 1.0, 0.0


@observation.register(PlacedPart)
def _(part):
    return part.seen


@place.register(PlacedPart)
def _(part):
    return part.where


@ex.description
class Placed(ex.Domain):
    where: int = ex.option(ex.rules.whole(-2))
    numbered: bool = ex.option(ex.rules.flag(), default=False)
    actions = 2

    @property
    def states(self):
        return 3 if self.numbered else None

    @property
    def bounds(self):
        return None if self.numbered else ((0.0, 1.0),)

    def build(self, rng):
        return PlacedPart(np.zeros(1, np.int64 if self.numbered else np.float64), self.where)


@pytest.mark.parametrize(
    ("domain", "sound"),
    [(Placed(7), True), (Placed(-1), True), (Placed(2, True), True), (Placed(-1, True), True),
     (Placed(3, True), False), (Placed(-2, True), False)],
)  # fmt: skip
def test_a_place_is_one_of_the_states_where_those_are_numbered(domain, sound):
    def returns():
        return ex.run(
            domain, ex.OneHot() if domain.numbered else ex.Tiles(1, 2), ex.QLearning(0.1),
            episodes=2, runs=1, compiled=False, progress=False,
        ).returns.tolist()  # fmt: skip

    if sound:
        assert returns() == [[1.0, 1.0]]
    else:
        with pytest.raises(
            ValueError,
            match=r"^place of PlacedPart must return a state's number from 0 to 2, or −1",
        ):
            returns()


# ------------------------------------------------------------------------ against a finite MDP


def misdescribed(**changes):
    """A corridor that steps by one description and states another as its MDP."""

    class Misdescribed(ex.Corridor):
        def mdp(self):
            return ex.Corridor(**changes).mdp()

        def build(self, rng):
            return ex.Corridor(cells=5, slip=0.1).mdp().build(rng)

    return Misdescribed(cells=5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cells": 5, "slip": 0.5}, "in .* of .* steps, where its mdp.. has a probability of 0.5"),
        ({"cells": 5, "goal_reward": 19.0}, "led to the end with reward 20, which its mdp.. rules"),
        ({"cells": 6}, "states is 5, but its mdp.. has 6"),
    ],
)
def test_steps_that_the_mdp_does_not_have(changes, message):
    with pytest.raises(ValueError, match=message):
        ex.check_domain(misdescribed(**changes), episodes=200)


def test_one_step_more_than_chance_allows_is_too_many():
    """Of 50 ± 6 · 5 steps at most 31 may be missing; what is ruled out never follows."""
    sure, even = {(0, 0.0): 1.0}, {(0, 0.0): 0.5, (1, 0.0): 0.5}
    check_frequencies(Counter({(0, 0.0): 100}), sure, "here")
    check_frequencies(Counter({(0, 0.0): 81, (1, 0.0): 19}), even, "here")
    with pytest.raises(ValueError, match="here: led to state 1 with reward 0, which its"):
        check_frequencies(Counter({(0, 0.0): 99, (1, 0.0): 1}), sure, "here")
    for found, expected in (((82, 18), even),):
        counts = Counter({(0, 0.0): found[0], (1, 0.0): found[1]})
        with pytest.raises(ValueError, match=f"here: led to .* in {found[0]} of 100 steps"):
            check_frequencies(counts, expected, "here")
