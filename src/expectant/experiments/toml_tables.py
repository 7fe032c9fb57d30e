"""TOML tables read into config classes, checked down to the last key, and written as TOML.

A config class is a frozen dataclass. Its fields declared with :func:`key` are the keys of a table,
with their rules and defaults; :func:`read_table` does the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from expectant.core.config import suggest_name
from expectant.core.rules import Rule, instance_of

Config = TypeVar("Config")
Plain = TypeVar("Plain")
REQUIRED = dataclasses.MISSING


class ConfigError(ValueError):
    """A mistake in a config file: the ``path`` of tables and key, and the problem there."""

    def __init__(self, text: str, *path: object) -> None:
        self.text, self.path = text, path
        super().__init__(f"{'.'.join(map(str, path))}: {text}" if path else text)


@contextlib.contextmanager
def inside(*path: object) -> Iterator[None]:
    """Name the tables and the key that contain a mistake; any wrong value is one."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(error.text, *path, *error.path) from None
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise ConfigError(str(error), *path) from None


@contextlib.contextmanager
def in_file(name: object) -> Iterator[None]:
    """Name the file that contains a mistake."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def key(rule: Rule[Any], default: Any = REQUIRED) -> Any:
    """Declare a key of a table: the rule of its values, and a default unless it is required."""
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata={"rule": rule})
    return dataclasses.field(default=default, metadata={"rule": rule})


def read_table(cls: type[Config], data: Any) -> Config:
    """Read a table into a config class."""
    if not isinstance(data, dict):
        raise ValueError
    declared = dataclasses.fields(cls)  # type: ignore[arg-type]
    fields = {field.name: field for field in declared if "rule" in field.metadata}
    for name in data:
        if name not in fields:
            raise ConfigError("unknown key" + suggest_name(str(name), [*fields]), name)
    for name, field in fields.items():
        if name not in data and field.default is field.default_factory is REQUIRED:
            raise ConfigError(f"is missing; it must be {field.metadata['rule'].text}", name)
    rules = {name: fields[name].metadata["rule"] for name in data}
    return cls(**{name: convert(rules[name], value, name) for name, value in data.items()})


def convert(rule: Rule[Plain], value: object, *path: object) -> Plain:
    """Apply the rule of a key to the value at a path."""
    with inside(*path):
        try:
            return rule.convert(value)
        except ConfigError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ConfigError(rule.violation(value, error)) from None


def check_known(problem: str, names: Iterable[object], known: list[str], *path: object) -> None:
    """Refuse an unknown name with its near miss."""
    for name in names:
        if name not in known:
            raise ConfigError(f"{problem} {name!r}" + suggest_name(str(name), known), *path)


def text() -> Rule[str]:
    return instance_of(str, "a text")


def table(cls: type[Any] | None = None) -> Rule[Any]:
    """A table of a config class; without one, any table."""
    return Rule("a table", partial(read_table, cls)) if cls else instance_of(dict, "a table")


def table_of(rule: Rule[Plain]) -> Rule[dict[str, Plain]]:
    """A table whose values obey a rule."""

    def convert_table(data: object) -> dict[str, Plain]:
        items = table().convert(data).items()
        return {name: convert(rule, value, name) for name, value in items}

    return Rule("a table", convert_table)


def list_of(rule: Rule[Plain], words: str) -> Rule[tuple[Plain, ...]]:
    """A list of values that obey a rule, called "a list of" ``words``."""

    def convert_list(values: object) -> tuple[Plain, ...]:
        if not isinstance(values, list | tuple):
            raise ValueError
        return tuple(convert(rule, value, number) for number, value in enumerate(values))

    return Rule(f"a list of {words}", convert_list)


def texts() -> Rule[tuple[str, ...]]:
    return list_of(text(), "texts")


def tables(cls: type[Any] | None = None) -> Rule[tuple[Any, ...]]:
    return list_of(table(cls), "tables")


def read_text(path: Path) -> str:
    """Read a config file as text."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Parse a TOML text that came from ``source``."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: not TOML: {error}") from None


def hash_data(data: object) -> str:
    """Hash plain data, such as the contents of a config file; the order of keys does not matter."""
    text = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def to_toml(data: Mapping[str, Any]) -> str:
    """Write data as TOML, from which ``tomllib`` reads the same data; None is "none"."""
    tables = {name: item for name, item in data.items() if isinstance(item, Mapping) and item}
    lines = _assignments({name: item for name, item in data.items() if name not in tables})
    for name, table in tables.items():
        lines += [f"\n[{_toml_key(name)}]", *_assignments(table)]
    return "\n".join(lines) + "\n"


def _assignments(table: Mapping[str, Any]) -> list[str]:
    return [f"{_toml_key(name)} = {_toml_value(item)}" for name, item in table.items()]


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml_value(name)


def _toml_value(item: Any) -> str:
    if isinstance(item, Mapping):
        return "{" + ", ".join(_assignments(item)) + "}"
    if isinstance(item, list | tuple):
        return "[" + ", ".join(map(_toml_value, item)) + "]"
    if isinstance(item, float):
        return repr(item)  # which TOML reads also where JSON cannot: nan, inf
    if item is None or isinstance(item, str | bool | int):
        text = json.dumps("none" if item is None else item, ensure_ascii=False)
        return text.replace("\x7f", "\\u007f")
    raise ValueError(f"to_toml: cannot write {item!r}")
