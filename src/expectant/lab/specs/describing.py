"""From the tables of a spec to descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from expectant.descriptions import KINDS, Description, kind_named, near_miss
from expectant.lab.specs.spec_errors import SpecError
from expectant.parts import Agent


class Describer:
    """Makes descriptions from tables; equal tables give one description.

    With ``trust`` it imports what tables name and this process does not know yet.
    """

    def __init__(self, trust: bool = False) -> None:
        self._trust = trust
        self._known: dict[str, Any] = {}

    def __call__(self, base: type[Description], path: str, table: Mapping[str, Any]) -> Any:
        if base is Agent:
            return _checked(base, path, table, self._trust)
        key = repr((base, table))
        if key not in self._known:
            self._known[key] = _checked(base, path, table, self._trust)
        return self._known[key]


def _checked(base: type[Description], path: str, table: Mapping[str, Any], trust: bool) -> Any:
    known = sorted(name for name, found in KINDS.items() if issubclass(found, base))
    name = table.get("kind")
    if name is None:
        raise SpecError(f"{path}.kind: is missing (known: {', '.join(known)})")
    if name not in known and ":" not in str(name):  # otherwise it is to be imported
        raise SpecError(f"{path}.kind: unknown {name!r}" + near_miss(str(name), known))
    try:
        return base.from_dict({key: _value(item) for key, item in table.items()}, trust=trust)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise SpecError(f"{path}: {error}") from None


def _value(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _value(inner) for key, inner in item.items()}
    return None if isinstance(item, str) and item == "none" else item


def settle_kinds(data: Any, trust: bool) -> None:
    """Import every class that a spec names, or refuse it, before anything asks for its options."""
    for path, kind in _kinds_in(data, ()):
        try:
            kind_named(kind, trust=trust)
        except ValueError as error:
            raise SpecError(f"{'.'.join(path)}: {error}") from None


def _kinds_in(data: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every "module:Class" with the place where it stands."""
    if isinstance(data, list):
        for item in data:
            yield from _kinds_in(item, path)
    elif isinstance(data, Mapping):
        for key, item in data.items():
            if str(key).rpartition(".")[2] == "kind":
                listed = item if isinstance(item, list) else [item]
                yield from ((path, kind) for kind in listed if ":" in str(kind))
            yield from _kinds_in(item, (*path, str(key)))
