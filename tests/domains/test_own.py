"""check_domain accepts the package's own domains and names what is wrong with broken ones."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import expectant as ex
from expectant.domains.own_mdp import _check_frequencies, _expected, check_against_mdp
from expectant.verbs import observation, place, reset, step


class BrokenPart(NamedTuple):
    """A walk to the right over five cells that can be broken in one way."""

    cell: np.ndarray
    vector: np.ndarray
    fault: Any


@reset.register(BrokenPart)
def _(part, episode, rng):
    part.cell[0] = 0 if part.fault != "remembers" else part.cell[0] % 2
    part.vector[0] = 0.0


@step.register(BrokenPart)
def _(part, action, rng):  # noqa: PLR0911  one for every fault
    fault, cell = part.fault, part.cell
    luck = np.random.default_rng().random() if fault == "random" else rng.random()
    cell[0] += action if fault != "endless" else 0
    part.vector[0] = cell[0] / 5
    if fault == "far":
        cell[0] = 7
        return -1.0, 1.0
    if fault == "nan":
        return float("nan"), 1.0
    if fault == "alive":
        return 0.0, 0.5
    if fault == "short":
        return 0.0
    if fault == "done":
        cell[0] = min(cell[0], 4)
        return -1.0, 1.0 if cell[0] == 4 else 0.0
    if fault == "done, a bool":
        return -1.0, cell[0] >= 5
    if cell[0] >= 5:
        return luck, 0.0
    return -1.0, 1.0


@observation.register(BrokenPart)
def _(part):
    if part.fault == "copies":
        return part.cell.copy()
    if part.fault in ("vector", "outside"):
        return part.vector
    return part.cell


SHARED = np.zeros(1, np.int64)


@ex.description
class Broken(ex.Domain):
    fault: Any = ex.option(ex.rules.Rule("anything", lambda value: value), default="")
    actions = 2

    @property
    def states(self):
        return None if self.fault in ("vector", "outside", "nothing") else 5

    @property
    def bounds(self):
        high = 0.5 if self.fault == "outside" else 1.0
        return ((0.0, high),) if self.fault in ("vector", "outside") else None

    def build(self, rng):
        if self.fault == "array":
            return np.zeros(1)
        cell = SHARED if self.fault == "shared" else np.zeros(1, np.int64)
        return BrokenPart(cell.astype(np.int32) if self.fault == "small" else cell,
                          np.zeros(1), self.fault)  # fmt: skip


@pytest.mark.parametrize("fault", ["", "vector"])
def test_a_sound_domain_passes(fault):
    seen = ex.check_domain(Broken(fault), episodes=10)
    assert (seen.episodes, seen.ended, seen.mdp_pairs) == (10, 10, None)
    assert "10 episodes of random actions" in str(seen)


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


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("nothing", "needs `states`, how many states it numbers, or `bounds`"),
        ("array", "build must return a NamedTuple, got ndarray"),
        ("shared", "two parts share their observation: make new arrays in build"),
        ("small", "observations are state numbers: use int64, got int32"),
        ("far", "states is 5, but the observation was 7"),
        ("outside", "component 0 was .* outside its bounds 0.0 to 0.5"),
        ("nan", "step must return a finite reward, got nan"),
        ("alive", "step must return alive as 0.0 .* or 1.0, got 0.5"),
        ("done", "it seems to return whether the episode is done; return 0.0 at its end, else 1.0"),
        ("done, a bool", "step must return alive as 0.0 .* or 1.0, got"),
        ("short", r"step must return \(reward, alive\), got 0.0"),
        ("copies", "observation must return the same array every time"),
        ("random", "episode 0 was another one with the same seed"),
        ("endless", "no episode ended within 10,000 random steps"),
    ],
)
def test_what_is_wrong_is_named(fault, message):
    with pytest.raises(ValueError, match=f"^check_domain: Broken: .*{message}"):
        ex.check_domain(Broken(fault), episodes=2)


def test_a_class_or_another_thing_is_refused():
    with pytest.raises(ValueError, match=r"give a domain, not its class: Broken\(…\)"):
        ex.check_domain(Broken)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="OneHot: is not a domain"):
        ex.check_domain(ex.OneHot())  # type: ignore[arg-type]


class WordlessPart(NamedTuple):
    cell: np.ndarray


@ex.description
class Wordless(ex.Domain):
    actions = 1
    states = 1

    def build(self, rng):
        return WordlessPart(np.zeros(1, np.int64))


def test_a_missing_verb_is_named():
    with pytest.raises(ValueError, match="WordlessPart does not implement the verb 'reset'"):
        ex.check_domain(Wordless())


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


@pytest.mark.parametrize("origin", [(1, 0, 0), (-1, 0, 0), (0, 5, 0), (0, -1, 0)])
def test_phases_and_states_that_the_mdp_does_not_have(origin):
    domain, (phase, state, _) = ex.Corridor(cells=5), origin
    with pytest.raises(ValueError, match=f"^own: was in phase {phase}, state {state}, which its"):
        check_against_mdp(domain, domain.mdp(), {origin: Counter({(1, -1.0): 1})}, "own")


@pytest.mark.parametrize(
    "domain",
    [
        ex.Corridor(switch_every=50),
        ex.Counterexample(),
        ex.LocaGrid(phase_steps=(1500, 200, 500)),
        ex.LocaMountainCar(phase_steps=(1500, 200, 500)),
        ex.MountainCar(),
    ],
    ids=lambda domain: type(domain).__name__,
)
def test_our_own_domains_pass(domain):
    seen = ex.check_domain(domain, episodes=150 if domain.states else 10)
    assert seen.steps > 0
    assert (seen.mdp_pairs is None) == (domain.states is None)
    assert seen.mdp_pairs is None or seen.mdp_pairs >= 2


# --------------------------------------------------------------------------- names of one's own


def test_a_name_of_ones_own():
    ex.register("my_broken_walk", Broken)
    try:
        assert Broken().to_dict()["kind"] == "my_broken_walk"
        assert ex.Domain.from_dict({"kind": "my_broken_walk"}) == Broken()
    finally:
        ex.register("broken", Broken)


@pytest.mark.parametrize(
    ("name", "described", "message"),
    [
        ("corridor", Broken, "the name 'corridor' is taken by Corridor"),
        ("My Walk", Broken, "name must be lower-case letters, digits and underscores"),
        ("walk", BrokenPart, "must be a class with @description"),
    ],
)
def test_bad_names_are_refused(name, described, message):
    with pytest.raises(ValueError, match=f"^register: .*{message}"):
        ex.register(name, described)


def test_a_kind_can_say_where_to_import_it(tmp_path, monkeypatch):
    (tmp_path / "walks_elsewhere.py").write_text(
        "import expectant as ex\n\n@ex.description\nclass Elsewhere(ex.Domain):\n"
        "    room: int = ex.option(ex.rules.whole(1), default=3)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    data = {"kind": "walks_elsewhere:Elsewhere", "room": 4}
    with pytest.raises(ValueError, match="'walks_elsewhere:Elsewhere', which would be imported"):
        ex.Domain.from_dict(data)
    found = ex.Domain.from_dict(data, trust=True)
    assert ex.Domain.from_dict(data) == found  # by now it is imported
    assert (type(found).__name__, found.room) == ("Elsewhere", 4)  # type: ignore[attr-defined]
    for kind, message in (
        ("walks_elsewhere:Nowhere", "cannot import 'walks_elsewhere:Nowhere'"),
        ("no_such_module:X", "cannot import 'no_such_module:X'"),
        ("numpy:zeros", "must be a class made by @description"),
    ):
        with pytest.raises(ValueError, match=f"^kind: .*{message}"):
            ex.Domain.from_dict({"kind": kind}, trust=True)
    with pytest.raises(ValueError, match="is not a Features"):
        ex.Features.from_dict({"kind": "walks_elsewhere:Elsewhere"})


def test_what_an_mdp_gives_no_probability_is_not_expected():
    table: Any = SimpleNamespace(
        successors=np.array([[[0, 1, 1, -1]]]),
        probabilities=np.array([[[[0.5, 0.25, 0.25, 0.0]]]]),
        rewards=np.array([[[[1.0, 2.0, 2.0, 3.0]]]]),
    )
    assert _expected(table, 0, 0, 0) == {(0, 1.0): 0.5, (1, 2.0): 0.5}


def test_one_step_more_than_chance_allows_is_too_many():
    """Of 100 steps at most one may be missing where they are sure; of 50 ± 6 · 5 at most 31."""
    sure, even = {(0, 0.0): 1.0}, {(0, 0.0): 0.5, (1, 0.0): 0.5}
    _check_frequencies(Counter({(0, 0.0): 99, (1, 0.0): 1}), sure, "here")
    _check_frequencies(Counter({(0, 0.0): 81, (1, 0.0): 19}), even, "here")
    for found, expected in (((98, 2), sure), ((82, 18), even)):
        counts = Counter({(0, 0.0): found[0], (1, 0.0): found[1]})
        with pytest.raises(ValueError, match=f"here: led to .* in {found[0]} of 100 steps"):
            _check_frequencies(counts, expected, "here")
