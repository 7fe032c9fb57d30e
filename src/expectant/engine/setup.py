"""The setup of runs: domain, features, agent, budget and seed; builds and loads what they need."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from expectant.checks.dry_run import dry_run
from expectant.core import tree
from expectant.core.config import Reads, is_builtin, nested_classes, record_reads, refuse_unread
from expectant.core.interfaces import Agent, BuildContext, Domain, Features
from expectant.core.memory import (
    TooLargeError,
    claim,
    full,
    memory_limit,
    refuse_large,
    size_text,
    zeros,
)
from expectant.core.reductions import padded_size
from expectant.core.rng import Streams, run_streams
from expectant.core.rules import or_none, whole
from expectant.core.vectors import empty_state
from expectant.engine.driver import new_control
from expectant.engine.loop import FIRST, NUMBER, Budget, Ranges, Run, respond, simulate
from expectant.engine.progress import Reporter, say
from expectant.jit.compile import Kernel, compile_for, is_compiled, use_compiled

UNLIMITED = 2**62
LINES = 128  # bytes that a core may fetch at once
SMALL = 4096  # the ends of larger arrays are too rarely written to matter
STEP_LIMIT = 10_000  # of an episode, where neither the user nor the domain says otherwise


class RunSize(NamedTuple):
    """Bytes of one run in all, of its domain's tables, which runs share, and of its records."""

    total: int
    shared: int
    records: int


@dataclass(frozen=True)
class Setup:
    """A domain, features and an agent, with the length of a run and a seed.

    ``aligned`` runs share no cache lines, which is faster.
    """

    domain: Domain
    features: Features
    agent: Agent
    _: KW_ONLY
    episodes: int = 0
    steps: int = 0
    bins: int = 1
    step_limit: int | None = None
    seed: int = 0
    aligned: bool = True

    def __post_init__(self) -> None:
        name, domain = type(self.domain).__name__, self.domain
        if not self.is_builtin:
            whole(1).check(name, "actions", domain.actions)
            or_none(whole(1)).check(name, "states", domain.states)

    @property
    def title(self) -> str:
        return f"{type(self.agent).__name__} in {self.domain.display_name}"

    @property
    def length(self) -> int:
        """The number of episodes of a run, or of steps where those are counted."""
        return self.episodes or self.steps

    @property
    def bin(self) -> int:
        return max(1, -(-self.steps // self.bins))

    def budget(self) -> Budget:
        """Return the budget of a run; an endless domain that is run by steps is not truncated."""
        longest = UNLIMITED if self.steps and self.domain.endless else STEP_LIMIT
        limit = self.step_limit or self.domain.step_limit or longest
        return Budget(self.episodes or UNLIMITED, self.steps or UNLIMITED, limit)

    @property
    def phase_lengths(self) -> list[int]:
        """The lengths of the domain's phases within a run, in its unit: episodes or steps."""
        if self.steps and self.domain.phase_steps:
            ends = np.minimum(np.cumsum(self.domain.phase_steps), self.length)
            ends[-1] = self.length  # the last one goes on as long as the run does
            return [int(length) for length in np.diff(ends, prepend=0) if length > 0]
        every = self.domain.switch_every
        if self.steps or every is None:
            return [self.length]
        complete, rest = divmod(self.length, every)
        return [every] * complete + ([rest] if rest else [])

    def for_run(self, number: int) -> Setup:
        """Return the setup of one run, which differs if every run has its own domain."""
        domain = self.domain.for_run(number)
        return self if domain is self.domain else replace(self, domain=domain)

    @cached_property
    def is_builtin(self) -> bool:
        """True if all its parts are the package's, so that all runs have arrays of the same types.

        Others may build arrays of one type in one run and of another in the next.
        """
        return all(map(is_builtin, nested_classes((self.domain, self.features, self.agent))))

    @cached_property
    def size(self) -> RunSize:
        """The memory of a run, as measured when the first one was built."""
        self.build(0)
        return self.size

    def build(self, number: int, control: np.ndarray | None = None) -> tuple[Run, Streams]:
        """Build all arrays of one run from its seed; setting ``control[0]`` stops its work."""
        control = new_control() if control is None else control
        streams, domain = run_streams(self.seed, number), self.domain.for_run(number)
        agent, reads = self.agent, Reads()
        if "size" not in vars(self) and not self.is_builtin:
            agent = record_reads(agent, reads)
        with refuse_large(self.title) as claims:
            features_part = self.features.build(domain, streams.building)
            domain_part = domain.build(streams.building)
            shape = self.features.shape(domain)
            context = BuildContext(
                shape=shape,
                width=padded_size(shape.size),
                actions=domain.actions,
                domain=domain,
                domain_part=domain_part,
                features_part=features_part,
                rng=streams.building,
                planning=streams.planning,
                control=control,
            )
            run = Run(
                domain=domain_part,
                features=features_part,
                agent=agent.build_agent(context),
                state=empty_state(shape),
                next_state=empty_state(shape),
                ranges=Ranges(context.actions, shape.size, int(self.domain.states or 0)),
                clock=np.zeros(NUMBER + 1, np.int64),
                total=np.zeros(1),
                returns=full(self.episodes, np.nan),
                lengths=zeros(self.episodes, np.int64),
                rewards=zeros(-(-self.steps // self.bin)),
                bin=self.bin,
            )
            if "size" not in vars(self):
                measured = run, run.domain, (run.returns, run.lengths, run.rewards)
                size = vars(self)["size"] = RunSize(*map(tree.total_bytes, measured))
                claim(max(0, size.total - claims.total))
        refuse_unread(reads)
        run.clock[NUMBER] = number
        return align_arrays(run, control) if self.aligned else run, streams


def align_arrays(part: Any, shared: np.ndarray) -> Any:
    """Rebuild a part with its small arrays in one block; ``shared`` stays where it is.

    NumPy allocates small arrays of all threads side by side. A core that writes to one takes its
    cache line away from the others, which made runs on two threads up to twice as slow.
    """
    arrays = {id(array): array for _, array in tree.arrays(part)}
    kept = {id(shared), *(id(array.base) for array in arrays.values() if array.base is not None)}
    small = [
        array
        for key, array in arrays.items()
        if key not in kept and array.nbytes <= SMALL and not array.dtype.hasobject
        if array.flags.owndata and array.flags.c_contiguous
    ]
    sizes = [-(-array.nbytes // 16) * 16 for array in small]
    block = np.empty(sum(sizes) + 2 * LINES, np.uint8)
    position, moved = -block.ctypes.data % LINES, {}
    for array, size in zip(small, sizes, strict=True):
        moved[id(array)] = np.ndarray(array.shape, array.dtype, block, position)
        moved[id(array)][...] = array
        position += size
    return tree.replace(part, moved)


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_loop(
    setup: Setup,
    compiled: bool | None,
    name: str,
    show: Reporter,
    first: tuple[Run, Streams] | None = None,
) -> Kernel:
    """Return the loop for runs like the ``first``, compiled or loaded from disk if wanted.

    The first run, by default run 0 of the setup, is used up.
    """
    run, streams = first or setup.build(0)
    entry, arguments = _first_call(run, streams)
    if not use_compiled(compiled):
        return entry
    if not setup.is_builtin:
        dry_run(setup, run, streams)
    return compile_for(entry, arguments, name, show, fixed_types=setup.is_builtin)


def is_loop_compiled(setup: Setup, first: tuple[Run, Streams] | None = None) -> bool:
    """True if the loop for runs like the ``first`` is compiled, in memory or on disk."""
    return is_compiled(*_first_call(*(first or setup.build(0))))


def _first_call(run: Run, streams: Streams) -> tuple[Kernel, tuple[Any, ...]]:
    """Return the loop and arguments with which it does nothing, or only responds once."""
    if hasattr(run.domain, "received"):  # from Python
        return respond, (run, -1, 0.0, FIRST, streams)
    return simulate, (run, Budget(0, 0, 1), streams, new_control())


def count_fitting_threads(setup: Setup, runs: int, threads: int, keep: bool) -> int:
    """Return the number of threads on which runs fit into memory; refuse what fits on none."""
    size, most = setup.size, min(threads, runs)
    unshared = size.total - size.shared
    left = unshared if keep else size.records
    results = size.shared + runs * left + (runs * size.records if runs > 1 else 0)
    each = unshared - left  # while it runs
    free = memory_limit(results + most * each)
    if free < results + each:
        reason = ", because keep_agents=True keeps every run" if keep else ""
        advice = "keep_agents=False or fewer runs" if keep else "fewer runs, episodes or bins"
        raise TooLargeError(
            f"{setup.title}: {runs} runs need {size_text(results + each)}{reason}; "
            f"{size_text(free)} are free: use {advice}"
        )
    if free >= results + most * each:
        return most
    fitting = int((free - results) // each)
    say(
        f"{setup.title}: {fitting} at once instead of {most}, because a run needs "
        f"{size_text(size.total)} and {size_text(free)} are free"
    )
    return fitting


class MemoryPool:
    """Memory that runs of several setups share: a run waits until there is enough for it."""

    def __init__(self) -> None:
        self.free = memory_limit()
        self.taken = 0
        self.returned = threading.Condition()

    @contextmanager
    def reserve(self, setup: Setup) -> Iterator[None]:
        """Wait for the memory of one run, and hold it."""
        size = setup.size.total
        with self.returned:
            self.returned.wait_for(lambda: self.taken == 0 or self.taken + size <= self.free)
            self.taken += size
        try:
            yield
        finally:
            with self.returned:
                self.taken -= size
                self.returned.notify_all()
