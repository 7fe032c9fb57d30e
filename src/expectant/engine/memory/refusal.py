"""Saying what does not fit into memory: how much, for what, and what to use instead."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from expectant.descriptions import Description
from expectant.engine.memory.demand import Also, Demand, demand_in, nothing
from expectant.lanes import padded
from expectant.parts import Need, Site, needs_of

if TYPE_CHECKING:
    from expectant.engine.job import Job

WORTH_NAMING = 0.1  # of what is needed: a share for which a way out is named

Peak = Callable[[Demand], int]  # what a demand comes to


class TooLargeError(ValueError):
    """Asks for more memory than is free; says for what, and what to use instead."""


def size_in_words(size: float) -> str:
    """A number of bytes in three digits and a unit."""
    units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.3g} {units[0]}" if size < 999.5 else f"{size:,.0f} {units[0]}"


def owner(job: Job) -> str:
    """What a job is called in a sentence."""
    return f"{type(job.agent).__name__} in {job.domain.called}"


def sentence(
    job: Job,
    demand: Demand,
    peak: Peak,
    free: float,
    *,
    also: Also = nothing,
    runs: int = 1,
    keep: bool = False,
) -> str:
    """What is needed, for what, and what would fit."""
    in_all, largest = peak(demand), max(demand.needs, key=_size)
    more = f" and {size_in_words(in_all)} in all" if in_all > 1.05 * demand.alone else ""
    reason = " because keep_agents=True keeps every run" if keep and more else ""
    ways = [
        *_fewer_runs(demand, free, runs, keep),
        *_fewer_features(job, lambda site: peak(demand_in(job, site, also)) <= free),
        *_smaller_parts(job, demand),
    ]
    advice = " or ".join(ways) if ways else "something smaller, or a machine with more memory"
    return (
        f"{owner(job)}: needs {size_in_words(demand.alone)} a run{more}{reason}, "
        f"{size_in_words(_size(largest))} of it for {largest.what}; "
        f"{size_in_words(free)} are free: use {advice}"
    )


def failure(job: Job, error: MemoryError) -> str:
    """Which part could not be built: the innermost that was being built."""
    name = owner(job)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        builder = frame.f_locals.get("self")
        if isinstance(builder, Description):
            name = type(builder).__name__
    reason = str(error) or "There is no memory left"
    return f"{name}: could not be built, {reason[0].lower()}{reason[1:]}: make it smaller"


def _size(need: Need) -> int:
    return need.bytes + need.building


def _fewer_features(job: Job, fits: Callable[[Site], bool]) -> Iterator[str]:
    """How many features would fit, if fewer help."""
    site = job.site(None, None, None)
    low, high = 1 if _dense(site) else site.shape.active, site.shape.size
    if low >= high or not fits(_with_features(site, low)):
        return
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(_with_features(site, middle)) else (low, middle)
    unit = 10 ** max(0, len(str(low)) - 2)
    how = " or ".join(need.instead for need in needs_of(job.features, site) if need.instead)
    yield f"fewer features (up to {low // unit * unit:,} fit{f': {how}' if how else ''})"


def _dense(site: Site) -> bool:
    """Whether a good part of all features are active at once."""
    return 4 * site.shape.active > site.shape.size


def _with_features(site: Site, size: int) -> Site:
    """The same site with fewer features; where they are dense, fewer are active too."""
    shape = site.shape
    active = -(-shape.active * size // shape.size) if _dense(site) else shape.active
    shape = shape._replace(size=size, active=active)
    return dataclasses.replace(site, shape=shape, width=padded(size))


def _smaller_parts(job: Job, demand: Demand) -> Iterator[str]:
    """What can be done about parts that hold much, features apart."""
    of_features = needs_of(job.features, job.site(None, None, None))
    for need in demand.needs:
        large = _size(need) >= WORTH_NAMING * demand.alone
        if need.instead and large and need not in of_features:
            yield need.instead


def _fewer_runs(demand: Demand, free: float, runs: int, keep: bool) -> Iterator[str]:
    """How many runs would fit, where one does."""
    if runs == 1 or demand.alone > free:
        return
    if keep and demand.peak(1, runs) <= free:
        yield "keep_agents=False"
    each = (demand.each if keep else demand.kept) + demand.kept
    fitting = 1 + int((free - demand.alone) // max(each, 1))
    yield f"fewer runs (runs={min(fitting, runs - 1)})"
