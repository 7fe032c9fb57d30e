"""Plain data as TOML text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any


def to_toml(data: Mapping[str, Any]) -> str:
    """The text from which ``tomllib`` reads the same data."""
    return "\n".join(_lines(data)) + "\n"


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    tables = {key: item for key, item in data.items() if isinstance(item, Mapping) and item}
    for key, item in data.items():
        if key not in tables:
            yield f"{_key(key)} = {_value(item)}"
    for key, table in tables.items():
        yield f"\n[{_key(key)}]"
        for inner, item in table.items():
            yield f"{_key(inner)} = {_value(item)}"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _value(item: Any) -> str:
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, str):
        return _text(item)
    if isinstance(item, list | tuple):
        return "[" + ", ".join(map(_value, item)) + "]"
    if isinstance(item, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in item.items())
        return "{ " + inside + " }" if inside else "{}"
    if item is None:  # which TOML lacks
        return '"none"'
    raise ValueError(f"to_toml: cannot write {item!r}")


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
