"""What values an argument may take: one rule, one sentence, used by every description."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from expectant.core.memory import TooLargeError

LARGEST = 2**63 - 1  # that compiled code can count to

Plain_co = TypeVar("Plain_co", covariant=True)  # what a value is once it has been checked
First = TypeVar("First")
Second = TypeVar("Second")


def is_number(value: object) -> bool:
    """Whether it is a real number, of NumPy too; a truth value is none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


class AboveLimitError(ValueError):
    """A whole number above the limit that it names."""


@dataclass(frozen=True)
class Rule(Generic[Plain_co]):
    """``convert`` returns the value in its plain type, or raises if the rule is broken."""

    text: str
    convert: Callable[[object], Plain_co]

    def __repr__(self) -> str:
        return f"Rule({self.text!r})"

    def check(self, owner: str, argument: str, value: object) -> Plain_co:
        try:
            return self.convert(value)
        except TooLargeError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{owner}: {argument} {self.violation(value, error)}") from None

    def violation(self, value: object, error: Exception) -> str:
        """What a value should have been, after ``convert`` has raised an error."""
        limit = f" (at most {error})" if isinstance(error, AboveLimitError) else ""
        return f"must be {self.text}{limit}, got {_shown(value)}"


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 200:  # Python does not write all of them out
        return f"one of about {value.bit_length() * 3 // 10:,} digits"
    return repr(value)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def _number(value: object) -> float:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise ValueError
    number = float(value)
    _require(math.isfinite(number))
    return number


def _whole(value: object) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ValueError
    return int(value)


def number() -> Rule[float]:
    return Rule("a finite number", _number)


def at_least(low: float) -> Rule[float]:
    def convert(value: object) -> float:
        result = _number(value)
        _require(result >= low)
        return result

    return Rule(f"a finite number, {low:g} or more", convert)


def between(low: float, high: float) -> Rule[float]:
    def convert(value: object) -> float:
        result = _number(value)
        _require(low <= result <= high)
        return result

    return Rule(f"a number from {low:g} to {high:g}", convert)


def whole(low: int, high: int = LARGEST) -> Rule[int]:
    def convert(value: object) -> int:
        result = _whole(value)
        _require(result >= low)
        if result > high:
            power = high > 2**30 and high & (high + 1) == 0
            raise AboveLimitError(f"2**{high.bit_length()} - 1" if power else high)
        return result

    return Rule(f"a whole number, {low} or more", convert)


def flag() -> Rule[bool]:
    def convert(value: object) -> bool:
        _require(isinstance(value, bool))
        return bool(value)

    return Rule("True or False", convert)


def or_none(rule: Rule[First]) -> Rule[First | None]:
    return Rule(
        f"{rule.text}, or None", lambda value: None if value is None else rule.convert(value)
    )


def list_of(rule: Rule[First], text: str, size: int | None = None) -> Rule[tuple[First, ...]]:
    """Values that each keep a rule, ``size`` of them if that is given."""

    def convert(value: object) -> tuple[First, ...]:
        if not isinstance(value, Iterable) or isinstance(value, str):
            raise TypeError
        items = tuple(rule.convert(item) for item in value)
        _require(size in (None, len(items)))
        return items

    return Rule(text, convert)


def either(first: Rule[First], second: Rule[Second]) -> Rule[First | Second]:
    """What one of two rules allows."""

    def convert(value: object) -> First | Second:
        try:
            return first.convert(value)
        except AboveLimitError:
            raise
        except (TypeError, ValueError, OverflowError):
            return second.convert(value)

    return Rule(f"{first.text}, or {second.text}", convert)


def one_of(*names: str) -> Rule[str]:
    """One of some names."""

    def convert(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError
        return value

    return Rule(" or ".join(repr(name) for name in names), convert)


def named_or(*names: str, kind: type[First], words: str) -> Rule[str | First]:
    """One of some names, or any description of a kind, which is called so in words."""
    named = one_of(*names)

    def convert(value: object) -> str | First:
        return value if isinstance(value, kind) else named.convert(value)

    return Rule(f"{named.text} or {words} of your own", convert)


def instance_of(kind: type[First], words: str) -> Rule[First]:
    """Any description of a kind, which is called so in words."""

    def convert(value: object) -> First:
        if not isinstance(value, kind):
            raise ValueError
        return value

    return Rule(words, convert)
