"""Experiments written down as TOML, checked down to the last key.

An experiment is a domain, features, some agents, how long and how many runs. ``panels`` and
``variants`` repeat it with some settings changed, ``grid`` and ``linked`` with every combination
of listed values. Where an option may be None, the word "none" stands for it.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from expectant.lab.cells import LENGTH, Cell
from expectant.lab.records import Record
from expectant.lab.specs.describing import Describer, settle_kinds
from expectant.lab.specs.expansion import (
    PanelSpec,
    Point,
    check_names,
    check_size,
    panels_in,
    point,
    points,
)
from expectant.lab.specs.keys import (
    DEFAULTS,
    SETTINGS,
    TABLES,
    TEXTS,
    curve_wanted,
    folder_name,
    is_folder_name,
    look_wanted,
    numbers_of,
    wants_lengths,
)
from expectant.lab.specs.settings import options_of_table
from expectant.lab.specs.spec_errors import SpecError, check_keys, check_text, check_texts
from expectant.parts import Agent, Domain, Features

CALLED = ("name", "title", "notes")  # what a spec says of itself, and no number depends on

__all__ = [
    "DEFAULTS",
    "SETTINGS",
    "TABLES",
    "TEXTS",
    "Cell",
    "Changes",
    "Experiment",
    "SpecError",
    "experiment_of",
    "parse_spec",
    "parse_toml",
    "read_config",
    "read_spec",
    "read_text",
    "spec_hash",
]


@dataclass(frozen=True)
class Changes:
    """Settings that a reading of a paper, or a sweep, replaces.

    ``agents`` goes to every agent that has the option, ``kinds`` to the agents of one kind.
    """

    domain: Mapping[str, object] = field(default_factory=dict)
    features: Mapping[str, object] = field(default_factory=dict)
    agents: Mapping[str, object] = field(default_factory=dict)
    kinds: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A spec that has been read and checked; ``steps`` is 0 where episodes are counted.

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
    panels: tuple[PanelSpec, ...]
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
        """Whether less of its curves is better: of errors, and of the lengths of episodes."""
        return self.record.found.of_errors if self.record else self.curve == LENGTH

    def changed(self, changes: Changes) -> Experiment:
        """The same experiment with some settings replaced where they apply."""
        return replace(self, panels=tuple(_changed(panel, changes) for panel in self.panels))

    def cells(self, reading: str = "", *, trust: bool = False) -> list[Cell]:
        """All agents of all panels in all variations, as descriptions."""
        describe = Describer(trust)
        return [
            self._cell(found, describe, reading) for panel in self.panels for found in points(panel)
        ]

    def names(self) -> list[tuple[str, str]]:
        """Panel and agent of every cell, in the order of :meth:`cells`."""
        return [(found.panel, found.agent) for panel in self.panels for found in points(panel)]

    def cell(
        self, panel: PanelSpec, agent: str, settings: Mapping[tuple[str, ...], object]
    ) -> Cell:
        """One agent of a panel with some settings of one's choice."""
        return self._cell(point(panel, agent, settings), Describer(), "")

    def _cell(self, found: Point, describe: Describer, reading: str) -> Cell:
        return Cell(
            experiment=self.name,
            panel=found.panel,
            reading=reading,
            agent_key=found.agent,
            base_panel=found.base_panel,
            base_agent=found.base_agent,
            label=found.label,
            domain=describe(Domain, "domain", found.domain),
            features=describe(Features, "features", found.features),
            agent=describe(Agent, f"agents.{found.base_agent}", found.table),
            panel_title=found.title,
            **self.common(),
        )

    def common(self) -> dict[str, Any]:
        """What all cells share: how long, how often, from which seed, what is recorded."""
        return {
            "episodes": self.episodes,
            "runs": self.runs,
            "bin": self.bin,
            "seed": self.seed,
            "step_limit": self.step_limit,
            "steps": self.steps,
            "bins": self.bins,
            "lengths": self.lengths,
            "curve": self.curve,
            "record": self.record,
        }


def read_config(path: Path, *, trust: bool = False) -> Experiment:
    """Read any config file, of one experiment or of a sweep (``is_sweep``); raise SpecError.

    ``trust`` is for specs that are to be run: classes and environments that they name by a module
    of somebody's own are imported. Without it they are refused, unless they are imported already.
    """
    return parse_spec(read_text(path), str(path), trust=trust)


read_spec = read_config


def read_text(path: Path) -> str:
    """The text of a spec file."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise SpecError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: cannot be read: {error}") from None


def parse_spec(text: str, source: str, *, trust: bool = False) -> Experiment:
    """The experiment in a TOML text that came from ``source``."""
    return experiment_of(parse_toml(text, source), source, trust=trust)


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """A TOML text as plain data."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{source}: not TOML: {error}") from None


def spec_hash(data: Mapping[str, Any]) -> str:
    """A hash of a spec's contents; order, comments and layout do not matter."""
    text = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def cells_hash(data: Mapping[str, Any]) -> str:
    """A hash of what a spec asks for, whatever it is called."""
    return spec_hash({key: value for key, value in data.items() if key not in CALLED})


def experiment_of(data: Mapping[str, Any], source: str, *, trust: bool = False) -> Experiment:
    """The experiment that the data of a spec describes."""
    try:
        return _experiment(data, _called(Path(source)), trust)
    except SpecError as error:
        raise SpecError(f"{source}: {error}") from None
    except RecursionError:
        raise SpecError(f"{source}: tables are too deep") from None


def _called(path: Path) -> str:
    """What a spec without a name goes by: its file, or the folder of results that keeps it."""
    kept = path.name == "spec.toml" and (path.parent / "blocks").is_dir()
    folder = path.resolve().parent.name
    return folder if kept and is_folder_name(folder) else path.stem


def _experiment(data: Mapping[str, Any], stem: str, trust: bool) -> Experiment:
    check_keys("", data, [*TEXTS, *SETTINGS, *TABLES])
    settle_kinds({key: table for key, table in data.items() if key in TABLES}, trust)
    numbers = numbers_of(data)
    panels = tuple(panels_in(data))
    check_names(panels)
    check_size(panels)
    experiment = Experiment(
        name=folder_name(data.get("name", stem)),
        title=check_text("title", data.get("title", stem)),
        notes=tuple(check_texts("notes", data.get("notes", []))),
        panels=panels,
        lengths=wants_lengths(data, numbers),
        curve=curve_wanted(data, numbers),
        record=look_wanted(data),
        **numbers,
    )
    _check_cells(experiment, trust)
    return experiment


def _check_cells(experiment: Experiment, trust: bool) -> None:
    """Build every description once, so that mistakes are found before anything runs."""
    seen = set()
    for panel in experiment.panels:
        if not panel.agents:
            raise SpecError("agents: at least one is needed")
        for key, table in panel.agents.items():
            check_text(f"agents.{key}.label", table.get("label", key))
    for cell in _samples(experiment, trust):
        if cell.id in seen:
            raise SpecError(f"two cells have the id {cell.id!r}; name panels and agents apart")
        seen.add(cell.id)
        part = "domain"
        try:
            cell.domain.actions  # noqa: B018  only now an environment is made
            part = "features"
            cell.features.shape(cell.domain)
        except ValueError as error:
            raise SpecError(f"{part}: {error}") from None


def _samples(experiment: Experiment, trust: bool) -> list[Cell]:
    """All cells; of settings with a range, both ends."""
    ends = replace(experiment, panels=tuple(map(_ends, experiment.panels)))
    return ends.cells(trust=trust)


def _ends(panel: PanelSpec) -> PanelSpec:
    axes = tuple(
        replace(axis, rows=((axis.range.low,), (axis.range.high,)), range=None)
        if axis.range is not None
        else axis
        for axis in panel.axes
    )
    return replace(panel, axes=axes)


def _changed(panel: PanelSpec, changes: Changes) -> PanelSpec:
    agents = {}
    for key, table in panel.agents.items():
        wanted = {**changes.agents, **changes.kinds.get(str(table["kind"]), {})}
        agents[key] = _where_known(table, wanted)
    return replace(
        panel,
        domain=_where_known(panel.domain, changes.domain),
        features=_where_known(panel.features, changes.features),
        agents=agents,
    )


def _where_known(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    options = options_of_table(table)
    return {**table, **{key: value for key, value in changes.items() if key in options}}
