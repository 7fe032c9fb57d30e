"""Every part that can be described, with its options: what ``list`` and ``show`` print."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from expectant.agents.planner import Agent
from expectant.backups import Backups
from expectant.descriptions import KINDS, Description, near_miss
from expectant.domains.finite import Domain
from expectant.features.table import Features
from expectant.models.expectation import Model

GROUPS: dict[str, type[Description]] = {
    "domains": Domain,
    "features": Features,
    "models": Model,
    "backups": Backups,
    "agents": Agent,
}


def catalogue() -> list[dict[str, Any]]:
    """Every kind: its group, its names, what it is, its options."""
    return [
        entry(kind)
        for base in GROUPS.values()
        for kind, found in sorted(KINDS.items())
        if issubclass(found, base)
    ]


def entry(kind: str) -> dict[str, Any]:
    """One kind as plain data."""
    found: Any = KINDS[kind]
    group = next(name for name, base in GROUPS.items() if issubclass(found, base))
    return {
        "group": group,
        "kind": kind,
        "name": found.__name__,
        "text": inspect.cleandoc(found.__doc__ or ""),
        "options": [
            {
                "name": field.name,
                "rule": field.metadata["rule"].text,
                "default": None if field.default is dataclasses.MISSING else field.default,
                "required": field.default is dataclasses.MISSING,
            }
            for field in dataclasses.fields(found)
        ],
    }


def find(name: str) -> dict[str, Any]:
    """The entry of a kind, by either of its names."""
    for kind, found in KINDS.items():
        if name in (kind, found.__name__):
            return entry(kind)
    known = sorted([*KINDS, *(found.__name__ for found in KINDS.values())])
    raise ValueError(f"unknown part {name!r}" + near_miss(name, known))
