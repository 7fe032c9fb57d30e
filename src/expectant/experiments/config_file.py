"""Experiments as config files: components, length, number of runs, and varied settings.

``panels`` repeat an experiment with some settings changed, ``grid`` and ``linked`` with every
combination of listed values. Where a parameter may be None, the word "none" stands for it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from expectant.core.config import KINDS, Config, find_kind, suggest_name
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.rng import SEED
from expectant.core.rules import Rule, whole
from expectant.experiments import toml_tables as toml
from expectant.experiments.grid import EVERY, PanelConfig, Point, parameters_of_table, read_axes
from expectant.experiments.recording import Record, parse_record
from expectant.experiments.trials import LENGTH, TOTAL, Trial

LONGEST_NAME = 100
MOST_TRIALS = 100_000


def _folder_name(value: object) -> str:
    name = toml.text().convert(value)
    if not name.isprintable() or not re.fullmatch(rf'[^./\\"][^/\\"]{{,{LONGEST_NAME - 1}}}', name):
        raise ValueError
    return name


FOLDER_NAME = Rule(f"the name of a folder, at most {LONGEST_NAME} characters", _folder_name)
ANYTHING: Rule[Any] = Rule("a list of texts, or a probe", lambda value: value)


@dataclass(frozen=True, kw_only=True)
class CommonKeys:
    """The keys of a config file that an experiment keeps; 0 and "" if they are not given.

    ``zoom`` is how many episodes around the first move of the goal are drawn once more.
    """

    name: str = toml.key(FOLDER_NAME, "")
    title: str = toml.key(toml.text(), "")
    notes: tuple[str, ...] = toml.key(toml.texts(), ())
    episodes: int = toml.key(whole(1), 0)
    steps: int = toml.key(whole(1), 0)
    runs: int = toml.key(whole(1, 2**31 - 1), 30)  # they are numbered in 32 bits
    bin: int = toml.key(whole(1), 0)
    bins: int = toml.key(whole(1), 0)
    seed: int = toml.key(SEED, 0)
    step_limit: int | None = toml.key(whole(1), None)
    zoom: int | None = toml.key(whole(1), None)


@dataclass(frozen=True, kw_only=True)
class ConfigFile(CommonKeys, PanelConfig):
    """The keys of a config file."""

    record: Any = toml.key(ANYTHING, None)
    grid: Mapping[str, Any] = toml.key(toml.table(), {})
    linked: tuple[Mapping[str, Any], ...] = toml.key(toml.tables(), ())
    panels: tuple[PanelConfig, ...] = toml.key(toml.tables(PanelConfig), (PanelConfig(name=""),))

    def __post_init__(self) -> None:
        if bool(self.episodes) == bool(self.steps):
            raise toml.ConfigError("must be given, or steps instead of it", "episodes")
        counted, width, other = (
            ("episodes", "bin", "bins") if self.episodes else ("steps", "bins", "bin")
        )
        if getattr(self, other):
            raise toml.ConfigError(f"does not go with {counted}, which has {width} instead", other)
        length, size = self.episodes or self.steps, getattr(self, width) or 1
        if size > length:
            raise toml.ConfigError(f"must be at most {counted} ({length}), got {size}", width)

    def expand_panels(self) -> Iterator[PanelConfig]:
        """Yield the panels, with the common tables filled in."""
        axes = list(read_axes(vars(self)))
        for panel in self.panels:
            domain, features = {**self.domain, **panel.domain}, {**self.features, **panel.features}
            agents = merge_agents(self.agents, panel.agents)
            if not agents:
                raise toml.ConfigError("at least one is needed", "agents")
            for name, agent in agents.items():
                toml.convert(toml.text(), agent.get("label", name), "agents", name, "label")
            yield replace(panel, domain=domain, features=features, agents=agents).with_axes(axes)


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
        raise toml.ConfigError(f"must have one entry, got {record!r}", "record")
    (entry,) = entries
    if isinstance(entry, dict):
        with toml.inside():
            return {"record": parse_record(entry)}
    default, other = ("reward", TOTAL) if steps else ("return", LENGTH)
    toml.check_known("unknown", [entry], [default, other], "record")
    return {"curve": other} if entry == other else {}


@dataclass(frozen=True)
class Changes:
    """Settings that an interpretation of a paper replaces.

    ``agents`` goes to every agent that has the parameter, ``kinds`` to the agents of one kind.
    """

    domain: Mapping[str, Any] = toml.key(toml.table(), {})
    features: Mapping[str, Any] = toml.key(toml.table(), {})
    agents: Mapping[str, Any] = toml.key(toml.table(), {})
    kinds: Mapping[str, Mapping[str, Any]] = toml.key(toml.table_of(toml.table()), {})

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
            inner: Any = result.get(name)
            is_merged = isinstance(inner, Mapping) and isinstance(value, Mapping)
            result[name] = {**inner, **value} if is_merged and "kind" not in value else value
    return result


@dataclass(frozen=True, kw_only=True)
class Experiment(CommonKeys):
    """A config file that has been read and checked; ``steps`` is 0 where episodes are counted.

    With ``trust``, building components may import the user's modules.
    """

    panels: tuple[PanelConfig, ...]
    curve: str = ""
    record: Record | None = None
    trust: bool = field(default=False, compare=False)

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

    def trials(self, interpretation: str = "") -> list[Trial]:
        """Return all agents of all panels in all combinations of settings, built once."""
        return [replace(trial, interpretation=interpretation) for trial in self._trials]

    def names(self) -> list[tuple[str, str]]:
        """List panel and agent of every trial, in the order of :meth:`trials`."""
        return [(trial.panel, trial.agent_key) for trial in self._trials]

    @cached_property
    def _trials(self) -> list[Trial]:
        built: dict[str, Any] = {}
        return [self._trial(point, built) for panel in self.panels for point in panel.points()]

    def _trial(self, point: Point, built: dict[str, Any]) -> Trial:
        """Build the components of a trial, unless equal ones are ``built``."""
        components: dict[str, Any] = {}
        bases = {"domain": Domain, "features": Features, "agent": Agent}
        for name, base in bases.items():
            identifier = repr((name, point[name]))
            if identifier not in built:
                path = f"agents.{point['base_agent']}" if base is Agent else name
                built[identifier] = build_component(base, path, point[name], self.trust)
            components[name] = built[identifier]
        shared = {field.name for field in fields(self)} & {field.name for field in fields(Trial)}
        common = {name: getattr(self, name) for name in shared}  # length, runs, seed, record
        return Trial(**{**point, **components}, **common, experiment=self.name, interpretation="")

    def check(self) -> None:
        """Build every component once, so that mistakes are found before anything runs."""
        size = sum(
            math.prod(len(axis.rows) for axis in panel.axes_for(agent))
            for panel in self.panels
            for agent in panel.agents
        )
        if size > MOST_TRIALS:
            raise toml.ConfigError(
                f"must ask for at most {MOST_TRIALS:,} trials, got {size:,}", "grid"
            )
        for name, count in Counter(trial.id for trial in self._trials).most_common(1):
            if count > 1:
                raise toml.ConfigError(
                    f"two trials have the id {name!r}; rename a panel or an agent"
                )
        for trial in self._trials:
            with toml.inside("domain"):
                trial.domain.actions  # noqa: B018  only now an environment is made
            with toml.inside("features"):
                trial.features.shape(trial.domain)


def build_component(
    base: type[Config], path: str, table: Mapping[str, Any], trust: bool = False
) -> Any:
    """Build a component from its table, which is at a ``path`` in a config.

    With ``trust`` it imports modules that tables name and this process has not imported yet.
    """
    known = sorted(name for name, kind in KINDS.items() if issubclass(kind, base))
    name = table.get("kind", "")
    if name not in known and ":" not in str(name):  # otherwise it is to be imported
        problem = f"unknown {name!r}" if name else "is missing"
        raise toml.ConfigError(problem + suggest_name(str(name), known), path, "kind")
    with toml.inside(path):
        return base.from_dict(_replace_none(dict(table)), trust=trust)


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
    return parse_config(toml.read_text(path), str(path), trust=trust)


def parse_config(text: str, source: str, *, trust: bool = False) -> Experiment:
    """Read the experiment in a TOML text that came from ``source``."""
    return experiment_of(toml.parse_toml(text, source), source, trust=trust)


def experiment_of(data: Mapping[str, Any], source: str, *, trust: bool = False) -> Experiment:
    """Read the experiment in the data of a config file."""
    path = Path(source)
    has_results = path.name == "config.toml" and (path.parent / "runs").is_dir()
    stem = path.resolve().parent.name if has_results else path.stem
    with toml.in_file(source):
        config = toml.read_table(ConfigFile, dict(data))
        _import_kinds(data, trust)
        given = {field.name: getattr(config, field.name) for field in fields(CommonKeys)}
        computed = {
            "name": toml.convert(FOLDER_NAME, config.name or stem, "name"),
            "title": config.title or stem,
            "bin": config.bin or 1,
            "bins": min(config.bins or 100, config.steps) if config.steps else 1,
            **_read_record(config.record, config.steps),
        }
        panels = tuple(config.expand_panels())
        experiment = Experiment(**{**given, **computed}, panels=panels, trust=trust)
        experiment.check()
    return experiment


def _import_kinds(item: Any, trust: bool, *path: str) -> None:
    """Import or refuse every named "module:Class", before its parameters are needed."""
    if isinstance(item, Mapping):
        for name, inner in item.items():
            _import_kinds(inner, trust, *path, name)
    elif isinstance(item, list):
        for inner in item:
            _import_kinds(inner, trust, *path)
    elif path[-1].rpartition(".")[2] == "kind" and ":" in str(item):
        with toml.inside(*path[:-1]):
            find_kind(item, trust=trust)
