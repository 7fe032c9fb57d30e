"""From the tables of a spec to descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from expectant.agents.planner import Agent
from expectant.descriptions import KINDS, Description, near_miss
from expectant.experiments.mistakes import SpecError


class Describer:
    """Makes descriptions from tables; equal tables give one description."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __call__(self, base: type[Description], path: str, table: Mapping[str, Any]) -> Any:
        if base is Agent:
            return _checked(base, path, table)
        key = repr((base, table))
        if key not in self._known:
            self._known[key] = _checked(base, path, table)
        return self._known[key]


def _checked(base: type[Description], path: str, table: Mapping[str, Any]) -> Any:
    known = sorted(name for name, found in KINDS.items() if issubclass(found, base))
    name = table.get("kind")
    if name is None:
        raise SpecError(f"{path}.kind: is missing (known: {', '.join(known)})")
    if name not in known and ":" not in str(name):  # otherwise it is to be imported
        raise SpecError(f"{path}.kind: unknown {name!r}" + near_miss(str(name), known))
    try:
        return base.from_dict({key: _value(item) for key, item in table.items()})
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise SpecError(f"{path}: {error}") from None


def _value(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _value(inner) for key, inner in item.items()}
    return None if isinstance(item, str) and item == "none" else item
