"""Experiments as config files: components, length, number of runs, and varied settings.

``panels`` repeat an experiment with some settings changed, ``grid`` and ``linked`` with every
combination of listed values. Where a parameter may be None, the word "none" stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from expectant.core.config import KINDS, Config, find_kind, suggest_name
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.rng import SEED
from expectant.core.rules import Rule, whole
from expectant.experiments.grid import (
    EVERY,
    PanelConfig,
    Point,
    Varied,
    check_size,
    expand_panel,
    make_panel,
    make_point,
    parameters_of_table,
)
from expectant.experiments.recording import Record, parse_record
from expectant.experiments.toml_tables import (
    ConfigError,
    check_known,
    convert,
    in_file,
    key,
    parse_toml,
    read_table,
    read_text,
    table,
    table_of,
    tables,
    text,
    texts,
)
from expectant.experiments.trials import LENGTH, TOTAL, Trial

LONGEST_NAME = 100


def _folder_name(value: object) -> str:
    name = text().convert(value)
    if not name.isprintable() or not re.fullmatch(rf'[^./\\"][^/\\"]{{,{LONGEST_NAME - 1}}}', name):
        raise ValueError
    return name


FOLDER_NAME = Rule(f"the name of a folder, at most {LONGEST_NAME} characters", _folder_name)
ANYTHING: Rule[Any] = Rule("a list of texts, or a probe", lambda value: value)


@dataclass(frozen=True, kw_only=True)
class ComponentTables:
    """The tables of the components, or the settings that a panel changes in them."""

    domain: Mapping[str, Any] = key(table(), {})
    features: Mapping[str, Any] = key(table(), {})
    agents: Mapping[str, Mapping[str, Any]] = key(table_of(table()), {})


@dataclass(frozen=True, kw_only=True)
class PanelTable(ComponentTables):
    """One of the ``panels``."""

    name: str = key(text())
    title: str = key(text(), "")


@dataclass(frozen=True, kw_only=True)
class CommonKeys:
    """The keys of a config file that an experiment keeps; 0 and "" if they are not given.

    ``zoom`` is how many episodes around the first move of the goal are drawn once more.
    """

    name: str = key(FOLDER_NAME, "")
    title: str = key(text(), "")
    notes: tuple[str, ...] = key(texts(), ())
    episodes: int = key(whole(1), 0)
    steps: int = key(whole(1), 0)
    runs: int = key(whole(1, 2**31 - 1), 30)  # they are numbered in 32 bits
    bin: int = key(whole(1), 0)
    bins: int = key(whole(1), 0)
    seed: int = key(SEED, 0)
    step_limit: int | None = key(whole(1), None)
    zoom: int | None = key(whole(1), None)


@dataclass(frozen=True, kw_only=True)
class ConfigFile(ComponentTables, Varied, CommonKeys):
    """The keys of a config file."""

    record: Any = key(ANYTHING, None)
    panels: tuple[PanelTable, ...] = key(tables(PanelTable), (PanelTable(name=""),))

    def __post_init__(self) -> None:
        if bool(self.episodes) == bool(self.steps):
            raise ConfigError("must be given, or steps instead of it", "episodes")
        counted, width, other = (
            ("episodes", "bin", "bins") if self.episodes else ("steps", "bins", "bin")
        )
        if getattr(self, other):
            raise ConfigError(f"does not go with {counted}, which has {width} instead", other)
        length, size = self.episodes or self.steps, getattr(self, width) or 1
        if size > length:
            raise ConfigError(f"must be at most {counted} ({length}), got {size}", width)

    def expand_panels(self) -> Iterator[PanelConfig]:
        """Yield the panels, with the common tables filled in."""
        for panel in self.panels:
            domain, features = {**self.domain, **panel.domain}, {**self.features, **panel.features}
            agents = merge_agents(self.agents, panel.agents)
            yield make_panel(panel.name, domain, features, agents, self, panel.title)


def merge_agents(
    common: Mapping[str, Mapping[str, Any]], changes: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Apply changes to the tables of agents; ``*`` is every agent that has the parameter.

    Agents without a kind get that of ``*``.
    """
    shared, agents = changes.get(EVERY, {}), {}
    for name in dict.fromkeys([*common, *changes]):
        if name != EVERY:
            merged = {**common.get(name, {}), **changes.get(name, {})}
            agent = merged if "kind" in merged else {**shared, **merged}
            parameters = parameters_of_table(agent)
            agents[name] = {**agent, **{k: v for k, v in shared.items() if k in parameters}}
    return agents


def _read_record(record: Any, steps: int) -> dict[str, Any]:
    """Read the key ``record``: a probe, or a ``curve`` other than that of returns or rewards."""
    if record is None:
        return {}
    entries = record if isinstance(record, list | tuple) else [record]
    if len(entries) != 1:
        raise ConfigError(f"must have one entry, got {record!r}", "record")
    (entry,) = entries
    if isinstance(entry, dict):
        try:
            return {"record": parse_record(entry)}
        except ValueError as error:
            raise ConfigError(str(error)) from None
    default, other = ("reward", TOTAL) if steps else ("return", LENGTH)
    check_known("unknown", [entry], [default, other], "record")
    return {"curve": other} if entry == other else {}


@dataclass(frozen=True)
class Changes:
    """Settings that an interpretation of a paper replaces.

    ``agents`` goes to every agent that has the parameter, ``kinds`` to the agents of one kind.
    """

    domain: Mapping[str, Any] = key(table(), {})
    features: Mapping[str, Any] = key(table(), {})
    agents: Mapping[str, Any] = key(table(), {})
    kinds: Mapping[str, Mapping[str, Any]] = key(table_of(table()), {})

    def apply(self, panel: PanelConfig) -> PanelConfig:
        """Replace settings of a panel where its components have them."""
        agents = {
            name: _replace_known(agent, {**self.agents, **self.kinds.get(str(agent["kind"]), {})})
            for name, agent in panel.agents.items()
        }
        domain = _replace_known(panel.domain, self.domain)
        features = _replace_known(panel.features, self.features)
        return replace(panel, domain=domain, features=features, agents=agents)


def _replace_known(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the parameters that the component of a table has; inner tables are merged."""
    result = dict(table)
    if isinstance(table.get("agent"), Mapping):
        result["agent"] = _replace_known(table["agent"], changes)
        changes = {name: value for name, value in changes.items() if name not in result["agent"]}
    parameters = parameters_of_table({**table, "agent": None})
    for name, value in changes.items():
        if name in parameters:
            inner = result.get(name)
            result[name] = value
            if isinstance(inner, Mapping) and isinstance(value, Mapping) and "kind" not in value:
                result[name] = {**inner, **value}
    return result


@dataclass(frozen=True, kw_only=True)
class Experiment(CommonKeys):
    """A config file that has been read and checked; ``steps`` is 0 where episodes are counted."""

    panels: tuple[PanelConfig, ...]
    curve: str = ""
    record: Record | None = None

    @property
    def is_sweep(self) -> bool:
        """True if the file lists values to vary, in a ``grid`` or ``linked`` of any table."""
        return any(panel.axes for panel in self.panels)

    @property
    def of_errors(self) -> bool:
        """True if lower curves are better: those of errors and of the lengths of episodes."""
        return self.record.definition.of_errors if self.record else self.curve == LENGTH

    def with_changes(self, changes: Changes) -> Experiment:
        """Replace some settings where they apply."""
        return replace(self, panels=tuple(map(changes.apply, self.panels)))

    def trials(self, interpretation: str = "", *, trust: bool = False) -> list[Trial]:
        """Build all agents of all panels in all combinations of settings."""
        build = ComponentBuilder(trust)
        points = (point for panel in self.panels for point in expand_panel(panel))
        return [self._trial(point, build, interpretation) for point in points]

    def names(self) -> list[tuple[str, str]]:
        """List panel and agent of every trial, in the order of :meth:`trials`."""
        points = (point for panel in self.panels for point in expand_panel(panel))
        return [(point["panel"], point["agent_key"]) for point in points]

    def trial(
        self, panel: PanelConfig, agent: str, settings: Mapping[tuple[str, ...], object]
    ) -> Trial:
        """Build one agent of a panel with chosen settings."""
        return self._trial(make_point(panel, agent, settings), ComponentBuilder(), "")

    def _trial(self, point: Point, build: ComponentBuilder, interpretation: str) -> Trial:
        components = {
            "domain": build(Domain, "domain", point["domain"]),
            "features": build(Features, "features", point["features"]),
            "agent": build(Agent, f"agents.{point['base_agent']}", point["agent"]),
        }
        names = {"experiment": self.name, "interpretation": interpretation}
        return Trial(**{**point, **components, **names, **self.common()})

    def common(self) -> dict[str, Any]:
        """Return the fields that all trials share: length, runs, seed, record."""
        shared = {field.name for field in fields(self)} & {field.name for field in fields(Trial)}
        return {name: getattr(self, name) for name in shared}


class ComponentBuilder:
    """Build components from tables; equal tables of domains and features give one object.

    With ``trust`` it imports modules that tables name and this process has not imported yet.
    """

    def __init__(self, trust: bool = False) -> None:
        self._trust = trust
        self._built: dict[str, Any] = {}

    def __call__(self, base: type[Config], path: str, table: Mapping[str, Any]) -> Any:
        if base is Agent:  # as many as there are trials
            return self._build(base, path, table)
        identifier = repr((base, table))
        if identifier not in self._built:
            self._built[identifier] = self._build(base, path, table)
        return self._built[identifier]

    def _build(self, base: type[Config], path: str, table: Mapping[str, Any]) -> Any:
        known = sorted(name for name, kind in KINDS.items() if issubclass(kind, base))
        name = table.get("kind")
        if name is None:
            raise ConfigError(f"is missing (known: {', '.join(known)})", path, "kind")
        if name not in known and ":" not in str(name):  # otherwise it is to be imported
            raise ConfigError(f"unknown {name!r}" + suggest_name(str(name), known), path, "kind")
        try:
            return base.from_dict(_replace_none(dict(table)), trust=self._trust)
        except (ValueError, TypeError, OverflowError, MemoryError) as error:
            raise ConfigError(str(error), path) from None


def _replace_none(item: Any) -> Any:
    """Replace the text "none" by None, also in inner tables."""
    if isinstance(item, dict):
        return {name: _replace_none(inner) for name, inner in item.items()}
    return None if isinstance(item, str) and item == "none" else item


def read_config(path: Path, *, trust: bool = False) -> Experiment:
    """Read any config file, of one experiment or of a sweep (``is_sweep``); raise ConfigError.

    ``trust`` is for files that are to be run: it imports the user's modules that they name. Without
    it such files are refused, unless the modules are imported already.
    """
    return parse_config(read_text(path), str(path), trust=trust)


def parse_config(text: str, source: str, *, trust: bool = False) -> Experiment:
    """Read the experiment in a TOML text that came from ``source``."""
    return experiment_of(parse_toml(text, source), source, trust=trust)


def experiment_of(data: Mapping[str, Any], source: str, *, trust: bool = False) -> Experiment:
    """Read the experiment in the data of a config file."""
    with in_file(source):
        try:
            return _read_experiment(dict(data), _default_name(Path(source)), trust)
        except RecursionError:
            raise ConfigError("tables are too deep") from None


def _default_name(path: Path) -> str:
    """Name a config after its file, or after the results folder that contains it."""
    has_results = path.name == "config.toml" and (path.parent / "runs").is_dir()
    return path.resolve().parent.name if has_results else path.stem


def _read_experiment(data: dict[str, Any], stem: str, trust: bool) -> Experiment:
    config = read_table(ConfigFile, data)
    _import_kinds(data, trust)
    panels = tuple(config.expand_panels())
    check_size(panels)
    given = {field.name: getattr(config, field.name) for field in fields(CommonKeys)}
    computed = {
        "name": convert(FOLDER_NAME, config.name or stem, "name"),
        "title": config.title or stem,
        "bin": config.bin or 1,
        "bins": min(config.bins or 100, config.steps) if config.steps else 1,
        **_read_record(config.record, config.steps),
    }
    experiment = Experiment(**{**given, **computed}, panels=panels)
    _check_trials(experiment, trust)
    return experiment


def _import_kinds(data: Any, trust: bool, *path: str) -> None:
    """Import or refuse every named "module:Class", before its parameters are needed."""
    if isinstance(data, list):
        for item in data:
            _import_kinds(item, trust, *path)
    elif isinstance(data, Mapping):
        for name, item in data.items():
            if str(name).rpartition(".")[2] == "kind":
                for kind in item if isinstance(item, list) else [item]:
                    if ":" in str(kind):
                        try:
                            find_kind(kind, trust=trust)
                        except ValueError as error:
                            raise ConfigError(str(error), *path) from None
            _import_kinds(item, trust, *path, str(name))


def _check_trials(experiment: Experiment, trust: bool) -> None:
    """Build every component once, so that mistakes are found before anything runs."""
    for panel in experiment.panels:
        if not panel.agents:
            raise ConfigError("at least one is needed", "agents")
        for name, agent in panel.agents.items():
            convert(text(), agent.get("label", name), "agents", name, "label")
    without_ranges = replace(experiment, panels=tuple(map(_range_ends, experiment.panels)))
    ids = set()
    for trial in without_ranges.trials(trust=trust):
        if trial.id in ids:
            raise ConfigError(f"two trials have the id {trial.id!r}; rename a panel or an agent")
        ids.add(trial.id)
        component = "domain"
        try:
            trial.domain.actions  # noqa: B018  only now an environment is made
            component = "features"
            trial.features.shape(trial.domain)
        except ValueError as error:
            raise ConfigError(str(error), component) from None


def _range_ends(panel: PanelConfig) -> PanelConfig:
    """Replace every range by its two ends."""
    axes = [
        replace(axis, rows=((axis.range.low,), (axis.range.high,)), range=None)
        if axis.range
        else axis
        for axis in panel.axes
    ]
    return replace(panel, axes=tuple(axes))
