"""One run of an agent in a domain: its arrays, its loop, its records."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from expectant.checks.dry_run import check_counts, dry_run
from expectant.core import tree
from expectant.core.config import is_all_builtin
from expectant.core.interfaces import Agent, BuildContext, Domain, Features, build_checked_agent
from expectant.core.memory import full, zeros
from expectant.core.reductions import padded_size
from expectant.core.rng import Streams, run_streams
from expectant.core.vectors import empty_state
from expectant.engine.driver import new_control
from expectant.engine.gym_loop import first_response, respond, responder
from expectant.engine.loop import DONE, NUMBER, STEPS, Budget, Ranges, Run, simulate
from expectant.engine.memory import measure, owner, refusing
from expectant.engine.progress import Reporter, say
from expectant.jit.compile import Kernel, compile_for, entry_point, is_compiled, use_compiled

UNLIMITED = 2**62
LINES = 128  # bytes that a core may fetch at once
SMALL = 4096  # the ends of larger arrays are too rarely written to matter
STEP_LIMIT = 10_000  # of an episode, where neither the user nor the domain says otherwise


@dataclass(frozen=True)
class Setup:
    """One experiment: what is run, for how long, from which seed.

    Small arrays are set apart from those of other runs, which is faster; where one looks for arrays
    that runs share by mistake they are not. A parameter that a user's own agent never reads is
    refused, unless it is not ``strict``.
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

    def __post_init__(self) -> None:
        check_counts(self.domain)

    @property
    def length(self) -> int:
        """How many episodes a run has, or steps where those are counted."""
        return self.episodes or self.steps

    @property
    def bin(self) -> int:
        return max(1, -(-self.steps // self.bins))

    def budget(self) -> Budget:
        """Episodes or steps; a world without an end that is run by steps is never broken off."""
        longest = UNLIMITED if self.steps and self.domain.endless else STEP_LIMIT
        limit = self.step_limit or self.domain.step_limit or longest
        return Budget(self.episodes or UNLIMITED, self.steps or UNLIMITED, limit)

    def for_run(self, number: int) -> Setup:
        """The setup of one run: the same, unless every run has a domain of its own."""
        domain = self.domain.for_run(number)
        return self if domain is self.domain else replace(self, domain=domain)

    def build(self, number: int, control: np.ndarray | None = None) -> tuple[Run, Streams]:
        """All the arrays of one run, from its own seed; setting ``control[0]`` stops its work."""
        with refusing(self):
            run, streams = self._build(number, control)
        measure(self, run)
        return run, streams

    def _build(self, number: int, control: np.ndarray | None) -> tuple[Run, Streams]:
        drawn, own = run_streams(self.seed, number), self.for_run(number)
        features_part = own.features.build(own.domain, drawn.building)
        domain_part = own.domain.build(drawn.building)
        shape = own.features.shape(own.domain)
        context = BuildContext(
            shape=shape,
            width=padded_size(shape.size),
            actions=own.domain.actions,
            domain=own.domain,
            domain_part=domain_part,
            features_part=features_part,
            rng=drawn.building,
            planning=drawn.planning,
            control=new_control() if control is None else control,
        )
        prepared = Run(
            domain=domain_part,
            features=features_part,
            agent=(build_checked_agent if self.strict else type(self.agent).build_agent)(
                self.agent, context
            ),
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
        prepared.clock[NUMBER] = number
        return align_arrays(prepared, context.control) if self.aligned else prepared, drawn


def align_arrays(part: Any, shared: np.ndarray) -> Any:
    """Rebuild a part with its small arrays in one block; ``shared`` stays where it is.

    NumPy allocates small arrays of all threads side by side. A core that writes to one takes the
    whole cache line (64 bytes, fetched in pairs) away from the others: the same runs took up to
    twice the time on two threads.
    """
    found = {id(array): array for _, array in tree.arrays(part)}
    kept = {id(shared), *(id(array.base) for array in found.values() if array.base is not None)}
    small = [array for key, array in found.items() if key not in kept and _is_movable(array)]
    sizes = [-(-array.nbytes // 16) * 16 for array in small]
    block = np.empty(sum(sizes) + 2 * LINES, np.uint8)
    place, moved = -block.ctypes.data % LINES, {}
    for array, size in zip(small, sizes, strict=True):
        moved[id(array)] = np.ndarray(array.shape, array.dtype, block, place)
        moved[id(array)][...] = array
        place += size
    return tree.replace(part, moved)


def _is_movable(array: np.ndarray) -> bool:
    """True if an array is small, contiguous, of numbers, and not a view."""
    plain = array.flags.owndata and array.flags.c_contiguous and not array.dtype.hasobject
    return bool(plain and array.nbytes <= SMALL)


def core_count() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_loop(setup: Setup, compiled: bool | None, name: str, show: Reporter) -> Kernel:
    """The loop to call, compiled unless asked not to."""
    prepared, drawn = setup.build(0)
    outside = setup.domain.external
    if not use_compiled(compiled):
        return respond if outside else simulate
    dry_run(setup, prepared, drawn)
    if outside:
        return responder(prepared, drawn, name, show)
    arguments = _no_steps(prepared, drawn)
    kernel = compile_for(simulate, arguments, name, show)
    return entry_point(kernel, *arguments) if has_fixed_types(setup) else kernel


def has_fixed_types(setup: Setup) -> bool:
    """True if all runs of a setup have arrays of the same types: all its parts are the package's.

    Others may build arrays of one type in one run and of another in the next. Passing another type
    to an entry point of compiled code is undefined behaviour.
    """
    return is_all_builtin(setup.domain, setup.features, setup.agent)


def _no_steps(prepared: Run, drawn: Streams) -> tuple[object, ...]:
    """Arguments with which the loop does nothing."""
    return prepared, Budget(0, 0, 1), drawn, new_control()


def is_loop_compiled(setup: Setup) -> bool:
    """Whether the loop for a setup is in memory or on disk, so that it need not be compiled."""
    prepared, drawn = setup.build(0)
    if setup.domain.external:
        return is_compiled(respond, first_response(prepared, drawn))
    return is_compiled(simulate, _no_steps(prepared, drawn))


def finish_records(setup: Setup, prepared: Run, status: int) -> Run:
    """The records of a finished run: sums to means, and NaN from a divergence on."""
    rewards = prepared.rewards
    if rewards.size:
        sizes = np.full(rewards.size, setup.bin)
        sizes[-1] = setup.steps - setup.bin * (rewards.size - 1)
        rewards = rewards / sizes
        if status != DONE:
            rewards[(prepared.clock[STEPS] - 1) // setup.bin :] = np.nan
    # the parts themselves are not kept: thousands of runs would hold all their weights
    return prepared._replace(rewards=rewards, agent=None, domain=None, features=None)


def report_evictions(
    setup: Setup, number: int, count: int, tell: Callable[[str], None] = say
) -> None:
    """Tell once for every setup that there was too little room for what a run would have kept."""
    if count and "told" not in vars(setup):
        vars(setup)["told"] = True
        tell(
            f"{owner(setup)}: run {number} evicted {count:,} entries of its model, "
            "whose columns were full: use a larger capacity, or a larger threshold"
        )
