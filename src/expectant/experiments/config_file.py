"""Experiments as config files: what is run, for how long, how often, and what is varied.

An experiment is a domain, features, some agents, how long and how many runs. ``panels`` and
``variants`` repeat it with some settings changed, ``grid`` and ``linked`` with every combination
of listed values. Where an option may be None, the word "none" stands for it.
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
    make_panel,
    parameters_of_table,
    point,
    points,
)
from expectant.experiments.recording import Record, record_from
from expectant.experiments.toml_tables import (
    ConfigError,
    check_known,
    checked,
    config_hash,
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

CALLED = ("name", "title", "notes")  # what a config says of itself, and no number depends on
LONGEST_NAME = 100

__all__ = [
    "Changes",
    "ConfigError",
    "ConfigFile",
    "Experiment",
    "PartBuilder",
    "Trial",
    "config_hash",
    "experiment_of",
    "parse_config",
    "parse_toml",
    "read_config",
    "read_text",
    "trials_hash",
]  # fmt: skip


def _folder_name(value: object) -> str:
    name = text().convert(value)
    if not name.isprintable() or not re.fullmatch(rf'[^./\\"][^/\\"]{{,{LONGEST_NAME - 1}}}', name):
        raise ValueError
    return name


FOLDER_NAME = Rule(f"the name of a folder, at most {LONGEST_NAME} characters", _folder_name)
ANYTHING: Rule[Any] = Rule("a list of texts, or a look", lambda value: value)


@dataclass(frozen=True, kw_only=True)
class PartTables:
    """The tables of the parts, or what a variant changes in them."""

    domain: Mapping[str, Any] = key(table(), {})
    features: Mapping[str, Any] = key(table(), {})
    agents: Mapping[str, Mapping[str, Any]] = key(table_of(table()), {})

    def overlaid(self, other: PartTables) -> PartTables:
        """Lay other tables over these; an agent called ``*`` is every agent with the option.

        Agents that say no kind of their own get that of ``*``.
        """
        shared, agents = other.agents.get(EVERY, {}), {}
        for name in dict.fromkeys([*self.agents, *other.agents]):
            if name == EVERY:
                continue
            own = {**self.agents.get(name, {}), **other.agents.get(name, {})}
            known = own if "kind" in own else {**shared, **own}
            options = parameters_of_table(known)
            agents[name] = {**known, **{k: v for k, v in shared.items() if k in options}}
        return PartTables(
            domain={**self.domain, **other.domain},
            features={**self.features, **other.features},
            agents=agents,
        )


@dataclass(frozen=True, kw_only=True)
class PanelTable(PartTables):
    """One of the ``panels``."""

    name: str = key(text())
    title: str = key(text(), "")


@dataclass(frozen=True, kw_only=True)
class ConfigFile(PartTables, Varied):
    """The keys of a config file."""

    name: str | None = key(FOLDER_NAME, None)
    title: str | None = key(text(), None)
    notes: tuple[str, ...] = key(texts(), ())
    record: Any = key(ANYTHING, None)
    episodes: int = key(whole(1), 0)
    steps: int = key(whole(1), 0)
    runs: int = key(whole(1, 2**31 - 1), 30)  # they are numbered in 32 bits
    bin: int | None = key(whole(1), None)
    bins: int | None = key(whole(1), None)
    seed: int = key(SEED, 0)
    step_limit: int | None = key(whole(1), None)
    zoom: int | None = key(whole(1), None)
    panels: tuple[PanelTable, ...] = key(tables(PanelTable), (PanelTable(name=""),))
    variants: Mapping[str, PartTables] = key(table_of(table(PartTables)), {})

    def __post_init__(self) -> None:
        if bool(self.episodes) == bool(self.steps):
            raise ConfigError("must be given, or steps instead of it", "episodes")
        counted, width, other = (
            ("episodes", "bin", "bins") if self.episodes else ("steps", "bins", "bin")
        )
        if getattr(self, other) is not None:
            raise ConfigError(f"does not go with {counted}, which has {width} instead", other)
        length, given = self.episodes or self.steps, getattr(self, width) or 1
        if given > length:
            raise ConfigError(f"must be at most {counted} ({length}), got {given}", width)

    def expand_panels(self) -> Iterator[PanelConfig]:
        """Yield panels times variants, with the common tables filled in."""
        for panel in self.panels:
            tables = self.overlaid(panel)
            for variant, own in self.variants.items() or [("", PartTables())]:
                filled = tables.overlaid(own)
                yield make_panel(
                    ", ".join(filter(None, (panel.name, variant))),
                    filled.domain,
                    filled.features,
                    filled.agents,
                    self,
                    ", ".join(filter(None, (panel.title, variant))) if panel.title else "",
                )


def _read_record(wanted: Any, steps: int) -> dict[str, Any]:
    """Read what is recorded: a look, a ``curve`` of something else, or ``lengths`` too."""
    if wanted is None:
        return {}
    if isinstance(wanted, dict):
        wanted = [wanted]
    if isinstance(wanted, list) and any(isinstance(item, dict) for item in wanted):
        if len(wanted) > 1:
            raise ConfigError(f"a look is recorded alone, got {wanted!r}", "record")
        try:
            return {"record": record_from(wanted[0])}
        except ValueError as error:
            raise ConfigError(str(error)) from None
    names = checked(texts(), wanted, "record")
    first, other = ("reward", TOTAL) if steps else ("return", LENGTH)
    check_known("unknown", names, [first, other], "record")
    if names == (other,):
        return {"curve": other}
    if TOTAL in names:
        raise ConfigError(f"{TOTAL!r} is recorded alone, got {wanted!r}", "record")
    if first not in names:
        raise ConfigError(f"must contain {first!r}, got {wanted!r}", "record")
    return {"lengths": LENGTH in names}


@dataclass(frozen=True)
class Changes:
    """Settings that an interpretation of a paper replaces.

    ``agents`` goes to every agent that has the option, ``kinds`` to the agents of one kind.
    """

    domain: Mapping[str, Any] = key(table(), {})
    features: Mapping[str, Any] = key(table(), {})
    agents: Mapping[str, Any] = key(table(), {})
    kinds: Mapping[str, Mapping[str, Any]] = key(table_of(table()), {})


@dataclass(frozen=True)
class Experiment:
    """A config file that has been read and checked; ``steps`` is 0 where episodes are counted.

    ``zoom`` is how many episodes around the first move of the goal are drawn once more.
    """

    name: str
    title: str
    notes: tuple[str, ...]
    episodes: int
    runs: int
    bin: int
    seed: int
    step_limit: int | None
    panels: tuple[PanelConfig, ...]
    steps: int = 0
    bins: int = 1
    lengths: bool = False
    curve: str = ""
    record: Record | None = None
    zoom: int | None = None

    @property
    def is_sweep(self) -> bool:
        """True if the file lists values to vary, in a ``grid`` or ``linked`` of any table."""
        return any(panel.axes for panel in self.panels)

    @property
    def of_errors(self) -> bool:
        """True if less of its curves is better: of errors, and of the lengths of episodes."""
        return self.record.found.of_errors if self.record else self.curve == LENGTH

    def with_changes(self, changes: Changes) -> Experiment:
        """Replace some settings where they apply."""
        return replace(self, panels=tuple(_changed(panel, changes) for panel in self.panels))

    def trials(self, interpretation: str = "", *, trust: bool = False) -> list[Trial]:
        """Describe all agents of all panels in all variations."""
        describe = PartBuilder(trust)
        return [
            self._trial(one, describe, interpretation)
            for panel in self.panels
            for one in points(panel)
        ]

    def names(self) -> list[tuple[str, str]]:
        """List panel and agent of every trial, in the order of :meth:`trials`."""
        return [
            (found["panel"], found["agent_key"]) for panel in self.panels for found in points(panel)
        ]

    def trial(
        self, panel: PanelConfig, agent: str, settings: Mapping[tuple[str, ...], object]
    ) -> Trial:
        """Describe one agent of a panel with chosen settings."""
        return self._trial(point(panel, agent, settings), PartBuilder(), "")

    def _trial(self, found: Point, describe: PartBuilder, interpretation: str) -> Trial:
        parts = {
            "domain": describe(Domain, "domain", found["domain"]),
            "features": describe(Features, "features", found["features"]),
            "agent": describe(Agent, f"agents.{found['base_agent']}", found["agent"]),
        }
        return Trial(
            experiment=self.name,
            interpretation=interpretation,
            **{**found, **parts},
            **self.common(),
        )

    def common(self) -> dict[str, Any]:
        """Return what all trials share: how long, how often, which seed, what is recorded."""
        shared = {field.name for field in fields(self)} & {field.name for field in fields(Trial)}
        return {name: getattr(self, name) for name in shared}


class PartBuilder:
    """Makes descriptions from tables; equal tables give one description.

    With ``trust`` it imports what tables name and this process does not know yet.
    """

    def __init__(self, trust: bool = False) -> None:
        self._trust = trust
        self._known: dict[str, Any] = {}

    def __call__(self, base: type[Config], path: str, table: Mapping[str, Any]) -> Any:
        if base is Agent:  # as many as there are trials
            return self._describe(base, path, table)
        known = repr((base, table))
        if known not in self._known:
            self._known[known] = self._describe(base, path, table)
        return self._known[known]

    def _describe(self, base: type[Config], path: str, table: Mapping[str, Any]) -> Any:
        known = sorted(name for name, kind in KINDS.items() if issubclass(kind, base))
        name = table.get("kind")
        if name is None:
            raise ConfigError(f"is missing (known: {', '.join(known)})", path, "kind")
        if name not in known and ":" not in str(name):  # otherwise it is to be imported
            raise ConfigError(f"unknown {name!r}" + suggest_name(str(name), known), path, "kind")
        try:
            data = {option: _with_none(item) for option, item in table.items()}
            return base.from_dict(data, trust=self._trust)
        except (ValueError, TypeError, OverflowError, MemoryError) as error:
            raise ConfigError(str(error), path) from None


def _with_none(item: Any) -> Any:
    if isinstance(item, dict):
        return {option: _with_none(inner) for option, inner in item.items()}
    return None if isinstance(item, str) and item == "none" else item


def read_config(path: Path, *, trust: bool = False) -> Experiment:
    """Read any config file, of one experiment or of a sweep (``is_sweep``); raise ConfigError.

    ``trust`` is for files that are to be run: classes and environments that they name by a module
    of somebody's own are imported. Without it they are refused, unless they are imported already.
    """
    return parse_config(read_text(path), str(path), trust=trust)


def parse_config(text: str, source: str, *, trust: bool = False) -> Experiment:
    """Read the experiment in a TOML text that came from ``source``."""
    return experiment_of(parse_toml(text, source), source, trust=trust)


def trials_hash(data: Mapping[str, Any]) -> str:
    """Hash what a config asks for, whatever it is called."""
    return config_hash({name: value for name, value in data.items() if name not in CALLED})


def experiment_of(data: Mapping[str, Any], source: str, *, trust: bool = False) -> Experiment:
    """Read the experiment in the data of a config file."""
    with in_file(source):
        try:
            return _experiment(dict(data), _name_of(Path(source)), trust)
        except RecursionError:
            raise ConfigError("tables are too deep") from None


def _name_of(path: Path) -> str:
    """Name a config without a name: after its file, or the folder of results that keeps it."""
    kept = path.name == "config.toml" and (path.parent / "runs").is_dir()
    return path.resolve().parent.name if kept else path.stem


def _experiment(data: dict[str, Any], stem: str, trust: bool) -> Experiment:
    config = read_table(ConfigFile, data)
    _import_kinds(data, trust)
    panels = tuple(config.expand_panels())
    check_size(panels)
    names = {field.name for field in fields(Experiment)} & {field.name for field in fields(config)}
    computed = {
        "name": checked(FOLDER_NAME, stem if config.name is None else config.name, "name"),
        "title": stem if config.title is None else config.title,
        "bin": config.bin or 1,
        "bins": min(config.bins or 100, config.steps) if config.steps else 1,
        "panels": panels,
        "record": None,
        **_read_record(config.record, config.steps),
    }
    experiment = Experiment(**{**{name: getattr(config, name) for name in names}, **computed})
    _check_trials(experiment, trust)
    return experiment


def _import_kinds(data: Any, trust: bool, *path: str) -> None:
    """Import every "module:Class" that is named, or refuse it, before its options are needed."""
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
    """Build every description once, so that mistakes are found before anything runs."""
    for panel in experiment.panels:
        if not panel.agents:
            raise ConfigError("at least one is needed", "agents")
        for name, own in panel.agents.items():
            checked(text(), own.get("label", name), "agents", name, "label")
    ends = replace(experiment, panels=tuple(map(_range_ends, experiment.panels)))
    seen = set()
    for trial in ends.trials(trust=trust):
        if trial.id in seen:
            raise ConfigError(f"two trials have the id {trial.id!r}; name panels and agents apart")
        seen.add(trial.id)
        part = "domain"
        try:
            trial.domain.actions  # noqa: B018  only now an environment is made
            part = "features"
            trial.features.shape(trial.domain)
        except ValueError as error:
            raise ConfigError(str(error), part) from None


def _range_ends(panel: PanelConfig) -> PanelConfig:
    """Replace every range by its two ends."""
    axes = tuple(
        replace(axis, rows=((axis.range.low,), (axis.range.high,)), range=None)
        if axis.range is not None
        else axis
        for axis in panel.axes
    )
    return replace(panel, axes=axes)


def _changed(panel: PanelConfig, changes: Changes) -> PanelConfig:
    return replace(
        panel,
        domain=_where_known(panel.domain, changes.domain),
        features=_where_known(panel.features, changes.features),
        agents={
            name: _where_known(own, {**changes.agents, **changes.kinds.get(str(own["kind"]), {})})
            for name, own in panel.agents.items()
        },
    )


def _where_known(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Lay changes over a table where the part has the parameter; inner tables are merged."""
    result = dict(table)
    if isinstance(table.get("agent"), Mapping):
        result["agent"] = _where_known(table["agent"], changes)
        changes = {name: value for name, value in changes.items() if name not in result["agent"]}
    options = parameters_of_table({**table, "agent": None})
    for name, value in changes.items():
        if name in options:
            inner = result.get(name)
            if isinstance(inner, Mapping) and isinstance(value, Mapping) and "kind" not in value:
                result[name] = {**inner, **value}
            else:
                result[name] = value
    return result
