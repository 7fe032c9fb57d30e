"""Readings as they are written down in TOML: open questions, and the options of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from expectant.descriptions import near_miss
from expectant.lab.specs.spec import Changes
from expectant.lab.specs.spec_errors import (
    SpecError,
    check_keys,
    check_table,
    check_tables,
    check_text,
    check_texts,
)


@dataclass(frozen=True)
class ReadingOption:
    """One way to read an open question."""

    name: str
    sets: tuple[str, ...]
    changes: Changes
    source: str = ""


@dataclass(frozen=True)
class Reading:
    """An open question, its options, and the figures it concerns (none: all)."""

    name: str
    question: str
    figures: tuple[str, ...]
    options: tuple[ReadingOption, ...]

    def concerns(self, figure: str) -> bool:
        return not self.figures or figure in self.figures

    def chosen(self, named_set: str) -> ReadingOption:
        """The option that belongs to a named set."""
        return next(option for option in self.options if named_set in option.sets)


def readings_in(
    data: Mapping[str, Any], sets: tuple[str, ...], figures: tuple[str, ...]
) -> Iterator[Reading]:
    """The readings in the data of a file, with options in some sets, about some figures."""
    check_keys("", data, ["readings"])
    for place, table in enumerate(check_tables("readings", data.get("readings", []))):
        yield _reading(table, f"readings.{place}", sets, figures)


def _reading(
    table: Mapping[str, Any], where: str, sets: tuple[str, ...], figures: tuple[str, ...]
) -> Reading:
    check_keys(f"{where}.", table, ["name", "question", "figures", "options", "source"])
    concerned = tuple(check_texts(f"{where}.figures", table.get("figures", [])))
    for figure in concerned:
        if figure not in figures:
            raise SpecError(
                f"{where}.figures: no figure {figure!r}" + near_miss(figure, [*figures])
            )
    options = tuple(
        _option(option, f"{where}.options.{number}", sets)
        for number, option in enumerate(check_tables(f"{where}.options", table.get("options", [])))
    )
    for named_set in sets:
        count = sum(named_set in option.sets for option in options)
        if count != 1:
            raise SpecError(f"{where}.options: one must be in the set {named_set!r}, got {count}")
    return Reading(
        check_text(f"{where}.name", table.get("name")),
        check_text(f"{where}.question", table.get("question", "")),
        concerned,
        options,
    )


def _option(table: Mapping[str, Any], where: str, sets: tuple[str, ...]) -> ReadingOption:
    check_keys(f"{where}.", table, ["name", "sets", "changes", "source"])
    own = tuple(check_texts(f"{where}.sets", table.get("sets", [])))
    for name in own:
        if name not in sets:
            raise SpecError(f"{where}.sets: no set {name!r}" + near_miss(name, [*sets]))
    changes = check_table(f"{where}.changes", table.get("changes", {}))
    check_keys(f"{where}.changes.", changes, ["domain", "features", "agents", "kinds"])
    source = check_text(f"{where}.source", table.get("source", ""))
    name = check_text(f"{where}.name", table.get("name"))
    return ReadingOption(name, own, Changes(**changes), source)
