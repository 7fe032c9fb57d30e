"""Mistakes in specs, and the checks of plain values that find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from expectant.descriptions import near_miss
from expectant.rules import Rule

Plain = TypeVar("Plain")


class SpecError(ValueError):
    """A mistake in a spec; says where, what, and what would be right."""


def check_rule(path: str, rule: Rule[Plain], value: object) -> Plain:
    """The value in its plain type."""
    try:
        return rule.convert(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise SpecError(f"{path}: {rule.broken(value, error)}") from None


def check_keys(path: str, data: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a key that is not known; ``path`` ends with a dot or is empty."""
    for key in data:
        if key not in known:
            raise SpecError(f"{path}{key}: unknown key" + near_miss(key, list(known)))


def check_text(path: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SpecError(f"{path}: must be a text, got {value!r}")
    return value


def check_texts(path: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SpecError(f"{path}: must be a list of texts, got {value!r}")
    return value


def check_table(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SpecError(f"{path}: must be a table, got {value!r}")
    return value


def check_tables(path: str, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise SpecError(f"{path}: must be a list of tables, got {value!r}")
    return value
