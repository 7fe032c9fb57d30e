"""Every component with its options, and every study: the data that ``list`` and ``show`` print."""

from __future__ import annotations

import inspect
from typing import Any

from expectant.agents.planning_agent import MODELS
from expectant.backups import NAMED
from expectant.core.config import KINDS, OPTIONS, Config, near_miss, parameters_of
from expectant.core.extras import MissingExtra
from expectant.core.interfaces import Agent, Backups, Domain, Features, Model, Option, Values
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
    """Every kind: its group, its names, what it is, its options."""
    return [
        entry(kind)
        for base in GROUPS.values()
        for kind, found in sorted(KINDS.items())
        if issubclass(found, base)
    ]


def short_names() -> dict[str, str]:
    """What agents call a model or a backup distribution, by its kind."""
    models = {make(0.1).kind: name for name, make in reversed(MODELS.items())}
    return models | {make(1).kind: name for name, make in NAMED.items()}


def entry(kind: str) -> dict[str, Any]:
    """One kind as plain data; ``short`` is what agents call it, if they have a name for it."""
    found: Any = KINDS[kind]
    group = next(name for name, base in GROUPS.items() if issubclass(found, base))
    return {
        "group": group,
        "kind": kind,
        "name": found.__name__,
        "title": found.title() if group == "agents" else found.__name__,
        "algorithm": vars(found).get("algorithm", ""),
        "short": short_names().get(kind),
        "text": inspect.cleandoc((found.__doc__ or "").partition(OPTIONS)[0]),
        "options": parameters_of(found),
    }


def study_entries() -> list[dict[str, Any]]:
    """Every packaged study in the same form, with its source, figures and number of claims."""
    from expectant.experiments.study import packaged, read_study

    entries = []
    for name, folder in packaged().items():
        entry: dict[str, Any] = {"group": "studies", "kind": name, "name": name}
        try:
            study = read_study(folder)
        except MissingExtra as missing:
            entries.append({**entry, "text": str(missing)})
            continue
        about = {"text": study.title, "source": study.source, "link": study.link}
        counted = {"figures": list(study.figures), "claims": len(study.claims)}
        entries.append({**entry, **about, **counted})
    return entries


def find_entry(name: str) -> dict[str, Any]:
    """Return a component by any of its names ("Algorithm 1" is one), or a study."""
    entries = [*catalogue(), *study_entries()]
    for found in entries:
        names = [found.get(key) for key in ("kind", "name", "short", "algorithm", "title")]
        if name and name in names:
            return found
    known = sorted(found["kind"] for found in entries)
    raise ValueError(f"unknown name {name!r}" + near_miss(name, known))
