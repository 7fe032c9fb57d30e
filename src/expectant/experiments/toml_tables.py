"""Config files: TOML tables read into config classes, checked down to the last key.

A config class is a frozen dataclass whose fields are declared with :func:`key`. It lists the keys
of a table with their rules and defaults; :func:`read_table` does the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from expectant.core.config import suggest_name
from expectant.core.rules import Rule

Config = TypeVar("Config")
Plain = TypeVar("Plain")
REQUIRED = dataclasses.MISSING


class ConfigError(ValueError):
    """A mistake in a config file: the ``path`` of tables and key, and what is wrong there."""

    def __init__(self, text: str, *path: object) -> None:
        self.text, self.path = text, path
        super().__init__(f"{'.'.join(map(str, path))}: {text}" if path else text)


@contextlib.contextmanager
def inside(*path: object) -> Iterator[None]:
    """Name the tables in which a mistake is."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(error.text, *path, *error.path) from None


@contextlib.contextmanager
def in_file(name: object) -> Iterator[None]:
    """Name the file in which a mistake is."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def key(rule: Rule[Any], default: Any = REQUIRED) -> Any:
    """Declare a key of a table: the rule of its values, and the default unless it is required."""
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata={"rule": rule})
    return dataclasses.field(default=default, metadata={"rule": rule})


def read_table(cls: type[Config], data: Any) -> Config:
    """Read a table into a config class."""
    fields: Any = dataclasses.fields(cls)  # type: ignore[arg-type]
    rules: dict[str, Rule[Any]] = {field.name: field.metadata["rule"] for field in fields}
    if not isinstance(data, dict):
        raise ValueError
    check_known("unknown key", data, [*rules])
    for field in fields:
        if (
            field.name not in data
            and field.default is REQUIRED
            and field.default_factory is REQUIRED
        ):
            raise ConfigError(f"is missing; it must be {rules[field.name].text}", field.name)
    return cls(**{name: checked(rules[name], value, name) for name, value in data.items()})


def checked(rule: Rule[Plain], value: object, *path: object) -> Plain:
    """Convert the value at a path to what its rule makes of it."""
    with inside(*path):
        try:
            return rule.convert(value)
        except ConfigError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ConfigError(rule.violation(value, error)) from None


def check_known(what: str, names: Iterable[object], known: list[str], *path: object) -> None:
    """Refuse a name that is not known, with its near miss; an unknown key is its own path."""
    for name in names:
        if name not in known:
            if what == "unknown key":
                raise ConfigError(what + suggest_name(str(name), known), *path, name)
            raise ConfigError(f"{what} {name!r}" + suggest_name(str(name), known), *path)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _plain_table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError
    return value


def text() -> Rule[str]:
    return Rule("a text", _text)


def table(cls: type[Any] | None = None) -> Rule[Any]:
    """A table of a config class; without one, any."""
    return Rule("a table", _plain_table if cls is None else lambda value: read_table(cls, value))


def table_of(rule: Rule[Plain]) -> Rule[dict[str, Plain]]:
    """A table whose values obey a rule."""
    return Rule(
        "a table",
        lambda value: {name: checked(rule, one, name) for name, one in _plain_table(value).items()},
    )


def list_of(rule: Rule[Plain], words: str) -> Rule[tuple[Plain, ...]]:
    """A list of values that obey a rule, called "a list of" ``words``."""

    def convert(value: object) -> tuple[Plain, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError
        return tuple(checked(rule, one, place) for place, one in enumerate(value))

    return Rule(f"a list of {words}", convert)


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


def config_hash(data: Mapping[str, Any]) -> str:
    """Hash the contents of a config file; order, comments and layout do not matter."""
    text = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


# ------------------------------------------------------------------------------------ writing TOML


def to_toml(data: Mapping[str, Any]) -> str:
    """The text from which ``tomllib`` reads the same data."""
    return "\n".join(_lines(data)) + "\n"


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    tables = {key: item for key, item in data.items() if isinstance(item, Mapping) and item}
    for key, item in data.items():
        if key not in tables:
            yield f"{_toml_key(key)} = {_toml_value(item)}"
    for key, table in tables.items():
        yield f"\n[{_toml_key(key)}]"
        for inner, item in table.items():
            yield f"{_toml_key(inner)} = {_toml_value(item)}"


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_text(key)


def _toml_value(item: Any) -> str:
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, str):
        return _toml_text(item)
    if isinstance(item, list | tuple):
        return "[" + ", ".join(map(_toml_value, item)) + "]"
    if isinstance(item, Mapping):
        inside = ", ".join(
            f"{_toml_key(key)} = {_toml_value(inner)}" for key, inner in item.items()
        )
        return "{ " + inside + " }" if inside else "{}"
    if item is None:  # which TOML lacks
        return '"none"'
    raise ValueError(f"to_toml: cannot write {item!r}")


def _toml_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
