"""Names for what nobody has named: agents by their kind, and by what they differ in."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any


def names_of(agents: Sequence[Any]) -> list[str]:
    """A name for every agent, no two the same.

    >>> names_of([QLearning(0.1), Lookahead(0.1), Lookahead(0.2)])
    ['QLearning', 'Lookahead(value_step=0.1)', 'Lookahead(value_step=0.2)']
    """
    names = [_name(agent, [a for a in agents if type(a) is type(agent)]) for agent in agents]
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return found


def _name(agent: Any, alike: Sequence[Any]) -> str:
    """The kind of an agent, with the settings in which those of the same kind differ."""
    settings = [
        field.name
        for field in (dataclasses.fields(agent) if dataclasses.is_dataclass(agent) else ())
        if any(getattr(other, field.name) != getattr(agent, field.name) for other in alike)
    ]
    told = ", ".join(f"{name}={getattr(agent, name)!r}" for name in settings)
    return f"{type(agent).__name__}({told})" if told else type(agent).__name__
