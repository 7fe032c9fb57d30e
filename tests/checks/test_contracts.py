"""Every contract catches a wrong part: its result, the type of it, a changed input, a wrong slot."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import expectant as ex
from expectant.checks.contracts import CONTRACTS, Contracts
from expectant.core import verbs
from expectant.core.errors import PartError
from expectant.core.vectors import Binary, Transition, Weighted
from expectant.engine.setup import Setup

RUN = Setup(ex.Corridor(cells=4), ex.OneHot(), ex.QLearning(), episodes=1).build(0)[0]
RNG = np.random.default_rng(0)
STATE, NAN, TWO = RUN.state, math.nan, np.zeros(2)
STEP = Transition(RUN.state, 0, 0.0, RUN.next_state, 1.0, -1)
SEEN = np.zeros(1, np.int64)


class Part(NamedTuple):
    """A part without contents."""


def state(feature: int = 0, value: float | None = None) -> Any:
    active, index = np.array([feature]), np.array([-1])
    return Binary(active, index) if value is None else Weighted(active, np.array([value]), index)


def policy(*probabilities: float) -> np.ndarray:
    return np.array(probabilities)


ERRORS = [(0.5, None), (0.5, "0.5"), (0.5, True)]
NUMBERS = [(0.5, None), (0.5, NAN), (0.5, np.zeros(2))]
WHOLE = [(1, None), (1, 1.0), (1, True)]
STEPS = [
    ((0.5, 1.0), 0.5), ((0.5, 1.0), None), ((0.5, 0.0), (NAN, 0.0)), ((0.5, 1.0), (0.5, False)),
    ((0.5, 1.0), (0.5, 0.5)), ((0.5, 1.0), (0.5, 1.0, 0)),
]  # fmt: skip
STORED = [
    ((1, 0.5, 1.0), (2, 0.5, 1.0)), ((1, 0.5, 1.0), (1.0, 0.5, 1.0)), ((1, 0.5, 1.0), (0.5, 1.0)),
    ((1, 0.5, 0.0), (1, NAN, 0.0)), ((1, 0.5, 1.0), None),
]  # fmt: skip
SLOTS = [(0, None), (7, 7.0), (-1, -2), (0, True)]
STOPS = [(1.0, 1.5), (0.0, -0.1), (0.5, None), (0.5, NAN)]
FEATURES = [(state(3), state(4)), (state(0), state(-1)), (state(3, 0.5), state(3, NAN))]
POLICIES = [
    (policy(0.5, 0.5), policy(0.5, 0.6)), (policy(0.0, 1.0), policy(-0.5, 1.5)),
    (policy(NAN, NAN), policy(NAN, 1.0)),
]  # fmt: skip

RESULTS: dict[Any, Any] = {  # verb: arguments, (a right result, a wrong one)
    verbs.step: ((0, RNG), STEPS),
    verbs.observation: ((), [
        (SEEN, 0), (SEEN, np.array([4])), (SEEN, np.array([-1])), (SEEN, np.zeros(1)),
        (SEEN, np.zeros((1, 1), np.int64)), (SEEN, np.zeros(0, np.int64)),
    ]),
    verbs.state_index: ((), [(3, 4), (-1, -2), (0, 0.0), (0, None)]),
    verbs.truncated: ((), [(True, None), (False, 0.0), (0, "no")]),
    verbs.phase: ((), WHOLE),
    verbs.outcome: ((), WHOLE),
    verbs.reward_now: ((0,), NUMBERS),
    verbs.fit: ((STEP,), ERRORS),
    verbs.backed_up_value: ((STATE, 0, TWO, 0.9), NUMBERS),
    verbs.backed_up_action_value: ((STATE, 0, TWO, 0.9), NUMBERS),
    verbs.draw_outcome: ((STATE, 0, state(), RNG), STEPS),
    verbs.sample_next: ((STATE, 0, state()), [(1.0, None), (0.0, "0"), (1.0, True)]),
    verbs.draw: ((state(), RNG), SLOTS),
    verbs.stored_transition: ((0,), STORED),
    verbs.free_capacity: ((), WHOLE),
    verbs.act: ((STATE, RNG), [(1, 2), (0, -1), (1, 1.0), (1, None), (1, True)]),
    verbs.learn: ((STEP, RNG), ERRORS),
    verbs.preference: ((STATE, 0), NUMBERS),
    verbs.plan: ((RNG,), ERRORS),
    verbs.back_up: ((STATE, 0, 0.9, RNG), ERRORS),
    verbs.roll_out: ((Part(), RNG), ERRORS),
    verbs.stop: ((STATE,), STOPS),
    verbs.stop_of: ((0, STATE), STOPS),
    verbs.learn_options: ((STEP, TWO, TWO, 0.9), ERRORS),
    verbs.fit_options: ((Part(), STEP, TWO, 0.9), ERRORS),
}  # fmt: skip
WRITTEN: dict[Any, Any] = {  # verb: arguments around what it writes, its result, (right, wrong)
    verbs.draw_outcome: ((STATE, 0, ..., RNG), (0.5, 1.0), FEATURES),
    verbs.sample_next: ((STATE, 0, ...), 1.0, FEATURES[:2]),
    verbs.draw: ((..., RNG), 0, FEATURES),
    verbs.load_successor: ((0, ...), None, FEATURES),
    verbs.policy: ((STATE, ...), None, POLICIES),
    verbs.behaviour_policy: ((STATE, ...), None, POLICIES),
    verbs.policy_of: ((0, STATE, ...), None, POLICIES),
}
CHANGED: dict[Any, Any] = {  # verb: arguments, one of them to be changed, a right result
    verbs.encode: (lambda given: (given, -1, STATE), SEEN, None),
    verbs.fit: (lambda given: (STEP._replace(state=given),), state(), 0.5),
    verbs.backed_up_value: (lambda given: (STATE, 0, given, 0.9), TWO, 0.5),
    verbs.backed_up_action_value: (lambda given: (given, 0, TWO, 0.9), state(), 0.5),
    verbs.remember: (lambda given: (STEP._replace(next_state=given),), state(), None),
    verbs.act: (lambda given: (given, RNG), state(), 0),
    verbs.learn: (lambda given: (STEP._replace(state=given), RNG), state(), 0.5),
    verbs.preference: (lambda given: (given, 0), state(), 0.5),
    verbs.policy: (lambda given: (given, policy(1.0)), state(), None),
    verbs.policy_of: (lambda given: (0, given, policy(1.0)), state(), None),
    verbs.stop: (lambda given: (given,), state(), 0.5),
    verbs.stop_of: (lambda given: (0, given), state(), 0.5),
}


def call(verb: Any, args: tuple[Any, ...], result: Any, change: Any = None) -> None:
    """Let a part of the user's return a result; ``change`` an array meanwhile."""

    def implementation(part: Any, *given: Any) -> Any:
        if change is not None:
            change[0] += 1
        return result

    part = Part()
    contracts = Contracts(RUN._replace(agent=part))
    contracts(verb, implementation, part, args)


def refuse(verb: Any, *case: Any) -> None:
    with pytest.raises(PartError, match=rf"^{verb.__name__} of Part must .*line \d+\)$"):
        call(verb, *case)


def cases(table: dict[Any, Any]) -> list[Any]:
    return [
        pytest.param(verb, *rest, *pair, id=f"{verb.__name__}-{number}")
        for verb, (*rest, pairs) in table.items()
        for number, pair in enumerate(pairs)
    ]


@pytest.mark.parametrize(("verb", "args", "right", "wrong"), cases(RESULTS))
def test_a_wrong_result_is_refused(verb, args, right, wrong):
    call(verb, args, right)
    refuse(verb, args, wrong)


@pytest.mark.parametrize(("verb", "args", "result", "right", "wrong"), cases(WRITTEN))
def test_a_wrong_vector_is_refused(verb, args, result, right, wrong):
    def around(written: Any) -> tuple[Any, ...]:
        return tuple(written if each is ... else each for each in args)

    call(verb, around(right), result)
    refuse(verb, around(wrong), result)


@pytest.mark.parametrize("feature", [-1, 4])
def test_a_wrong_feature_of_the_loop_is_refused(feature):
    encoded = state(feature)

    def implementation(part: Any, *given: Any) -> None: ...

    contracts = Contracts(RUN._replace(state=encoded))
    with pytest.raises(PartError, match="encode of Part must write features from 0 to 3"):
        contracts(verbs.encode, implementation, Part(), (SEEN, -1, encoded))


@pytest.mark.parametrize("verb", CHANGED, ids=lambda verb: verb.__name__)
def test_a_changed_input_is_refused(verb):
    arguments, given, result = CHANGED[verb]
    call(verb, arguments(given), result)
    changed = getattr(given, "active", given)
    try:
        with pytest.raises(PartError, match=f"{verb.__name__} of Part must not change what it is"):
            call(verb, arguments(given), result, changed)
    finally:
        changed[0] -= 1


def test_every_contract_is_tested():
    assert {*RESULTS, *WRITTEN, *CHANGED} == {*CONTRACTS}
    assert {verb for verb, contract in CONTRACTS.items() if contract.read_only} == {*CHANGED}
