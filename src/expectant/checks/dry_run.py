"""Dry runs: parts that are not the package's own run some steps as plain Python before compiling.

A mistake in a part would crash the process, or go unnoticed, in compiled code. Here it is an error
in one sentence, with file and line.
"""

from __future__ import annotations

import copy
import dis
import itertools
import random
import time
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.agents.wrappers import inner_agent
from expectant.checks.contracts import Contracts, OutOfTime, source_location
from expectant.core import tree
from expectant.core.config import is_builtin
from expectant.core.dispatch import VERBS, intercept_calls
from expectant.core.errors import PartError
from expectant.core.rng import Streams
from expectant.core.verbs import preference
from expectant.engine import loop
from expectant.engine.driver import advance, new_control, request_action
from expectant.engine.loop import Budget, Run, simulate
from expectant.jit.code_hash import is_own, part_types, walk

if TYPE_CHECKING:
    from expectant.engine.probe import Subject
    from expectant.engine.setup import Setup

STEPS = 40
SECONDS = 0.25
EPISODE = 12  # steps of an invented episode

_SOURCES = (random.Random, np.random.RandomState, np.random.Generator)
_ALLOWED = (np.ndarray, bool, int, float, np.bool_, np.integer, np.floating, np.random.Generator)
_ADVICE = {
    list: "np.array(...) makes an array of it",
    type(None): "−1 or an array of length 0 can stand for nothing",
    str: "a number can stand for a name",
}


def dry_run(setup: Setup, run: Run, streams: Streams) -> None:
    """Check the user's parts of a run for some steps, on copies."""
    check_parts(run)
    run, streams = copy.deepcopy((run._replace(rewards=np.empty(0)), streams))  # nothing is kept
    contracts = Contracts(run, setup.domain.bounds)
    with _check_calls(contracts):
        if hasattr(run.domain, "received"):
            _run_invented_episodes(run, streams, setup.domain.bounds)
        else:
            limit = min(setup.budget().step_limit, STEPS)
            advance(simulate, run, Budget(STEPS, STEPS, limit), streams, new_control())
    agents = type(run.agent), type(inner_agent(run.agent))
    if all(agent in preference.implementations for agent in agents):
        with _check_calls(contracts):  # as probes and evaluations call it
            for action in range(run.ranges.actions):
                preference(run.agent, run.state, action)


def dry_run_probe(subject: Subject, probe: Callable[[Subject], object]) -> None:
    """Check the user's parts during a probe, on a copy."""
    if all(map(is_builtin, part_types(subject))):
        return
    subject = copy.deepcopy(subject)
    with _check_calls(Contracts(subject)):
        probe(subject)


@contextmanager
def _check_calls(contracts: Contracts) -> Iterator[None]:
    """Check every call of a verb for some time; other errors are left to the run itself."""
    contracts.until = time.perf_counter() + SECONDS
    with intercept_calls(contracts), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            yield
        except PartError:
            raise
        except (OutOfTime, ArithmeticError, ValueError):
            pass


def check_parts(run: Run) -> None:
    """Check the parts of a run without running them."""
    for name in ("domain", "features", "agent"):
        part = getattr(run, name)
        if not hasattr(part, "_fields"):
            raise PartError(
                f"build of the {name} must return a NamedTuple of arrays and numbers, got {part!r}"
            )
        for path, leaf in tree.items(part, name):
            if not isinstance(leaf, tuple):
                _check_leaf(path, leaf)
    for part_type in set(part_types(run)):
        for verb in VERBS:
            implementation = verb.implementations.get(part_type)
            if implementation is not None and (source := _find_global_rng(implementation)):
                raise PartError(
                    f"{verb.__name__} of {part_type.__name__} draws from {source}, which no seed "
                    "reaches: draw from the rng that is passed in "
                    f"({source_location(implementation)})"
                )


def _check_leaf(path: str, leaf: Any) -> None:
    """Check that compiled code can work on a field."""
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind not in "biuf":
        raise PartError(f"{path} must be an array of numbers, got dtype {leaf.dtype}")
    if isinstance(leaf, int) and not -(2**63) <= leaf < 2**63:
        raise PartError(f"{path} must fit into 64 bits, got {leaf!r}")
    if not isinstance(leaf, _ALLOWED):
        advice = f": {_ADVICE[type(leaf)]}" if type(leaf) in _ADVICE else ""
        raise PartError(f"{path} must be an array, a number or a NamedTuple, got {leaf!r}{advice}")


def _find_global_rng(implementation: Callable[..., Any]) -> str:
    """Return the name of a global source of random numbers that a user's verb uses, or ""."""
    for text in walk([implementation], lambda thing: not is_own(thing)):
        if not isinstance(text.thing, types.FunctionType) or not is_own(text.thing):
            continue
        code = [(step.opname, step.argval) for step in dis.get_instructions(text.thing)]
        for (operation, name), (_, attribute) in itertools.pairwise(code):
            value = text.thing.__globals__.get(name) if operation == "LOAD_GLOBAL" else None
            if value is np and attribute == "random":
                return f"{name}.random"
            is_module = value is random or value is np.random
            if is_module or isinstance(getattr(value, "__self__", value), _SOURCES):
                return str(name)
    return ""


def _run_invented_episodes(run: Run, streams: Streams, bounds: Any) -> None:
    """Let an agent respond to invented observations and rewards."""
    rng, received, action = streams.world, run.domain.received, -1
    for number in range(STEPS):
        episode, taken = divmod(number, EPISODE)
        situation = loop.FIRST if taken == 0 else loop.GOES_ON
        if taken == EPISODE - 1:
            situation = (loop.TERMINATED, loop.TRUNCATED)[episode % 2]
        if run.ranges.states > 0:
            received[0] = rng.integers(run.ranges.states)
        else:
            received[:] = np.clip(rng.normal(size=received.size), *np.transpose(bounds))
        run, action = request_action(loop.respond, run, action, rng.normal(), situation, streams)
        if action == loop.OVERFLOW:
            return
