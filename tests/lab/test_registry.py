"""Names that data go by: taken once, and guessed at where they are wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from expectant.lab.registry import Registry


@dataclass(frozen=True)
class Thing:
    name: str


def test_a_name_is_taken_once_and_known_from_then_on():
    things: Registry[Thing] = Registry("thing")
    found = things.add(Thing("mean"))
    assert things.named("mean") is found is things["mean"] and list(things) == ["mean"]
    with pytest.raises(ValueError, match="thing: the name 'mean' is taken"):
        things.add(Thing("mean"))


@pytest.mark.parametrize(("name", "where", "said"), [
    ("men", "", "thing: unknown 'men', did you mean 'mean'?"),
    ("men", "--measure", "--measure: unknown 'men', did you mean 'mean'?"),
    (None, "", "thing: unknown None"),
    ((), "", "thing: unknown ()"),
])  # fmt: skip
def test_an_unknown_name_is_told_with_the_near_miss(name, where, said):
    things: Registry[Thing] = Registry("thing")
    things.add(Thing("mean"))
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        things.named(name, where)
