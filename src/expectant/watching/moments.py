"""When to look: often after every change of the domain, and right before the next one."""

from __future__ import annotations

import numpy as np

from expectant.parts import Domain


def changes_of(domain: Domain, unit: str, length: int) -> tuple[int, ...]:
    """When a domain changes during a run of so many episodes or steps, as far as it is known.

    The corridor and other finite MDPs change after so many episodes, the domains of the adaptation
    test after so many steps; counted in the other unit, nobody knows beforehand.
    """
    if unit == "step":
        ends = np.cumsum(domain.phase_steps)[:-1]
        return tuple(int(end) for end in ends if end < length)
    every = domain.switch_every
    return tuple(range(every, length, every)) if every else ()


def moments(length: int, frames: int, changes: tuple[int, ...]) -> list[int]:
    """At most ``frames`` times from 0 to ``length``, denser after the start and every change.

    The last moment before a change is the change itself: nothing of it has been seen by then.
    """
    bounds = (0, *changes, length)
    stretches = len(bounds) - 1
    if frames - 1 < 2 * stretches:  # too few to show every change
        found = np.linspace(0, length, frames).round().astype(int)
        return sorted({int(moment) for moment in found})
    shares = np.diff(np.linspace(0, frames - 1, stretches + 1).round().astype(int))
    chosen = {0}
    for start, end, share in zip(bounds[:-1], bounds[1:], shares, strict=True):
        chosen |= _stretch(start, end, int(share))
    return sorted(chosen)


def _stretch(start: int, end: int, share: int) -> set[int]:
    """``share`` moments after ``start``, ever further apart, the last of them ``end``."""
    found, last = set(), start
    for n in range(1, share + 1):
        wanted = start + (end - start) * (n / share) ** 2
        last = min(end, max(last + 1, round(wanted)))
        found.add(last)
    return found
