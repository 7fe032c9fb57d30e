"""Settings that a config file varies: ``grid`` and ``linked`` tables, and their combinations."""

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
    convert,
    inside,
    key,
    read_table,
    table,
    tables,
)

Path = tuple[str, ...]  # such as ("agents", "lookahead", "model", "step")
Point = dict[str, Any]  # arguments of a trial, its components still as tables
EVERY = "*"  # in place of an agent's name: every agent that has the parameter
VARIED = ("grid", "linked")
MOST_TRIALS = 100_000


def _finite(value: object) -> Any:
    number().convert(value)
    return value  # not converted: two integers make a range of integers


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
    """The keys that list values, of a whole config or of one component's table."""

    grid: Mapping[str, Any] = key(table(), {})
    linked: tuple[Mapping[str, Any], ...] = key(tables(), ())


@dataclass(frozen=True)
class Axis:
    """Settings that change together: ``rows`` hold a value for each of the ``paths``.

    An axis of one path may have a ``range`` instead of rows. ``where`` is its place in the config.
    """

    paths: tuple[Path, ...]
    rows: tuple[tuple[object, ...], ...]
    where: str
    range: Range | None = None

    def restrict(self, agent: str, parameters: set[str]) -> Axis | None:
        """Keep the columns that concern one agent; None if none does."""

        def concerns(path: Path) -> bool:
            if path[0] != "agents":
                return True
            return path[1] == agent or (path[1] == EVERY and path[2] in parameters)

        kept = [n for n, path in enumerate(self.paths) if concerns(path)]
        if not kept:
            return None
        rows = [tuple(row[n] for n in kept) for row in self.rows]
        distinct = {tuple(map(value_text, row)): row for row in rows}
        paths = tuple(self.paths[n] for n in kept)
        return Axis(paths, tuple(distinct.values()), self.where, self.range)


@dataclass(frozen=True)
class PanelConfig:
    """One panel's tables, as data, and the axes along which they are varied."""

    name: str
    domain: Mapping[str, object]
    features: Mapping[str, object]
    agents: Mapping[str, Mapping[str, object]]
    axes: tuple[Axis, ...] = ()
    title: str = ""

    def axes_for(self, agent: str) -> list[Axis]:
        """Return the axes that concern one agent."""
        parameters = parameters_of_table(self.agents[agent])
        axes = (axis.restrict(agent, parameters) for axis in self.axes)
        return [axis for axis in axes if axis is not None]


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


def settings_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return every setting in the output of ``to_dict``, by its dotted path.

    A fixed step size is its number; its unit and bound stand below it. Settings of an agent inside
    another are those of the agent, as in a config file, unless the outer one has them too.
    """
    values, settings = dict(leaves(data)), dict[str, Any]()
    fixed = {path[:-1] for path, value in values.items() if path[-1] == "kind" and value == "fixed"}
    for path, value in values.items():
        if path[:-1] in fixed and path[-1] == "kind":
            continue
        full = path[:-1] if path[:-1] in fixed and path[-1] == "step" else path
        short = full
        while short[:2] == ("agent", "agent"):
            short = short[1:]
        settings[dotted(full if short in values else short)] = value
    return settings


def _is_range(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and set(value) <= {"low", "high", "log"}


def value_text(value: Any) -> str:
    """Write a value as in the id of a trial: the same text for equal settings."""
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
    """Return the parameters of the component in a table; none if its kind is unknown.

    A wrapper also has those of the agent inside.
    """
    try:
        kind: Any = find_kind(table.get("kind"))
    except (TypeError, ValueError):
        return set()
    inner = table.get("agent")
    names = {"preset", *kind.__dataclass_fields__}
    if table.get("preset") == "paper":
        names |= {"step_unit"} | ({"replay_capacity"} if "backups" in names else set())
    return names | (parameters_of_table(inner) if isinstance(inner, Mapping) else set())


def make_panel(
    name: str,
    domain: Mapping[str, Any],
    features: Mapping[str, Any],
    agents: Mapping[str, Mapping[str, Any]],
    common: Varied,
    title: str,
) -> PanelConfig:
    """Collect the axes of a panel, from the tables of its components and the whole config."""
    owners: dict[Path, Mapping[str, Any]] = {("domain",): domain, ("features",): features}
    owners |= {("agents", agent): table for agent, table in agents.items()}
    axes, plain = [*_read_axes(common, ())], {}
    for above, data in owners.items():
        with inside(*above):
            varied = read_table(Varied, {name: data[name] for name in VARIED if name in data})
        axes += _read_axes(varied, above)
        plain[above] = {name: value for name, value in data.items() if name not in VARIED}
    for axis in axes:
        for path in axis.paths:
            _check_path(path, axis.where, agents)
    plain_agents = {agent: plain["agents", agent] for agent in agents}
    panel = PanelConfig(
        name, plain["domain",], plain["features",], plain_agents, tuple(axes), title
    )
    for agent in agents:
        _check_varied_once(panel.axes_for(agent))
    return panel


def _read_axes(varied: Varied, above: Path) -> Iterator[Axis]:
    """Read the axes of a table; their paths go on from ``above``."""
    for path, values in leaves(varied.grid):
        where, full = dotted((*above, "grid", *path)), (*above, *path)
        if _is_range(values):
            with inside(where):
                yield Axis((full,), (), where, read_table(Range, values))
        else:
            rows = tuple((value,) for value in convert(VALUES, values, where))
            yield _check_distinct(Axis((full,), rows, where))
    for place, linked in enumerate(varied.linked):
        where = dotted((*above, "linked", str(place)))
        columns = {path: convert(VALUES, values, where, *path) for path, values in leaves(linked)}
        lengths = {dotted(path): len(values) for path, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ConfigError(f"must be lists of one length, got {lengths}", where)
        if columns:
            rows = tuple(zip(*columns.values(), strict=True))
            yield _check_distinct(Axis(tuple((*above, *path) for path in columns), rows, where))


def _check_distinct(axis: Axis) -> Axis:
    if len({tuple(map(value_text, row)) for row in axis.rows}) < len(axis.rows):
        raise ConfigError("must be different values, got one of them twice", axis.where)
    return axis


def _check_path(path: Path, where: str, agents: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a setting that no component of the experiment can have."""
    known = ["domain", "features", "agents"]
    check_known("must begin with domain, features or agents, got", path[:1], known, where)
    if len(path) < (3 if path[0] == "agents" else 2) or not all(path):
        raise ConfigError("must name a setting, such as domain.slip", where)
    if path[0] == "agents" and path[1] == EVERY:
        parameters = set().union(*(parameters_of_table(table) for table in agents.values()))
        check_known("no agent has the parameter", [path[2]], sorted(parameters), where)
    elif path[0] == "agents":
        check_known("there is no agent", [path[1]], sorted(agents), where)


def _check_varied_once(axes: Sequence[Axis]) -> None:
    """Refuse a setting of one agent that two axes vary."""
    places: dict[Path, str] = {}
    for axis in axes:
        for path in axis.paths:
            setting = path[2:] if path[0] == "agents" else path
            if setting in places:
                problem = f"must be varied in one place, got {places[setting]} as well"
                raise ConfigError(problem, axis.where)
            places[setting] = axis.where


def check_size(panels: Sequence[PanelConfig]) -> None:
    """Refuse more trials than anybody can run, before they are expanded."""
    total = sum(
        math.prod(max(1, len(axis.rows)) for axis in panel.axes_for(agent))
        for panel in panels
        for agent in panel.agents
    )
    if total > MOST_TRIALS:
        raise ConfigError(f"must ask for at most {MOST_TRIALS:,} trials, got {total:,}", "grid")


def expand_panel(panel: PanelConfig) -> Iterator[Point]:
    """Yield every agent of a panel in every combination of the varied settings."""
    for agent in panel.agents:
        axes = panel.axes_for(agent)
        for axis in axes:
            if axis.range is not None:
                raise ConfigError("is a range, which only a search can try", axis.where)
        for rows in itertools.product(*(axis.rows for axis in axes)):
            yield make_point(panel, agent, combine_rows(axes, rows))


def combine_rows(axes: Sequence[Axis], rows: Sequence[tuple[Any, ...]]) -> dict[Path, Any]:
    """Return the settings in one row of every axis."""
    return {
        path: value
        for axis, row in zip(axes, rows, strict=True)
        for path, value in zip(axis.paths, row, strict=True)
    }


def make_point(panel: PanelConfig, agent: str, settings: Mapping[Path, Any]) -> Point:
    """Replace settings of one agent in a panel, and name the point by them.

    ``panel`` and ``agent_key`` identify the trial; ``base_panel`` and ``base_agent`` are the names
    in the config.
    """
    filled = {"domain": panel.domain, "features": panel.features, "agents": panel.agents[agent]}
    panel_settings, agent_settings = list[str](), list[str]()
    label = str(filled["agents"].get("label", agent))
    for path, value in settings.items():
        inner = path[2:] if path[0] == "agents" else path[1:]
        filled[path[0]] = _with_setting(filled[path[0]], inner, value, dotted(path))
        if path[0] == "agents":
            agent_settings.append(f"{dotted(inner)}={value_text(value)}")
            label_value = value.get("kind", value) if isinstance(value, dict) else value
            label += f", {dotted(inner)} {label_value}"
        else:
            panel_settings.append(f"{dotted(path)}={value_text(value)}")
    return {
        "panel": " ".join(filter(None, [panel.name, *sorted(panel_settings)])),
        "agent_key": " ".join([agent, *sorted(agent_settings)]),
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
        problem = "must be a table with a kind before its settings can be listed"
        raise ConfigError(f"{first} {problem}, got {inner!r}", where)
    return {**table, first: _with_setting(inner, rest, value, where)}
