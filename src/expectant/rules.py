"""What values an argument may take: one rule, one sentence, used by every description."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rule:
    """``convert`` returns the value in its plain type, or raises if the rule is broken."""

    text: str
    convert: Callable[[Any], Any]

    def check(self, owner: str, argument: str, value: Any) -> Any:
        try:
            return self.convert(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{owner}: {argument} must be {self.text}, got {value!r}") from None


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def _number(value: Any) -> float:
    _require(isinstance(value, numbers.Real) and not isinstance(value, bool))
    number = float(value)
    _require(math.isfinite(number))
    return number


def _whole(value: Any) -> int:
    _require(isinstance(value, numbers.Integral) and not isinstance(value, bool))
    return int(value)


def number() -> Rule:
    return Rule("a finite number", _number)


def at_least(low: float) -> Rule:
    def convert(value: Any) -> float:
        result = _number(value)
        _require(result >= low)
        return result

    return Rule(f"a finite number, {low:g} or more", convert)


def between(low: float, high: float) -> Rule:
    def convert(value: Any) -> float:
        result = _number(value)
        _require(low <= result <= high)
        return result

    return Rule(f"a number from {low:g} to {high:g}", convert)


def whole(low: int) -> Rule:
    def convert(value: Any) -> int:
        result = _whole(value)
        _require(result >= low)
        return result

    return Rule(f"a whole number, {low} or more", convert)


def flag() -> Rule:
    def convert(value: Any) -> bool:
        _require(isinstance(value, bool))
        return bool(value)

    return Rule("True or False", convert)


def or_none(rule: Rule) -> Rule:
    return Rule(
        f"{rule.text}, or None", lambda value: None if value is None else rule.convert(value)
    )


def either(first: Rule, second: Rule) -> Rule:
    """What one of two rules allows."""

    def convert(value: Any) -> Any:
        try:
            return first.convert(value)
        except (TypeError, ValueError, OverflowError):
            return second.convert(value)

    return Rule(f"{first.text}, or {second.text}", convert)


def one_of(*names: str, or_part: str | None = None) -> Rule:
    """One of some names; with ``or_part``, also any description of that kind."""

    def convert(value: Any) -> Any:
        if or_part is not None and hasattr(value, "build"):
            return value
        _require(isinstance(value, str) and value in names)
        return value

    text = " or ".join(repr(name) for name in names)
    return Rule(text if or_part is None else f"{text} or {or_part} of your own", convert)
