"""Defaults of optional verbs, and errors of verbs that are missing."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from expectant.core import dispatch, verbs


class Bare(NamedTuple):
    number: int = 3


DEFAULTS = {
    "state_index": ((), -1),
    "phase": ((), 0),
    "truncated": ((), False),
    "outcome": ((), -1),
    "reward_now": ((5,), 0.0),
    "on_value_update": ((None, 1.0, 0.5), None),
    "on_priority": ((None, 1.0, 0.5), None),
    "stored_transition": ((2,), (0, 0.0, 1.0)),
    "load_successor": ((2, None), None),
    "relabel": ((None,), None),
    "free_capacity": ((), 1),
    "grow": ((), Bare()),
    "roll_out": ((None, None), 0.0),
    "plan": ((None,), 0.0),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_parts_that_say_nothing_have_nothing_to_say(name):
    arguments, answer = DEFAULTS[name]
    assert getattr(verbs, name)(Bare(), *arguments) == answer


@pytest.mark.parametrize("kept", [[], {}, set()])
def test_what_a_default_keeps_from_call_to_call_is_refused(kept, monkeypatch):
    def counting(part, seen=kept):
        return seen

    def counting_by_name(part, *, seen=kept):
        return seen

    known = list(dispatch.FUNCTIONS)
    for written in (counting, counting_by_name):
        with pytest.raises(
            TypeError, match=r"free_capacity of Bare: a default must be a number, .* got"
        ):
            verbs.free_capacity.register(Bare)(written)
        with pytest.raises(TypeError, match=rf"{written.__name__}: a default must be a number"):
            verbs.function(written)
    assert Bare not in verbs.free_capacity.implementations and known == dispatch.FUNCTIONS


def test_all_other_verbs_must_be_implemented():
    optional = {verb.__name__ for verb in dispatch.VERBS if verb.fallback is not None}
    assert optional >= set(DEFAULTS)
    for verb in dispatch.VERBS:
        if verb.fallback is None:
            with pytest.raises(
                TypeError, match=f"Bare does not implement the verb '{verb.__name__}'"
            ):
                verb(Bare())
