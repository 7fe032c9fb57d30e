"""Settings that a config file varies: ``grid`` and ``linked`` tables, and their combinations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from expectant.core.config import KINDS, find_kind
from expectant.core.rules import Rule
from expectant.experiments import toml_tables as toml

Path = tuple[str, ...]  # such as ("agents", "lookahead", "model", "step")
Point = dict[str, Any]  # arguments of a trial, its components still as tables
EVERY = "*"  # in place of an agent's name: every agent that has the parameter
VARIED = ("grid", "linked")


def _values(value: object) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError
    return value


VALUES = Rule("a list of values", _values)


@dataclass(frozen=True)
class Axis:
    """Settings that change together: ``rows`` hold a value for each of the ``paths``.

    ``where`` is the place of an axis in the config.
    """

    paths: tuple[Path, ...]
    rows: tuple[tuple[object, ...], ...]
    where: str

    def restrict(self, agent: str, parameters: set[str]) -> Axis:
        """Keep the columns that concern one agent, whose paths then begin with "agent"."""
        paths = {
            place: path if path[0] != "agents" else ("agent", *path[2:])
            for place, path in enumerate(self.paths)
            if path[0] != "agents"
            or path[1] == agent
            or (path[1] == EVERY and path[2] in parameters)
        }
        rows = [tuple(row[place] for place in paths) for row in self.rows]
        distinct = {tuple(map(value_text, row)): row for row in rows}
        return replace(self, paths=tuple(paths.values()), rows=tuple(distinct.values()))


def read_axes(data: Mapping[str, Any], *above: str) -> Iterator[Axis]:
    """Read ``grid`` and ``linked`` of a table; paths in it go on from ``above``."""
    grid = toml.convert(toml.table(), data.get("grid", {}), *above, "grid")
    linked = toml.convert(toml.tables(), data.get("linked", ()), *above, "linked")
    groups = {("grid", *path): {path: values} for path, values in leaves(grid)}
    groups |= {("linked", str(n)): dict(leaves(each)) for n, each in enumerate(linked)}
    for place, columns in groups.items():
        where, paths = join_path((*above, *place)), tuple((*above, *path) for path in columns)
        lists = [toml.convert(VALUES, values, where) for values in columns.values()]
        if len(set(map(len, lists))) > 1:
            lengths = {join_path(path): len(values) for path, values in columns.items()}
            raise toml.ConfigError(f"must be lists of one length, got {lengths}", where)
        yield Axis(paths, tuple(zip(*lists, strict=True)), where)


@dataclass(frozen=True, kw_only=True)
class PanelConfig:
    """The tables of a panel's components, as data, and the axes along which they are varied."""

    name: str = toml.key(toml.text())
    title: str = toml.key(toml.text(), "")
    domain: Mapping[str, Any] = toml.key(toml.table(), {})
    features: Mapping[str, Any] = toml.key(toml.table(), {})
    agents: Mapping[str, Mapping[str, Any]] = toml.key(toml.table_of(toml.table()), {})
    axes: tuple[Axis, ...] = ()

    def with_axes(self, common: Sequence[Axis]) -> PanelConfig:
        """Move the axes out of the tables of components, and check them with the common ones."""
        tables: dict[Path, Any] = {("domain",): self.domain, ("features",): self.features}
        tables |= {("agents", name): agent for name, agent in self.agents.items()}
        inner = [axis for path, component in tables.items() for axis in read_axes(component, *path)]
        plain = {
            path: {name: value for name, value in component.items() if name not in VARIED}
            for path, component in tables.items()
        }
        panel = replace(
            self,
            domain=plain["domain",],
            features=plain["features",],
            agents={name: plain["agents", name] for name in self.agents},
            axes=(*common, *inner),
        )
        for axis in panel.axes:
            for path in axis.paths:
                _check_path(path, axis.where, panel.agents)
        for agent in panel.agents:
            places: dict[Path, str] = {}
            for axis in panel.axes_for(agent):
                for path in axis.paths:
                    if path in places:
                        problem = f"must be varied in one place, got {places[path]} as well"
                        raise toml.ConfigError(problem, axis.where)
                    places[path] = axis.where
        return panel

    def axes_for(self, agent: str) -> list[Axis]:
        """Return the axes that concern one agent."""
        parameters = parameters_of_table(self.agents[agent])
        axes = (axis.restrict(agent, parameters) for axis in self.axes)
        return [axis for axis in axes if axis.paths]

    def points(self) -> Iterator[Point]:
        """Yield every agent in every combination of the varied settings."""
        for agent in self.agents:
            axes = self.axes_for(agent)
            for rows in itertools.product(*(axis.rows for axis in axes)):
                pairs = zip(axes, rows, strict=True)
                yield self._point(
                    agent,
                    {p: x for axis, row in pairs for p, x in zip(axis.paths, row, strict=True)},
                )

    def _point(self, agent: str, settings: Mapping[Path, Any]) -> Point:
        """Replace settings of one agent, and name the point by them.

        ``panel`` and ``agent_key`` identify the trial; ``base_panel`` and ``base_agent`` are the
        names in the config.
        """
        tables = {"domain": self.domain, "features": self.features, "agent": self.agents[agent]}
        label = agent_label(agent, self.agents[agent])
        panel_settings, agent_settings = list[str](), list[str]()
        for path, value in settings.items():
            if path[0] == "agent":
                setting, where = join_path(path[1:]), ("agents", agent, *path[1:])
                agent_settings.append(f"{setting}={value_text(value)}")
                label_value = value.get("kind", value) if isinstance(value, dict) else value
                label += f", {setting.replace('_', ' ')} {label_value}"
            else:
                where = path
                panel_settings.append(f"{join_path(path)}={value_text(value)}")
            tables[path[0]] = _with_setting(tables[path[0]], path[1:], value, join_path(where))
        return {
            **tables,
            "agent": {name: value for name, value in tables["agent"].items() if name != "label"},
            "panel": " ".join(filter(None, [self.name, *sorted(panel_settings)])),
            "agent_key": " ".join([agent, *sorted(agent_settings)]),
            "label": label,
            "base_panel": self.name,
            "base_agent": agent,
            "panel_title": self.title,
        }


def agent_label(name: str, table: Mapping[str, Any]) -> str:
    """Return the label in an agent's table; else its title if it is named after its kind."""
    kind: Any = KINDS.get(name) if table.get("kind") == name else None
    return str(table.get("label", kind.title() if kind else name))


def _with_setting(table: Mapping[str, Any], path: Path, value: Any, where: str) -> dict[str, Any]:
    """Copy a table with one setting, however deep, replaced."""
    first, *rest = path
    if not rest:
        return {**table, first: value}
    inner = table.get(first)
    if not isinstance(inner, dict):
        problem = "must be a table with a kind before its settings can be listed"
        raise toml.ConfigError(f"{first} {problem}, got {inner!r}", where)
    return {**table, first: _with_setting(inner, tuple(rest), value, where)}


def _check_path(path: Path, where: str, agents: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a setting that no component of the experiment can have."""
    known = ["domain", "features", "agents"]
    toml.check_known("must begin with domain, features or agents, got", path[:1], known, where)
    if len(path) < (3 if path[0] == "agents" else 2) or not all(path):
        raise toml.ConfigError("must name a setting, such as domain.slip", where)
    if path[0] == "agents" and path[1] == EVERY:
        parameters = set().union(*(parameters_of_table(table) for table in agents.values()))
        toml.check_known("no agent has the parameter", [path[2]], sorted(parameters), where)
    elif path[0] == "agents":
        toml.check_known("there is no agent", [path[1]], sorted(agents), where)


def join_path(path: Sequence[str]) -> str:
    return ".".join(path)


def leaves(table: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every (path, value) of nested tables; a quoted key with dots is a path too."""
    for name, value in table.items():
        path = (*above, *name.split("."))
        if isinstance(value, dict):
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
        settings[join_path(full if short in values else short)] = value
    return settings


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
