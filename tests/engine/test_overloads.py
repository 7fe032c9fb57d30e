"""What Numba is told about verbs and functions."""

from __future__ import annotations

from typing import Any

import pytest
from numba.core.registry import cpu_target
from numba.extending import overload

from expectant import dispatch, verbs
from expectant.engine.compile import compiling, overloads
from expectant.engine.compile.inside_numba import (
    forget_overloads,
    overloads_of,
    take_note_of_overloads,
)


@pytest.fixture
def told(monkeypatch) -> list[tuple[Any, dict[str, Any]]]:
    """What Numba would have been told: of which function, and with which options."""
    compiling.register_overloads()  # in earnest, for whatever is compiled after this test
    found: list[tuple[Any, dict[str, Any]]] = []

    def note(function, strict, jit_options):
        found.append((function, jit_options))
        return lambda implementation: implementation

    monkeypatch.setattr(overloads, "overload", note)
    return found


def counted_and_checked(told):
    return [(options["_nrt"], options["boundscheck"]) for _, options in told]


def test_arrays_are_counted_in_code_of_others_and_where_one_is_returned(told):
    """For our code and then that of others; all of that unchecked and then checked."""
    overloads.overload_verb(verbs.step)
    ours_and_theirs = [(False, False), (True, False), (False, True), (True, True)]
    assert counted_and_checked(told) == ours_and_theirs
    told.clear()
    overloads.overload_verb(verbs.observation)
    assert counted_and_checked(told) == [(True, False), (True, False), (True, True), (True, True)]
    told.clear()
    overloads.overload_function(dispatch.FUNCTIONS[0])
    assert counted_and_checked(told) == [(False, False), (False, True)]
    told.clear()
    overloads.overload_function(counted_and_checked)
    assert counted_and_checked(told) == [(True, False), (True, True)]


def test_what_the_package_tells_numba_is_not_taken_for_a_users(told):
    def mine(number):
        return number

    def compiled(number):
        return lambda number: number + 1

    overload(mine)(compiled)
    take_note_of_overloads()
    for ours in (verbs.step, dispatch.FUNCTIONS[0]):
        assert list(overloads_of(ours)) == []
    assert [implementation for implementation, _ in overloads_of(mine)] == [compiled]


def test_every_verb_and_function_is_told_once(told, monkeypatch):
    compiling.register_overloads()
    assert told == []
    (verb, plain), known = (dispatch.VERBS[0], dispatch.FUNCTIONS[0]), compiling._registered
    monkeypatch.setattr(compiling, "_registered", known - {id(verb), id(plain)})
    for _ in range(2):
        compiling.register_overloads()
        assert [function for function, _ in told] == [verb] * 4 + [plain] * 2


def test_a_function_that_numba_was_not_told_of_yet_has_nothing_to_be_forgotten(monkeypatch):
    """It was defined after the kernel that is now compiled for other arguments."""
    compiling.register_overloads()
    told = next(known for known in dispatch.FUNCTIONS if known.__name__ == "dot")
    template = cpu_target.typing_context.resolve_value_type(told).templates[0]
    monkeypatch.setattr(template, "_impl_cache", {"compiled": "before"})
    monkeypatch.setattr(dispatch, "VERBS", [])
    monkeypatch.setattr(dispatch, "FUNCTIONS", [lambda number: number, told])
    forget_overloads()
    assert template._impl_cache == {}
