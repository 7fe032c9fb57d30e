"""What a sweep varies: lists of values, values that change together, and ranges to search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from expectant.descriptions import near_miss
from expectant.lab.specs.settings import (
    EVERY,
    Path,
    dotted,
    is_range,
    leaves,
    options_of_table,
    word,
)
from expectant.lab.specs.spec_errors import SpecError, check_keys, check_table, check_tables

LOCAL = ("grid", "linked")  # keys of a part's own table that say what of it is varied


@dataclass(frozen=True)
class Range:
    """A stretch of numbers to search, evenly in their logarithm if ``log``."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)


@dataclass(frozen=True)
class Axis:
    """Settings that change together: ``rows`` hold a value for each of the ``paths``.

    An axis of one path may have a ``range`` instead of rows.
    """

    paths: tuple[Path, ...]
    rows: tuple[tuple[object, ...], ...]
    where: str
    range: Range | None = None

    def concerning(self, agent: str, table: Mapping[str, object]) -> Axis | None:
        """The part of the axis that matters to one agent; None if nothing does."""
        options = options_of_table(table)
        kept = [n for n, path in enumerate(self.paths) if _concerns(path, agent, options)]
        if not kept:
            return None
        rows = {tuple(word(row[n]) for n in kept): tuple(row[n] for n in kept) for row in self.rows}
        paths = tuple(self.paths[n] for n in kept)
        return Axis(paths, tuple(rows.values()), self.where, self.range)


def _concerns(path: Path, agent: str, options: set[str]) -> bool:
    if path[0] != "agents":
        return True
    return path[1] == agent or (path[1] == EVERY and path[2] in options)


def axes_of(data: Mapping[str, Any], above: Path = (), where: str = "") -> Iterator[Axis]:
    """The axes in the ``grid`` and ``linked`` of a table; their paths go on from ``above``."""
    grid = check_table(f"{where}grid", data.get("grid", {}))
    for path, values in leaves(grid):
        yield _single((*above, *path), values, f"{where}grid.{dotted(path)}")
    for number, table in enumerate(check_tables(f"{where}linked", data.get("linked", []))):
        if table:
            yield _linked(dict(leaves(table)), above, f"{where}linked.{number}")


def _single(path: Path, values: Any, where: str) -> Axis:
    if is_range(values):
        return Axis((path,), (), where, _range(values, where))
    _check_values(values, where, "a list of values, or a range {low = …, high = …}")
    if len(set(map(word, values))) < len(values):
        raise SpecError(f"{where}: must be a list of different values, got {values!r}")
    return Axis((path,), tuple((value,) for value in values), where)


def _linked(columns: Mapping[Path, Any], above: Path, where: str) -> Axis:
    for path, values in columns.items():
        _check_values(values, f"{where}.{dotted(path)}", "a list of values")
    lengths = {dotted(path): len(values) for path, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise SpecError(f"{where}: must be lists of one length, got {lengths}")
    rows = tuple(zip(*columns.values(), strict=True))
    if len({tuple(map(word, row)) for row in rows}) < len(rows):
        raise SpecError(f"{where}: must be different combinations, got one of them twice")
    return Axis(tuple((*above, *path) for path in columns), rows, where)


def _check_values(values: Any, where: str, text: str) -> None:
    if not isinstance(values, list) or not values:
        raise SpecError(f"{where}: must be {text}, got {values!r}")


def _range(table: Mapping[str, Any], where: str) -> Range:
    check_keys(f"{where}.", table, ["low", "high", "log"])
    low, high, log = table.get("low"), table.get("high"), table.get("log", False)
    if not _finite(low) or not _finite(high):
        raise SpecError(f"{where}: must have finite numbers as low and high, got {dict(table)!r}")
    if not isinstance(log, bool):
        raise SpecError(f"{where}.log: must be true or false, got {log!r}")
    found = Range(low, high, log)  # type: ignore[arg-type]
    if not found.low < found.high or (log and found.low <= 0):
        rule = "0 < low < high" if log else "low < high"
        raise SpecError(f"{where}: must have {rule}, got {dict(table)!r}")
    return found


def _finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -1e300 < value < 1e300


def check_paths(axes: list[Axis], agents: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse axes over settings that no part of the experiment can have."""
    for axis in axes:
        for path in axis.paths:
            if path[0] not in ("domain", "features", "agents"):
                known = ["domain", "features", "agents"]
                raise SpecError(
                    f"{axis.where}: must begin with domain, features or agents, "
                    f"got {path[0]!r}" + near_miss(path[0], known)
                )
            if len(path) < (3 if path[0] == "agents" else 2) or not all(path):
                raise SpecError(f"{axis.where}: must name a setting, such as domain.slip")
            if path[0] == "agents":
                _check_agent(axis, path, agents)


def _check_agent(axis: Axis, path: Path, agents: Mapping[str, Mapping[str, Any]]) -> None:
    if path[1] == EVERY:
        options = set().union(*(options_of_table(table) for table in agents.values()))
        if path[2] not in options:
            raise SpecError(
                f"{axis.where}: no agent has the option {path[2]!r}"
                + near_miss(path[2], sorted(options))
            )
    elif path[1] not in agents:
        raise SpecError(
            f"{axis.where}: there is no agent {path[1]!r}" + near_miss(path[1], sorted(agents))
        )
