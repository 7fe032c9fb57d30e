"""Rules for the values of parameters; each has one sentence that error messages share."""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from expectant.core.memory import TooLargeError

__all__ = [
    "Rule", "at_least", "between", "either", "flag", "instance_of", "list_of", "named_or", "number",
    "one_of", "or_none", "positive", "whole",
]  # fmt: skip

LARGEST = 2**63 - 1  # integer in compiled code

Plain_co = TypeVar("Plain_co", covariant=True)  # type of a checked value
First = TypeVar("First")
Second = TypeVar("Second")


class AboveLimitError(ValueError):
    """A whole number above the limit in the message."""


@dataclass(frozen=True)
class Rule(Generic[Plain_co]):
    """A condition in words, ``text``, and ``convert``, which returns the plain value or raises."""

    text: str
    convert: Callable[[object], Plain_co]

    def __repr__(self) -> str:
        return f"Rule({self.text!r})"

    def check(self, owner: str, argument: str, value: object) -> Plain_co:
        """Return the value in its plain type, or raise an error that names owner and argument."""
        try:
            return self.convert(value)
        except TooLargeError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{owner}: {argument} {self.violation(value, error)}") from None

    def violation(self, value: object, error: Exception) -> str:
        """Return the sentence for a value after ``convert`` has raised an error."""
        limit = f" (at most {error})" if isinstance(error, AboveLimitError) else ""
        if isinstance(value, int) and value.bit_length() > 200:  # Python may refuse to print it
            shown = f"one of about {value.bit_length() * 3 // 10:,} digits"
        else:
            shown = repr(value)
        return f"must be {self.text}{limit}, got {shown}{self._near_miss(value)}"

    def _near_miss(self, value: object) -> str:
        names = re.findall(r"'(\w+)'", self.text) if isinstance(value, str) else []
        near = difflib.get_close_matches(str(value), names, n=1)
        return f", did you mean {near[0]!r}?" if near else ""


def is_number(value: object) -> bool:
    """Return True for a real number, including NumPy's, but not for a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _number_rule(text: str, is_allowed: Callable[[float], bool]) -> Rule[float]:
    def convert(value: object) -> float:
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise TypeError
        converted = float(value)
        if not (math.isfinite(converted) and is_allowed(converted)):
            raise ValueError
        return converted

    return Rule(text, convert)


def number() -> Rule[float]:
    """Allow finite numbers."""
    return _number_rule("a finite number", lambda value: True)


def at_least(low: float) -> Rule[float]:
    """Allow finite numbers from ``low``."""
    return _number_rule(f"a finite number, {low:g} or more", lambda value: value >= low)


def positive() -> Rule[float]:
    """Allow finite numbers above 0."""
    return _number_rule("a finite number above 0", lambda value: value > 0.0)


def between(low: float, high: float) -> Rule[float]:
    """Allow numbers from ``low`` to ``high``, both included."""
    text = f"a number from {low:g} to {high:g}"
    return _number_rule(text, lambda value: low <= value <= high)


def whole(low: int, high: int = LARGEST) -> Rule[int]:
    """Allow whole numbers from ``low`` to ``high``."""

    def convert(value: object) -> int:
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < low:
            raise ValueError
        result = int(value)
        if result > high:
            is_power = high > 2**30 and high & (high + 1) == 0
            raise AboveLimitError(f"2**{high.bit_length()} - 1" if is_power else high)
        return result

    return Rule(f"a whole number, {low} or more", convert)


def flag() -> Rule[bool]:
    """Allow True and False."""
    return instance_of(bool, "True or False")


def or_none(rule: Rule[First]) -> Rule[First | None]:
    """Allow None, too."""
    return Rule(
        f"{rule.text}, or None", lambda value: None if value is None else rule.convert(value)
    )


def list_of(rule: Rule[First], text: str, size: int | None = None) -> Rule[tuple[First, ...]]:
    """Allow sequences, of length ``size`` if given, whose items satisfy a rule."""

    def convert(value: object) -> tuple[First, ...]:
        if not isinstance(value, Iterable) or isinstance(value, str):
            raise TypeError
        items = tuple(rule.convert(item) for item in value)
        if size not in (None, len(items)):
            raise ValueError
        return items

    return Rule(text, convert)


def either(first: Rule[First], second: Rule[Second]) -> Rule[First | Second]:
    """Allow the values of two rules."""

    def convert(value: object) -> First | Second:
        try:
            return first.convert(value)
        except AboveLimitError:
            raise
        except (TypeError, ValueError, OverflowError):
            return second.convert(value)

    return Rule(f"{first.text}, or {second.text}", convert)


def one_of(*names: str) -> Rule[str]:
    """Allow some strings."""

    def convert(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError
        return value

    return Rule(" or ".join(repr(name) for name in names), convert)


def instance_of(kind: type[First], words: str) -> Rule[First]:
    """Allow objects of a class, which ``words`` describe."""

    def convert(value: object) -> First:
        if not isinstance(value, kind):
            raise ValueError
        return value

    return Rule(words, convert)


def named_or(*names: str, kind: type[First], words: str) -> Rule[str | First]:
    """Allow some names and any config of a kind, which ``words`` describe."""
    rule = either(instance_of(kind, words), one_of(*names))
    return Rule(f"{one_of(*names).text} or {words} of your own", rule.convert)
