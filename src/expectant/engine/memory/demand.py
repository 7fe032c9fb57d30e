"""What the runs of a job will hold, added up before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from expectant.features.vector import state_bytes
from expectant.parts import Need, Site, bytes_of, needs_of

if TYPE_CHECKING:
    from expectant.engine.job import Job


class Demand(NamedTuple):
    """What runs of a job hold, by ``needs``: ``once`` for all, and every run of them ``each``.

    A run takes ``building`` more while it is built, and of every run ``kept`` is left at the end.
    """

    needs: Sequence[Need]
    once: int
    each: int
    building: int
    kept: int

    @property
    def alone(self) -> int:
        """The most that a single run takes."""
        return self.once + self.each + self.building

    def peak(self, at_once: int, runs: int, keep: bool = False) -> int:
        """The most that so many runs take, so many of them ``at_once``; ``keep``: all of them."""
        under_way = self.once + at_once * (self.each + self.building)
        left = self.each if keep else self.kept
        gathered = runs * self.kept if runs > 1 else 0
        return under_way + (runs - at_once) * left + gathered


Also = Callable[[Site], Sequence[Need]]  # what is held once beside the runs of a job


def nothing(site: Site) -> Sequence[Need]:
    return ()


def demand_of(job: Job, also: Also = nothing) -> Demand:
    """The demand of a job; added up once where nothing else is held."""
    known = vars(job)
    if also is not nothing:
        return demand_in(job, job.site(None, None, None), also)
    if "demand" not in known:
        known["demand"] = demand_in(job, job.site(None, None, None))
    return known["demand"]


def demand_in(job: Job, site: Site, also: Also = nothing) -> Demand:
    """The demand of a job whose agent is built for a given site."""
    described = (job.domain, job.features, job.agent)
    needs = [need for part in described for need in needs_of(part, site)]
    states = 2 * state_bytes(site.shape) + bytes_of((4,), (1,))
    records = records_of(job)
    needs += [Need("the present state", states), records]
    needs += [need._replace(shared=True) for need in also(site)]
    return Demand(
        needs,
        sum(need.bytes + need.building for need in needs if need.shared),
        sum(need.bytes for need in needs if not need.shared),
        sum(need.building for need in needs if not need.shared),
        records.bytes,
    )


def records_of(job: Job) -> Need:
    """What is written down of a run: returns and lengths, and rewards."""
    bins = -(-job.steps // job.bin)
    if job.episodes:
        what, instead = f"the records of {job.episodes:,} episodes", "fewer episodes"
    else:
        what, instead = f"the records of {bins:,} bins", "fewer bins"
    return Need(what, bytes_of((2, job.episodes), (bins,)), instead)
