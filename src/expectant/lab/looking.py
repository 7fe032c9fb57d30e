"""What a look is: a number of what an agent knows, known by name; anybody can add one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from expectant.lab.policy_worth import phase_of
from expectant.lab.registry import Registry
from expectant.parts import Domain
from expectant.rules import Rule


class Seen(NamedTuple):
    """The answers at M stops, one row each, NaN from a divergence on; ``phases`` (M,).

    ``values`` (M, S), ``preferences`` (M, S, A), and ``work`` (M,), how many backups planning has
    drawn by then; ``returns`` (M, E) of episodes that the agent acts greedily in. What a look does
    not ask for is empty.
    """

    values: np.ndarray
    preferences: np.ndarray
    phases: np.ndarray
    work: np.ndarray = np.zeros(0)
    returns: np.ndarray = np.zeros((0, 0))


Of = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Look:
    """A number of what an agent knows: ``of`` maps a domain, an agent's description and what was
    :class:`Seen` to (M,), with the ``options`` that a record may set.

    ``topics`` is what it asks for. ``levels`` gives lines to hold it against, phase by phase, and
    ``course`` curves: what should be seen after so many episodes or steps, (M,) of (M,). It is one
    ``of_errors`` if less is better.
    """

    name: str
    title: str
    meaning: str
    topics: tuple[str, ...]
    of: Of
    options: Mapping[str, tuple[Rule[object], object]] = field(default_factory=dict)
    levels: Callable[..., list[dict[str, float]]] | None = None
    course: Callable[[Domain, np.ndarray], dict[str, np.ndarray]] | None = None
    of_errors: bool = False


LOOKS: Registry[Look] = Registry("look")
add_look = LOOKS.add


def look_as(
    name: str, meaning: str, *, topics: tuple[str, ...] = ("values",), title: str = ""
) -> Callable[[Of], Of]:
    """Make a function of a domain, an agent and what was seen, to (M,), a look of that name."""

    def register(of: Of) -> Of:
        add_look(Look(name, title or name, meaning, topics, of))
        return of

    return register


def look_named(name: str) -> Look:
    """A look by its name."""
    return LOOKS.named(name)


def by_phase(
    domain: Domain, seen: Seen, known: np.ndarray, of: Callable[[np.ndarray, int], np.ndarray]
) -> np.ndarray:
    """What ``of`` says of the rows that are ``known`` (M,), phase by phase; NaN of the others."""
    result = np.full(known.size, np.nan)
    for phase in np.unique(seen.phases):
        rows = known & (seen.phases == phase)
        if rows.any():
            result[rows] = of(rows, phase_of(domain, int(phase)))
    return result
