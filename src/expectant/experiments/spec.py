"""Experiments written down as TOML, checked down to the last key.

An experiment is a domain, features, some agents, how long and how many runs. ``panels`` repeat it
with some settings changed. Where an option may be None, the word "none" stands for it.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from expectant.agents.planner import Agent
from expectant.descriptions import KINDS, Description, near_miss
from expectant.domains.finite import Domain
from expectant.features.table import Features
from expectant.rules import Rule, whole

SETTINGS: dict[str, Rule] = {
    "episodes": whole(1),
    "runs": whole(1),
    "bin": whole(1),
    "seed": whole(0),
    "step_limit": whole(1),
}
DEFAULTS = {"runs": 30, "bin": 1, "seed": 0, "step_limit": 10_000}
TABLES = ("domain", "features", "agents", "panels")
TEXTS = ("name", "title", "notes")


class SpecError(ValueError):
    """A mistake in a spec; says where, what, and what would be right."""


@dataclass(frozen=True)
class Cell:
    """One agent in one domain with one set of features: the unit that is run and stored."""

    experiment: str
    panel: str
    reading: str
    agent_key: str
    label: str
    domain: Any
    features: Any
    agent: Any
    episodes: int
    runs: int
    bin: int
    seed: int
    step_limit: int

    def identity(self) -> dict[str, Any]:
        """What decides the numbers of a run (not how many runs, nor what they are called)."""
        return {
            "domain": self.domain.to_dict(),
            "features": self.features.to_dict(),
            "agent": self.agent.to_dict(),
            "episodes": self.episodes,
            "bin": self.bin,
            "seed": self.seed,
            "step_limit": self.step_limit,
        }


@dataclass(frozen=True)
class Changes:
    """Settings that a reading of a paper, or a sweep, replaces.

    ``agents`` goes to every agent that has the option, ``kinds`` to the agents of one kind.
    """

    domain: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)
    agents: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class PanelSpec:
    """One panel's tables, as data."""

    name: str
    domain: Mapping[str, Any]
    features: Mapping[str, Any]
    agents: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Experiment:
    """A spec that has been read and checked."""

    name: str
    title: str
    notes: tuple[str, ...]
    episodes: int
    runs: int
    bin: int
    seed: int
    step_limit: int
    panels: tuple[PanelSpec, ...]

    def changed(self, changes: Changes) -> Experiment:
        """The same experiment with some settings replaced where they apply."""
        return replace(self, panels=tuple(_changed(panel, changes) for panel in self.panels))

    def cells(self, reading: str = "") -> list[Cell]:
        """All agents of all panels, as descriptions."""
        return [
            Cell(
                self.name, panel.name, reading, key, str(table.get("label", key)),
                _described(Domain, panel.domain), _described(Features, panel.features),
                _described(Agent, {k: v for k, v in table.items() if k != "label"}),
                self.episodes, self.runs, self.bin, self.seed, self.step_limit,
            )
            for panel in self.panels
            for key, table in panel.agents.items()
        ]  # fmt: skip


def read_spec(path: Path) -> Experiment:
    """The experiment in a TOML file; a :class:`SpecError` says what is wrong with it."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: cannot be read: {error}") from None
    return parse_spec(text, str(path))


def parse_spec(text: str, source: str) -> Experiment:
    """The experiment in a TOML text that came from ``source``."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{source}: not TOML: {error}") from None
    try:
        return _experiment(data, Path(source).stem)
    except SpecError as error:
        raise SpecError(f"{source}: {error}") from None


def _experiment(data: Mapping[str, Any], stem: str) -> Experiment:
    known = [*TEXTS, *SETTINGS, *TABLES]
    for key in data:
        if key not in known:
            raise SpecError(f"{key}: unknown key" + near_miss(key, known))
    numbers = {}
    for key, rule in SETTINGS.items():
        value = data.get(key, DEFAULTS.get(key))
        if value is None:
            raise SpecError(f"{key}: is missing; it must be {rule.text}")
        numbers[key] = _rule(key, rule, value)
    if numbers["bin"] > numbers["episodes"]:
        raise SpecError(f"bin: must be at most episodes ({numbers['episodes']}), got {data['bin']}")
    panels = tuple(_panels(data))
    experiment = Experiment(
        name=_text(data, "name", stem),
        title=_text(data, "title", stem),
        notes=tuple(_notes(data)),
        panels=panels,
        **numbers,
    )
    for panel in panels:
        _check_panel(panel)
    return experiment


def _rule(key: str, rule: Rule, value: Any) -> Any:
    try:
        return rule.convert(value)
    except (TypeError, ValueError, OverflowError):
        raise SpecError(f"{key}: must be {rule.text}, got {value!r}") from None


def _text(data: Mapping[str, Any], key: str, default: str) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise SpecError(f"{key}: must be a text, got {value!r}")
    return value


def _notes(data: Mapping[str, Any]) -> list[str]:
    notes = data.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise SpecError(f"notes: must be a list of texts, got {notes!r}")
    return notes


def _table(data: Mapping[str, Any], key: str, path: str) -> dict[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, dict):
        raise SpecError(f"{path}: must be a table, got {value!r}")
    return value


def _panels(data: Mapping[str, Any]) -> Iterator[PanelSpec]:
    """The panels with the common tables filled in."""
    common = {key: _table(data, key, key) for key in ("domain", "features", "agents")}
    listed = data.get("panels", [{"name": ""}])
    if not isinstance(listed, list) or not all(isinstance(panel, dict) for panel in listed):
        raise SpecError(f"panels: must be a list of tables, got {listed!r}")
    names = [panel.get("name") for panel in listed]
    for position, panel in enumerate(listed):
        for key in panel:
            if key not in ("name", *common):
                raise SpecError(
                    f"panels.{position}.{key}: unknown key" + near_miss(key, ["name", *common])
                )
        name = panel.get("name")
        if not isinstance(name, str) or names.count(name) > 1:
            raise SpecError(f"panels.{position}.name: must be a text of its own, got {name!r}")
        own = {key: _table(panel, key, f"panels.{position}.{key}") for key in common}
        agents = {
            key: {
                **_table(common["agents"], key, f"agents.{key}"),
                **_table(own["agents"], key, f"panels.{position}.agents.{key}"),
            }
            for key in dict.fromkeys([*common["agents"], *own["agents"]])
        }
        agents = dict(_expanded(agents))
        yield PanelSpec(
            name, {**common["domain"], **own["domain"]},
            {**common["features"], **own["features"]}, agents,
        )  # fmt: skip


def _expanded(agents: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Agents with a ``grid`` become one agent per combination, named by what distinguishes it."""
    for key, table in agents.items():
        grid = _table(table, "grid", f"agents.{key}.grid")
        for setting, values in grid.items():
            if not isinstance(values, list) or not values:
                raise SpecError(
                    f"agents.{key}.grid.{setting}: must be a list of values, got {values!r}"
                )
        plain = {name: item for name, item in table.items() if name != "grid"}
        if not grid:
            yield key, plain
            continue
        label = plain.get("label", key)
        for chosen in itertools.product(*grid.values()):
            settings = dict(zip(grid, chosen, strict=True))
            words = [f"{name} {_word(item)}" for name, item in settings.items()]
            name = " ".join([key, *(f"{n}={_word(v)}" for n, v in sorted(settings.items()))])
            yield name, {**plain, **settings, "label": f"{label}, {', '.join(words)}"}


def _word(value: Any) -> str:
    return str(value.get("kind", value)) if isinstance(value, dict) else str(value)


def _check_panel(panel: PanelSpec) -> None:
    """Build every description once, so that mistakes are found before anything runs."""
    if not panel.agents:
        raise SpecError("agents: at least one is needed")
    domain = _checked(Domain, "domain", panel.domain)
    features = _checked(Features, "features", panel.features)
    try:
        features.shape(domain)
    except ValueError as error:
        raise SpecError(f"features: {error}") from None
    for key, table in panel.agents.items():
        label = table.get("label", key)
        if not isinstance(label, str):
            raise SpecError(f"agents.{key}.label: must be a text, got {label!r}")
        _checked(Agent, f"agents.{key}", {k: v for k, v in table.items() if k != "label"})


def _checked(kind: type[Description], path: str, table: Mapping[str, Any]) -> Any:
    known = sorted(name for name, found in KINDS.items() if issubclass(found, kind))
    name = table.get("kind")
    if name is None:
        raise SpecError(f"{path}.kind: is missing (known: {', '.join(known)})")
    if name not in known:
        raise SpecError(f"{path}.kind: unknown {name!r}" + near_miss(str(name), known))
    try:
        return _described(kind, table)
    except (ValueError, TypeError) as error:
        raise SpecError(f"{path}: {error}") from None


def _described(kind: type[Description], table: Mapping[str, Any]) -> Any:
    return kind.from_dict({key: _value(item) for key, item in table.items()})


def _value(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _value(inner) for key, inner in item.items()}
    return None if item == "none" else item


def _changed(panel: PanelSpec, changes: Changes) -> PanelSpec:
    agents = {}
    for key, table in panel.agents.items():
        options = KINDS[table["kind"]].__dataclass_fields__  # type: ignore[attr-defined]
        wanted = {**changes.agents, **changes.kinds.get(table["kind"], {})}
        agents[key] = {**table, **{k: v for k, v in wanted.items() if k in options}}
    return replace(
        panel,
        domain=_where_known(panel.domain, changes.domain),
        features=_where_known(panel.features, changes.features),
        agents=agents,
    )


def _where_known(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    options = KINDS[table["kind"]].__dataclass_fields__  # type: ignore[attr-defined]
    return {**table, **{key: value for key, value in changes.items() if key in options}}
