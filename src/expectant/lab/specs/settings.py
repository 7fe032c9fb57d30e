"""Settings by their place in a spec: paths such as ``agents.lookahead.model.step``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from expectant.descriptions import kind_named
from expectant.lab.specs.spec_errors import SpecError

Path = tuple[str, ...]
EVERY = "*"  # in place of an agent's name: every agent that has the option


def dotted(path: Path) -> str:
    return ".".join(path)


def leaves(table: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every (path, value) of nested tables; a quoted key with dots is a path too."""
    for key, value in table.items():
        path = (*above, *key.split("."))
        if isinstance(value, dict) and not is_range(value):
            yield from leaves(value, path)
        else:
            yield path, value


def is_range(value: Any) -> bool:
    """Whether a table is ``{low = …, high = …}``, with ``log`` if it likes."""
    return isinstance(value, dict) and bool(value) and set(value) <= {"low", "high", "log"}


def with_setting(table: Mapping[str, Any], path: Path, value: Any, where: str) -> dict[str, Any]:
    """A copy of a table in which one setting, however deep, has another value."""
    key, rest = path[0], path[1:]
    if not rest:
        return {**table, key: value}
    inner = table.get(key)
    if not isinstance(inner, dict):
        raise SpecError(
            f"{where}: {key} must be a table with a kind before its settings can be listed, "
            f"got {inner!r}"
        )
    return {**table, key: with_setting(inner, rest, value, where)}


def options_of_table(table: Mapping[str, Any]) -> set[str]:
    """The options of the part that a table describes; none if its kind is not known."""
    kind = table.get("kind")
    try:
        found: Any = kind_named(kind)
    except (TypeError, ValueError):
        return set()
    return set(found.__dataclass_fields__)


def word(value: Any) -> str:
    """A value as it stands in the id of a cell: the same for equal settings."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list):
        return "[" + ",".join(map(word, value)) + "]"
    if isinstance(value, dict):
        inner = ",".join(f"{k}={word(v)}" for k, v in sorted(value.items()) if k != "kind")
        return str(value.get("kind", "")) + (f"({inner})" if inner else "")
    return str(value)
