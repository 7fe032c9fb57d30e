"""The paper's figures and readings, read from the files beside this one."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from expectant.experiments.spec import Changes, Experiment, parse_spec

FIGURES = ("1", "3", "4a", "4b", "5a", "5b")
SETS = ("text", "code")


@dataclass(frozen=True)
class Option:
    """One way to read an open question."""

    name: str
    sets: tuple[str, ...]
    changes: Changes


@dataclass(frozen=True)
class Reading:
    """An open question of the paper, its options, and the figures it concerns (none: all)."""

    name: str
    question: str
    figures: tuple[str, ...]
    options: tuple[Option, ...]

    def concerns(self, figure: str) -> bool:
        return not self.figures or figure in self.figures

    def chosen(self, named_set: str) -> Option:
        """The option that belongs to a named set."""
        return next(option for option in self.options if named_set in option.sets)


@cache
def figure(name: str) -> Experiment:
    """The experiment of a figure, as printed and read with the first options."""
    file = f"figure-{name}.toml"
    return parse_spec(resources.files("expectant").joinpath("studies", "kudashkina-2021", file).read_text("utf-8"), file)


@cache
def readings() -> tuple[Reading, ...]:
    """All open questions."""
    text = resources.files("expectant").joinpath("studies", "kudashkina-2021", "readings.toml").read_text("utf-8")
    return tuple(_reading(table) for table in tomllib.loads(text)["readings"])


def _reading(table: dict[str, Any]) -> Reading:
    options = tuple(
        Option(option["name"], tuple(option.get("sets", ())), Changes(**option["changes"]))
        for option in table["options"]
    )
    return Reading(table["name"], table["question"], tuple(table.get("figures", ())), options)


def read(name: str, named_set: str, *, instead: tuple[Reading, Option] | None = None) -> Experiment:
    """A figure's experiment under a named set, with one reading changed if ``instead`` says so."""
    experiment = figure(name)
    for reading in readings():
        if reading.concerns(name):
            option = reading.chosen(named_set)
            if instead is not None and instead[0] == reading:
                option = instead[1]
            experiment = experiment.changed(option.changes)
    return experiment
