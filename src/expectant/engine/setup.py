"""The setup of runs: domain, features, agent, budget and seed; builds and loads what they need."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from expectant.checks.dry_run import check_counts, dry_run
from expectant.core import tree
from expectant.core.config import is_all_builtin
from expectant.core.interfaces import Agent, BuildContext, Domain, Features, build_checked_agent
from expectant.core.memory import ALWAYS_FREE, full, memory_limit, zeros
from expectant.core.reductions import padded_size
from expectant.core.rng import Streams, run_streams
from expectant.core.vectors import empty_state
from expectant.engine.driver import new_control
from expectant.engine.gym_loop import first_response, load_responder, respond
from expectant.engine.loop import DONE, NUMBER, STEPS, Budget, Ranges, Run, simulate
from expectant.engine.memory import RunSize, check_size, refuse_large
from expectant.engine.progress import Reporter, say
from expectant.jit.compile import Kernel, compile_for, entry_point, is_compiled, use_compiled

UNLIMITED = 2**62
LINES = 128  # bytes that a core may fetch at once
SMALL = 4096  # the ends of larger arrays are too rarely written to matter
STEP_LIMIT = 10_000  # of an episode, where neither the user nor the domain says otherwise


@dataclass(frozen=True)
class Setup:
    """A domain, features and an agent, with the length of a run and a seed.

    ``aligned`` runs share no cache lines, which is faster. ``strict`` refuses a parameter that a
    user's agent never reads.
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
    strict: bool = True
    _measured: list[RunSize] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_counts(self.domain)

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

    def for_run(self, number: int) -> Setup:
        """Return the setup of one run, which differs if every run has its own domain."""
        domain = self.domain.for_run(number)
        return self if domain is self.domain else replace(self, domain=domain)

    @property
    def size(self) -> RunSize:
        """The memory of a run; one is built if none has been."""
        if not self._measured:
            self.build(0)
        return self._measured[0]

    def build(self, number: int, control: np.ndarray | None = None) -> tuple[Run, Streams]:
        """Build all arrays of one run from its seed; setting ``control[0]`` stops its work."""
        if self._measured:
            with refuse_large(self.title, None):
                return self._build(number, control)
        limit = memory_limit(ALWAYS_FREE + 1)
        with refuse_large(self.title, limit):
            run, streams = self._build(number, control)
        size = RunSize.of(run)
        check_size(self.title, size, limit)
        self._measured.append(size)
        return run, streams

    def _build(self, number: int, control: np.ndarray | None) -> tuple[Run, Streams]:
        streams, domain = run_streams(self.seed, number), self.domain.for_run(number)
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
            control=new_control() if control is None else control,
        )
        build_agent = build_checked_agent if self.strict else type(self.agent).build_agent
        run = Run(
            domain=domain_part,
            features=features_part,
            agent=build_agent(self.agent, context),
            state=empty_state(context.shape),
            next_state=empty_state(context.shape),
            ranges=Ranges(context.actions, context.shape.size, int(self.domain.states or 0)),
            clock=np.zeros(NUMBER + 1, np.int64),
            total=np.zeros(1),
            returns=full(self.episodes, np.nan),
            lengths=zeros(self.episodes, np.int64),
            rewards=zeros(-(-self.steps // self.bin)),
            bin=self.bin,
        )
        run.clock[NUMBER] = number
        return align_arrays(run, context.control) if self.aligned else run, streams


def align_arrays(part: Any, shared: np.ndarray) -> Any:
    """Rebuild a part with its small arrays in one block; ``shared`` stays where it is.

    NumPy allocates small arrays of all threads side by side. A core that writes to one takes its
    cache line away from the others, which made runs on two threads up to twice as slow.
    """
    arrays = {id(array): array for _, array in tree.arrays(part)}
    kept = {id(shared), *(id(array.base) for array in arrays.values() if array.base is not None)}
    small = [array for key, array in arrays.items() if key not in kept and _is_movable(array)]
    sizes = [-(-array.nbytes // 16) * 16 for array in small]
    block = np.empty(sum(sizes) + 2 * LINES, np.uint8)
    position, moved = -block.ctypes.data % LINES, {}
    for array, size in zip(small, sizes, strict=True):
        moved[id(array)] = np.ndarray(array.shape, array.dtype, block, position)
        moved[id(array)][...] = array
        position += size
    return tree.replace(part, moved)


def _is_movable(array: np.ndarray) -> bool:
    """True if an array is small, contiguous, of numbers, and not a view."""
    plain = array.flags.owndata and array.flags.c_contiguous and not array.dtype.hasobject
    return bool(plain and array.nbytes <= SMALL)


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_loop(setup: Setup, compiled: bool | None, name: str, show: Reporter) -> Kernel:
    """Return the loop for a setup, compiled (or loaded from disk) unless asked not to."""
    run, streams = setup.build(0)
    outside = setup.domain.external
    if not use_compiled(compiled):
        return respond if outside else simulate
    dry_run(setup, run, streams)
    if outside:
        return load_responder(run, streams, name, show)
    arguments = _no_steps(run, streams)
    kernel = compile_for(simulate, arguments, name, show)
    return entry_point(kernel, *arguments) if has_fixed_types(setup) else kernel


def has_fixed_types(setup: Setup) -> bool:
    """True if all runs of a setup have arrays of the same types: all its parts are the package's.

    Others may build arrays of one type in one run and of another in the next. Passing another type
    to an entry point of compiled code is undefined behaviour.
    """
    return is_all_builtin(setup.domain, setup.features, setup.agent)


def _no_steps(run: Run, streams: Streams) -> tuple[object, ...]:
    """Return arguments with which the loop does nothing."""
    return run, Budget(0, 0, 1), streams, new_control()


def is_loop_compiled(setup: Setup) -> bool:
    """True if the loop for a setup is compiled, in memory or on disk."""
    run, streams = setup.build(0)
    if setup.domain.external:
        return is_compiled(respond, first_response(run, streams))
    return is_compiled(simulate, _no_steps(run, streams))


def finish_records(setup: Setup, run: Run, status: int) -> Run:
    """Turn the sums of a finished run into means, NaN from a divergence on, and drop its parts."""
    rewards = run.rewards
    if rewards.size:
        sizes = np.full(rewards.size, setup.bin)
        sizes[-1] = setup.steps - setup.bin * (rewards.size - 1)
        rewards = rewards / sizes
        if status != DONE:
            rewards[(run.clock[STEPS] - 1) // setup.bin :] = np.nan
    return run._replace(rewards=rewards, agent=None, domain=None, features=None)


def report_evictions(
    setup: Setup, number: int, count: int, tell: Callable[[str], None] = say
) -> None:
    """Report once for every setup that its model has evicted entries."""
    if count and "told" not in vars(setup):
        vars(setup)["told"] = True
        tell(
            f"{setup.title}: run {number} evicted {count:,} entries of its model, "
            "whose columns were full: use a larger capacity, or a larger threshold"
        )
