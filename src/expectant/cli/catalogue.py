"""Components with their parameters, and studies: the data that ``list`` and ``show`` print."""

from __future__ import annotations

import inspect
from typing import Any

from expectant.backups import NAMED_BACKUPS
from expectant.core.config import KINDS, PARAMETERS_HEADING, Config, list_parameters, suggest_name
from expectant.core.errors import MissingExtra
from expectant.core.interfaces import Agent, Backups, Domain, Features, Model, Option, Values
from expectant.models import NAMED_MODELS
from expectant.options.option_set import OptionSet
from expectant.step_sizes import StepSize

GROUPS: dict[str, type[Config] | tuple[type[Config], ...]] = {
    "domains": Domain,
    "features": Features,
    "models": Model,
    "backups": Backups,
    "values": Values,
    "options": (Option, OptionSet),
    "agents": Agent,
    "step sizes": StepSize,
}


def catalogue() -> list[dict[str, Any]]:
    """List every component as plain data, by group and kind."""
    return [
        entry(kind)
        for base in GROUPS.values()
        for kind, component in sorted(KINDS.items())
        if issubclass(component, base)
    ]


def short_names() -> dict[str, str]:
    """Names that agents accept for models and backup distributions, by kind."""
    models = {make(0.1).kind: name for name, make in reversed(NAMED_MODELS.items())}
    return models | {make(1).kind: name for name, make in NAMED_BACKUPS.items()}


def entry(kind: str) -> dict[str, Any]:
    """Describe one component as plain data; ``short`` is its name in the parameters of agents."""
    component: Any = KINDS[kind]
    group = next(name for name, base in GROUPS.items() if issubclass(component, base))
    return {
        "group": group,
        "kind": kind,
        "name": component.__name__,
        "title": component.title() if group == "agents" else component.__name__,
        "algorithm": vars(component).get("algorithm", ""),
        "short": short_names().get(kind),
        "text": inspect.cleandoc((component.__doc__ or "").partition(PARAMETERS_HEADING)[0]),
        "parameters": list_parameters(component),
    }


def study_entries() -> list[dict[str, Any]]:
    """List the packaged studies in the same form, with source, figures and number of claims."""
    from expectant.experiments.study import packaged_studies, read_study

    entries = []
    for name, folder in packaged_studies().items():
        entry: dict[str, Any] = {"group": "studies", "kind": name, "name": name}
        try:
            study = read_study(folder)
        except MissingExtra as missing:
            entries.append({**entry, "text": str(missing)})
            continue
        entry |= {"text": study.title, "source": study.source, "link": study.link}
        entries.append({**entry, "figures": list(study.figures), "claims": len(study.claims)})
    return entries


def find_entry(name: str) -> dict[str, Any]:
    """Return a component by any of its names ("Algorithm 1" is one), or a study."""
    entries = [*catalogue(), *study_entries()]
    for entry in entries:
        names = [entry.get(key) for key in ("kind", "name", "short", "algorithm", "title")]
        if name and name in names:
            return entry
    raise ValueError(
        f"unknown name {name!r}" + suggest_name(name, sorted(e["kind"] for e in entries))
    )
