"""Varied settings: ``grid`` and ``linked`` tables, and the points that they expand to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from expectant.core.config import find_kind
from expectant.core.rules import Rule, flag, number
from expectant.experiments.toml_tables import (
    ConfigError,
    check_known,
    checked,
    inside,
    key,
    read_table,
    table,
    tables,
)

Path = tuple[str, ...]  # such as ("agents", "lookahead", "model", "step")
EVERY = "*"  # in place of an agent's name: every agent that has the option
PARTS = ("domain", "features", "agents")
VARIED = ("grid", "linked")
MOST_TRIALS = 100_000


def _finite(value: object) -> Any:
    number().convert(value)
    return value  # as given: two integers make a range of integers


def _values(value: object) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError
    return value


VALUES = Rule("a list of values, or in a grid a range {low = …, high = …}", _values)


@dataclass(frozen=True)
class Range:
    """An interval of numbers to search, uniformly in their logarithm if ``log``."""

    low: float = key(Rule("a finite number", _finite))
    high: float = key(Rule("a finite number", _finite))
    log: bool = key(flag(), False)

    def __post_init__(self) -> None:
        if not self.low < self.high or (self.log and self.low <= 0):
            rule = "0 < low < high" if self.log else "low < high"
            raise ConfigError(f"must have {rule}, got {self.low} and {self.high}")

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)


@dataclass(frozen=True, kw_only=True)
class Varied:
    """The keys that list values, of a whole config or of one part's table."""

    grid: Mapping[str, Any] = key(table(), {})
    linked: tuple[Mapping[str, Any], ...] = key(tables(), ())


@dataclass(frozen=True)
class Axis:
    """Settings that change together: ``rows`` hold a value for each of the ``paths``.

    An axis of one path may have a ``range`` instead of rows.
    """

    paths: tuple[Path, ...]
    rows: tuple[tuple[object, ...], ...]
    where: str
    range: Range | None = None

    def concerning(self, agent: str, options: set[str]) -> Axis | None:
        """Return the part of the axis that matters to one agent; None if nothing does."""
        kept = [n for n, path in enumerate(self.paths) if _concerns(path, agent, options)]
        if not kept:
            return None
        rows = {
            tuple(value_text(row[n]) for n in kept): tuple(row[n] for n in kept)
            for row in self.rows
        }
        paths = tuple(self.paths[n] for n in kept)
        return Axis(paths, tuple(rows.values()), self.where, self.range)


def _concerns(path: Path, agent: str, options: set[str]) -> bool:
    of_all = path[0] == "agents" and path[1] == EVERY and path[2] in options
    return of_all or path[0] != "agents" or path[1] == agent


@dataclass(frozen=True)
class PanelConfig:
    """One panel's tables, as data, and what is varied in them."""

    name: str
    domain: Mapping[str, object]
    features: Mapping[str, object]
    agents: Mapping[str, Mapping[str, object]]
    axes: tuple[Axis, ...] = ()
    title: str = ""

    def axes_for(self, agent: str) -> list[Axis]:
        """Return what is varied for one agent."""
        options = parameters_of_table(self.agents[agent])
        axes = (axis.concerning(agent, options) for axis in self.axes)
        return [axis for axis in axes if axis is not None]


Point = dict[str, Any]  # arguments of a trial, its parts still as tables


def dotted(path: Path) -> str:
    return ".".join(path)


def leaves(table: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every (path, value) of nested tables; a quoted key with dots is a path too."""
    for name, value in table.items():
        path = (*above, *name.split("."))
        if isinstance(value, dict) and not _is_range(value):
            yield from leaves(value, path)
        else:
            yield path, value


def settings_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return every setting of what ``to_dict`` wrote, by its dotted path.

    A fixed step size is its number; what it is per and its bound stand below it. Settings of an
    agent inside another are those of the agent, as in a spec, unless the outer one has them too.
    """
    found, flat = dict(leaves(described)), dict[str, Any]()
    fixed = {path[:-1] for path, value in found.items() if path[-1] == "kind" and value == "fixed"}
    for path, value in found.items():
        if path[:-1] in fixed and path[-1] == "kind":
            continue
        own = path[:-1] if path[:-1] in fixed and path[-1] == "step" else path
        short = own
        while short[:2] == ("agent", "agent"):
            short = short[1:]
        flat[dotted(own if short in found else short)] = value
    return flat


def _is_range(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and set(value) <= {"low", "high", "log"}


def value_text(value: Any) -> str:
    """Write a value as it stands in the id of a trial: the same for equal settings."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list):
        return "[" + ",".join(map(value_text, value)) + "]"
    if isinstance(value, dict):
        inner = ",".join(f"{k}={value_text(v)}" for k, v in sorted(value.items()) if k != "kind")
        return str(value.get("kind", "")) + (f"({inner})" if inner else "")
    return str(value)


def parameters_of_table(table: Mapping[str, Any]) -> set[str]:
    """Return the parameters of the part that a table describes; none if its kind is unknown.

    A wrapper has those of the agent inside, too.
    """
    try:
        kind: Any = find_kind(table.get("kind"))
    except (TypeError, ValueError):
        return set()
    inner = table.get("agent")
    known = {"preset", *kind.__dataclass_fields__}
    if table.get("preset") == "paper":
        known |= {"step_unit"} | ({"replay_capacity"} if "backups" in known else set())
    return known | (parameters_of_table(inner) if isinstance(inner, Mapping) else set())


def make_panel(
    name: str,
    domain: Mapping[str, Any],
    features: Mapping[str, Any],
    agents: Mapping[str, Mapping[str, Any]],
    common: Varied,
    title: str,
) -> PanelConfig:
    """Collect what is varied in a panel, in the tables of its parts and for the whole config."""
    owners: dict[Path, Mapping[str, Any]] = {("domain",): domain, ("features",): features}
    owners |= {("agents", agent): table for agent, table in agents.items()}
    axes = [*_axes(common, ())]
    for above, own in owners.items():
        with inside(*above):
            varied = read_table(Varied, {name: own[name] for name in VARIED if name in own})
        axes += _axes(varied, above)
    for axis in axes:
        for path in axis.paths:
            _check_path(path, axis.where, agents)
    plain = {
        above: {key: value for key, value in own.items() if key not in VARIED}
        for above, own in owners.items()
    }
    plain_agents = {agent: plain["agents", agent] for agent in agents}
    panel = PanelConfig(
        name, plain["domain",], plain["features",], plain_agents, tuple(axes), title
    )
    _check_varied_once(panel)
    return panel


def _axes(varied: Varied, above: Path) -> Iterator[Axis]:
    """Read the axes of a table; their paths go on from ``above``."""
    for path, values in leaves(varied.grid):
        where, full = dotted((*above, "grid", *path)), (*above, *path)
        if _is_range(values):
            with inside(where):
                yield Axis((full,), (), where, read_table(Range, values))
            continue
        rows = tuple((value,) for value in checked(VALUES, values, where))
        if len({value_text(value) for (value,) in rows}) < len(rows):
            raise ConfigError(f"must be a list of different values, got {values!r}", where)
        yield Axis((full,), rows, where)
    for place, linked in enumerate(varied.linked):
        where = dotted((*above, "linked", str(place)))
        columns = {path: checked(VALUES, values, where, *path) for path, values in leaves(linked)}
        lengths = {dotted(path): len(values) for path, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ConfigError(f"must be lists of one length, got {lengths}", where)
        rows = tuple(zip(*columns.values(), strict=True))
        if len({tuple(map(value_text, row)) for row in rows}) < len(rows):
            raise ConfigError("must be different combinations, got one of them twice", where)
        if columns:
            yield Axis(tuple((*above, *path) for path in columns), rows, where)


def _check_path(path: Path, where: str, agents: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a setting that no part of the experiment can have."""
    check_known("must begin with domain, features or agents, got", path[:1], [*PARTS], where)
    if len(path) < (3 if path[0] == "agents" else 2) or not all(path):
        raise ConfigError("must name a setting, such as domain.slip", where)
    if path[0] == "agents" and path[1] == EVERY:
        options = set().union(*(parameters_of_table(table) for table in agents.values()))
        check_known("no agent has the option", [path[2]], sorted(options), where)
    elif path[0] == "agents":
        check_known("there is no agent", [path[1]], sorted(agents), where)


def _check_varied_once(panel: PanelConfig) -> None:
    for agent in panel.agents:
        seen: dict[Path, str] = {}
        for axis in panel.axes_for(agent):
            for path in axis.paths:
                setting = path[2:] if path[0] == "agents" else path
                if setting in seen:
                    raise ConfigError(
                        f"must be varied in one place, got {seen[setting]} as well", axis.where
                    )
                seen[setting] = axis.where


def check_size(panels: Sequence[PanelConfig]) -> None:
    """Refuse more trials than anybody can run, before they are expanded."""
    total = sum(
        math.prod(max(1, len(axis.rows)) for axis in panel.axes_for(agent))
        for panel in panels
        for agent in panel.agents
    )
    if total > MOST_TRIALS:
        raise ConfigError(f"must ask for at most {MOST_TRIALS:,} trials, got {total:,}", "grid")


def points(panel: PanelConfig) -> Iterator[Point]:
    """Yield every agent of a panel in every combination of what is varied."""
    for agent in panel.agents:
        axes = panel.axes_for(agent)
        for axis in axes:
            if axis.range is not None:
                raise ConfigError("is a range, which only a search can try", axis.where)
        for rows in itertools.product(*(axis.rows for axis in axes)):
            yield point(panel, agent, combine_rows(axes, rows))


def combine_rows(axes: Sequence[Axis], rows: Sequence[tuple[Any, ...]]) -> dict[Path, Any]:
    """Return the settings that a row of every axis stands for."""
    return {
        path: value
        for axis, row in zip(axes, rows, strict=True)
        for path, value in zip(axis.paths, row, strict=True)
    }


def point(panel: PanelConfig, agent: str, settings: Mapping[Path, Any]) -> Point:
    """Replace settings of one agent in a panel, and name the point by them.

    ``panel`` and ``agent_key`` identify the trial; ``base_panel`` and ``base_agent`` are
    the names in the config.
    """
    filled = {"domain": panel.domain, "features": panel.features, "agents": panel.agents[agent]}
    around, own = list[str](), list[str]()
    label = str(filled["agents"].get("label", agent))
    for path, value in settings.items():
        inner = path[2:] if path[0] == "agents" else path[1:]
        filled[path[0]] = _with_setting(filled[path[0]], inner, value, dotted(path))
        if path[0] == "agents":
            own.append(f"{dotted(inner)}={value_text(value)}")
            shown = value.get("kind", value) if isinstance(value, dict) else value
            label += f", {dotted(inner)} {shown}"
        else:
            around.append(f"{dotted(path)}={value_text(value)}")
    return {
        "panel": " ".join(filter(None, [panel.name, *sorted(around)])),
        "agent_key": " ".join([agent, *sorted(own)]),
        "label": label,
        "domain": filled["domain"],
        "features": filled["features"],
        "agent": {name: value for name, value in filled["agents"].items() if name != "label"},
        "base_panel": panel.name,
        "base_agent": agent,
        "panel_title": panel.title,
    }


def _with_setting(table: Mapping[str, Any], path: Path, value: Any, where: str) -> dict[str, Any]:
    """Copy a table with one setting, however deep, replaced."""
    first, rest = path[0], path[1:]
    if not rest:
        return {**table, first: value}
    inner = table.get(first)
    if not isinstance(inner, dict):
        raise ConfigError(
            f"{first} must be a table with a kind before its settings can be listed, got {inner!r}",
            where,
        )
    return {**table, first: _with_setting(inner, rest, value, where)}
