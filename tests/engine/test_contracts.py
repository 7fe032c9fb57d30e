"""What verbs promise, at the borders of every promise."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import expectant as ex
from expectant import verbs
from expectant.engine.job import Job
from expectant.engine.trial.contracts import CHECKS, Contracts
from expectant.engine.trial.mistakes import PartError
from expectant.engine.trial.rehearsal import _made_up

RUN = Job(ex.Corridor(cells=4), ex.OneHot(), ex.QLearning(0.1), episodes=1).prepare(0)[0]
CONTRACTS = Contracts(RUN)  # two actions, four states, four features


def wrong(verb: Any, result: Any, *args: Any, part: Any = None, contracts: Any = CONTRACTS) -> Any:
    return CHECKS[verb](contracts, part, args, result)


def vector(*active: int, values: list[float] | None = None) -> Any:
    found = SimpleNamespace(active=np.array(active))
    if values is not None:
        found.values = np.array(values)
    return found


@pytest.mark.parametrize(("action", "right"), [(0, True), (1, True), (2, False), (-1, False)])
def test_actions(action, right):
    assert (wrong(verbs.act, action) is None) == right
    assert (wrong(verbs.stored, (action, 0.0, 1.0)) is None) == right


@pytest.mark.parametrize(
    ("reward", "alive", "right"),
    [
        (1.0, 0.0, True), (1.0, 1.0, True), (1.0, 0.5, False), (1.0, 2.0, False),
        (math.inf, 1.0, False), (math.nan, 1.0, False), (1.0, True, False),
    ],
)  # fmt: skip
def test_rewards_and_ends(reward, alive, right):
    assert (wrong(verbs.step, (reward, alive)) is None) == right
    assert (wrong(verbs.stored, (0, reward, alive)) is None) == right


@pytest.mark.parametrize("given", ["1", None, [1.0], np.ones(1), 1j, True, np.True_], ids=repr)
def test_what_is_no_number_is_told(given):
    assert "a finite number" in wrong(verbs.step, (given, 1.0))
    assert "alive as 0.0" in wrong(verbs.step, (1.0, given))
    assert "alive, 0.0 or 1.0" in wrong(verbs.imagine, given)
    assert "the probability of stopping" in wrong(verbs.stop, given)
    assert "the size of its errors" in wrong(verbs.learn, given)
    for verb in (verbs.preference, verbs.backed_up_value):
        assert "must return a number" in wrong(verb, given)


@pytest.mark.parametrize(("feature", "right"), [(0, True), (3, True), (4, False), (-1, False)])
def test_features(feature, right):
    assert (wrong(verbs.load_successor, None, 0, vector(feature)) is None) == right
    assert (wrong(verbs.draw, -1, vector(0, feature)) is None) == right


def test_values_of_features_are_finite():
    assert wrong(verbs.draw, 0, vector(0, values=[2.0])) is None
    assert "finite values" in wrong(verbs.draw, 0, vector(0, values=[math.inf]))
    assert "a slot" in wrong(verbs.draw, -2, vector(0))


def test_an_observation_is_always_the_same_array():
    contracts, part, seen = Contracts(RUN), object(), np.zeros(1, np.int64)
    assert wrong(verbs.observation, seen, part=part, contracts=contracts) is None
    assert wrong(verbs.observation, seen[:], part=part, contracts=contracts) is None  # a view
    assert "the same array" in wrong(verbs.observation, seen.copy(), part=part, contracts=contracts)


@pytest.mark.parametrize(("state", "right"), [(0, True), (3, True), (4, False), (-1, False)])
def test_numbers_of_states(state, right):
    contracts = Contracts(RUN)
    seen = np.array([state])
    assert (wrong(verbs.observation, seen, contracts=contracts) is None) == right
    assert (wrong(verbs.place, state) is None) == (right or state == -1)


@pytest.mark.parametrize(
    ("seen", "right"),
    [([-1.0, 2.0], True), ([1.0, 3.0], True), ([-1.1, 2.0], False), ([0.0, 3.1], False)],
)
def test_bounds(seen, right):
    contracts = Contracts(RUN._replace(ranges=RUN.ranges._replace(states=0)), ((-1, 1), (2, 3)))
    assert (wrong(verbs.observation, np.array(seen), contracts=contracts) is None) == right


@pytest.mark.parametrize(
    ("chances", "right"), [([0.5, 0.5], True), ([0.5, 0.4], False), ([1.5, -0.5], False)]
)
def test_probabilities(chances, right):
    assert (wrong(verbs.policy, None, np.array(chances)) is None) == right


@pytest.mark.parametrize(("stop", "right"), [(0.0, True), (1.0, True), (1.1, False), (-0.1, False)])
def test_chances_of_stopping(stop, right):
    assert (wrong(verbs.stop, stop) is None) == right


def test_weights_stay_finite():
    finite, lost = np.zeros(2), np.array([0.0, math.inf])
    assert wrong(verbs.add_expected, None, None, 0, finite, 1.0) is None
    assert "finite" in wrong(verbs.add_expected, None, None, 0, lost, 1.0)
    assert wrong(verbs.add_expected, None, None, 0, lost, math.inf) is None
    assert "return nothing" in wrong(verbs.add_expected, 1.0, None, 0, finite, 1.0)
    assert "finite" in wrong(verbs.backed_up_value, math.inf, np.zeros(1))
    assert wrong(verbs.backed_up_value, math.inf, np.array([math.nan])) is None


def test_a_mistake_is_told_with_the_place_of_ones_own_code():
    """The innermost line of the user's, though the error is in NumPy or in the package."""

    def act(part: Any) -> Any:
        return np.zeros(3).reshape(2, 2)

    def step(part: Any) -> Any:
        return ex.rules.whole(1).check("Mine", "cells", 0)

    def describe(part: Any) -> Any:
        return ex.Corridor(cells=0)  # refused by an __init__ that no file has

    for own in (act, step, describe):
        with pytest.raises(PartError) as told:
            CONTRACTS(verbs.act, own, None, ())
        line = own.__code__.co_firstlineno + 1
        assert str(told.value).endswith(f"({__file__}, line {line})")
    with pytest.raises(PartError, match="a field cannot be assigned to"):
        CONTRACTS(verbs.act, lambda part: setattr(RUN, "clock", 0), None, ())
    with pytest.raises(PartError, match=r"the verb is act\(agent, state, rng\)"):
        CONTRACTS(verbs.act, lambda part, more: 0, None, ())


def test_what_was_given_to_the_interpreter_as_text_has_lines_too():
    written: dict[str, Any] = {}
    exec("def act(part):\n    return inner(part)\n\ndef inner(part):\n    return 1 / 0\n", written)
    with pytest.raises(PartError, match=r"\(<string>, line 5\)$"):
        CONTRACTS(verbs.act, written["act"], None, ())


def test_observations_are_made_up_from_all_that_could_be():
    domain = SimpleNamespace(received=np.zeros(3))
    run: Any = SimpleNamespace(ranges=SimpleNamespace(states=0), domain=domain)
    bounds, rng = [(2.0, 4.0), (6.0, math.inf), (-math.inf, math.inf)], np.random.default_rng(0)
    found = np.array([_made_up(run, rng, bounds) for _ in range(300)])
    assert 2.0 <= found[:, 0].min() < 2.1
    assert 3.9 < found[:, 0].max() < 4.0
    assert (found[:, 1] == 6.0).all()  # of what is drawn normally, the nearest that could be
    assert found[:, 2].min() < -1.0
    assert found[:, 2].max() > 1.0
    numbered: Any = SimpleNamespace(ranges=SimpleNamespace(states=3))
    assert {int(_made_up(numbered, rng, None)) for _ in range(100)} == {0, 1, 2}
