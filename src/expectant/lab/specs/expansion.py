"""From the tables of a spec to its cells: panels × variants × agents × all that is varied."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from expectant.lab.specs.axes import LOCAL, Axis, axes_of, check_paths
from expectant.lab.specs.settings import EVERY, Path, dotted, options_of_table, with_setting, word
from expectant.lab.specs.spec_errors import (
    SpecError,
    check_keys,
    check_table,
    check_tables,
    check_text,
)

PARTS = ("domain", "features", "agents")
MOST_CELLS = 100_000


@dataclass(frozen=True)
class PanelSpec:
    """One panel's tables, as data, and what is varied in them."""

    name: str
    domain: Mapping[str, object]
    features: Mapping[str, object]
    agents: Mapping[str, Mapping[str, object]]
    axes: tuple[Axis, ...] = ()
    title: str = ""

    def axes_for(self, agent: str) -> list[Axis]:
        """What is varied for one agent."""
        found = (axis.concerning(agent, self.agents[agent]) for axis in self.axes)
        return [axis for axis in found if axis is not None]


@dataclass(frozen=True)
class Point:
    """One cell as data: the panel and agent with their names, and their tables filled in.

    ``panel`` and ``agent`` tell the cell from all others; ``base_panel`` and ``base_agent`` are the
    names in the spec, without what is varied.
    """

    panel: str
    agent: str
    label: str
    domain: Mapping[str, object]
    features: Mapping[str, object]
    table: Mapping[str, object]
    base_panel: str
    base_agent: str
    title: str = ""


def panels_in(data: Mapping[str, Any]) -> Iterator[PanelSpec]:
    """The panels, times the variants, with the common tables filled in."""
    common = {key: check_table(key, data.get(key, {})) for key in PARTS}
    listed = check_tables("panels", data.get("panels", [{"name": ""}]))
    variants = check_table("variants", data.get("variants", {}))
    names = [panel.get("name") for panel in listed]
    everywhere = list(axes_of(data))
    for position, panel in enumerate(listed):
        name, where = panel.get("name"), f"panels.{position}."
        if not isinstance(name, str) or names.count(name) > 1:
            raise SpecError(f"{where}name: must be a text of its own, got {name!r}")
        check_keys(where, panel, ["name", "title", *PARTS])
        title = check_text(f"{where}title", panel.get("title", ""))
        tables = _laid_over(common, panel, where)
        for variant, own in variants.items() or [("", {})]:
            place = f"variants.{variant}."
            check_keys(place, check_table(place[:-1], own), PARTS)
            laid = _laid_over(tables, own, place)
            full = ", ".join(filter(None, (name, variant)))
            shown = ", ".join(filter(None, (title, variant))) if title else ""
            yield _panel(full, laid, everywhere, shown)


def _laid_over(
    common: Mapping[str, Any], own: Mapping[str, Any], where: str
) -> dict[str, dict[str, Any]]:
    """Tables with others laid over them; an agent called ``*`` is every agent with the option.

    Agents that say no kind of their own get that of ``*``.
    """
    own = {key: check_table(f"{where}{key}", own.get(key, {})) for key in PARTS}
    agents = {
        key: {
            **check_table(f"agents.{key}", common["agents"].get(key, {})),
            **check_table(f"{where}agents.{key}", own["agents"].get(key, {})),
        }
        for key in dict.fromkeys([*common["agents"], *own["agents"]])
        if key != EVERY
    }
    for name, table in agents.items():
        shared = check_table(f"{where}agents.{EVERY}", own["agents"].get(EVERY, {}))
        known = table if "kind" in table else {**shared, **table}
        options = options_of_table(known)
        agents[name] = {**known, **{k: v for k, v in shared.items() if k in options}}
    return {
        "domain": {**common["domain"], **own["domain"]},
        "features": {**common["features"], **own["features"]},
        "agents": agents,
    }


def _panel(
    name: str, tables: Mapping[str, dict[str, Any]], everywhere: Sequence[Axis], title: str
) -> PanelSpec:
    axes = [*everywhere]
    for key in ("domain", "features"):
        axes += axes_of(tables[key], (key,), f"{key}.")
    for key, table in tables["agents"].items():
        axes += axes_of(table, ("agents", key), f"agents.{key}.")
    check_paths(axes, tables["agents"])
    agents = {key: _plain(table) for key, table in tables["agents"].items()}
    return PanelSpec(
        name, _plain(tables["domain"]), _plain(tables["features"]), agents, tuple(axes), title
    )


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in table.items() if key not in LOCAL}


def points(panel: PanelSpec) -> Iterator[Point]:
    """Every agent of a panel in every combination of what is varied."""
    for agent in panel.agents:
        axes = panel.axes_for(agent)
        searched = next((axis for axis in axes if axis.range is not None), None)
        if searched is not None:
            raise SpecError(f"{searched.where}: is a range, which only a search can try")
        for rows in itertools.product(*(axis.rows for axis in axes)):
            yield point(panel, agent, chosen(axes, rows))


def chosen(axes: Sequence[Axis], rows: Sequence[tuple[Any, ...]]) -> dict[Path, Any]:
    """The settings that a row of every axis stands for."""
    return {
        path: value
        for axis, row in zip(axes, rows, strict=True)
        for path, value in zip(axis.paths, row, strict=True)
    }


def point(panel: PanelSpec, agent: str, settings: Mapping[Path, Any]) -> Point:
    """One agent of a panel with some settings replaced, named by what distinguishes it."""
    tables = {"domain": panel.domain, "features": panel.features, "agents": panel.agents[agent]}
    words: dict[str, list[str]] = {"around": [], "agent": []}
    label = str(tables["agents"].get("label", agent))
    for path, value in settings.items():
        inner = path[2:] if path[0] == "agents" else path[1:]
        tables[path[0]] = with_setting(tables[path[0]], inner, value, dotted(path))
        if path[0] == "agents":
            words["agent"].append(f"{dotted(inner)}={word(value)}")
            label += f", {dotted(inner)} {legend_text(value)}"
        else:
            words["around"].append(f"{dotted(path)}={word(value)}")
    return Point(
        panel=" ".join(filter(None, [panel.name, *sorted(words["around"])])),
        agent=" ".join([agent, *sorted(words["agent"])]),
        label=label,
        domain=tables["domain"],
        features=tables["features"],
        table={key: item for key, item in tables["agents"].items() if key != "label"},
        base_panel=panel.name,
        base_agent=agent,
        title=panel.title,
    )


def legend_text(value: Any) -> str:
    """A value for a legend: a part by its kind."""
    return str(value.get("kind", value)) if isinstance(value, dict) else str(value)


def check_size(panels: Sequence[PanelSpec]) -> None:
    """Refuse what nobody can run, before it is expanded."""
    total = sum(
        math.prod(max(1, len(axis.rows)) for axis in panel.axes_for(agent))
        for panel in panels
        for agent in panel.agents
    )
    if total > MOST_CELLS:
        raise SpecError(f"grid: must ask for at most {MOST_CELLS:,} cells, got {total:,}")


def check_names(panels: Sequence[PanelSpec]) -> None:
    """Refuse settings that are varied twice."""
    for panel in panels:
        for agent in panel.agents:
            seen: dict[Path, str] = {}
            for axis in panel.axes_for(agent):
                for path in axis.paths:
                    key = path[2:] if path[0] == "agents" else path
                    if key in seen:
                        raise SpecError(
                            f"{axis.where}: must be varied in one place, got {seen[key]} as well"
                        )
                    seen[key] = axis.where
