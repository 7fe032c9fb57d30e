"""What verbs answer for parts that do not implement them."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from expectant import dispatch, verbs


class Bare(NamedTuple):
    number: int = 3


DEFAULTS = {
    "place": ((), -1),
    "phase": ((), 0),
    "cut": ((), False),
    "outcome": ((), -1),
    "reward_now": ((5,), 0.0),
    "follow": ((None, 1.0, 0.5), None),
    "changed": ((None, 1.0, 0.5), None),
    "stored": ((2,), (0, 0.0, 1.0)),
    "load_successor": ((2, None), None),
    "relabel": ((None,), None),
    "room": ((), 1),
    "grown": ((), Bare()),
    "roll_out": ((None, None), 0.0),
    "plan": ((None,), 0.0),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_parts_that_say_nothing_have_nothing_to_say(name):
    arguments, answer = DEFAULTS[name]
    assert getattr(verbs, name)(Bare(), *arguments) == answer


def test_all_other_verbs_must_be_implemented():
    optional = {verb.__name__ for verb in dispatch.VERBS if verb.fallback is not None}
    assert optional >= set(DEFAULTS)
    for verb in dispatch.VERBS:
        if verb.fallback is None:
            with pytest.raises(
                TypeError, match=f"Bare does not implement the verb '{verb.__name__}'"
            ):
                verb(Bare())
