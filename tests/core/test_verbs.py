"""Defaults of optional verbs, and errors of verbs that are missing."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from expectant.core import dispatch, verbs


class Bare(NamedTuple):
    number: int = 3


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


def test_verbs_without_a_default_must_be_implemented():
    required = [verb for verb in dispatch.VERBS if verb.fallback is None]
    assert verbs.act in required and verbs.plan not in required
    for verb in required:
        with pytest.raises(TypeError, match=f"Bare does not implement the verb '{verb.__name__}'"):
            verb(Bare())
