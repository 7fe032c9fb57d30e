"""Dry runs: parts that are not the package's own run some steps as plain Python before compiling.

A mistake in a part would crash the process, or go unnoticed, in compiled code. Here it is an error
in one sentence, with file and line.
"""

from __future__ import annotations

import copy
import dis
import inspect
import itertools
import random
import time
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.checks.contracts import Contracts, OutOfTime, source_location
from expectant.core.config import is_all_builtin
from expectant.core.dispatch import VERBS, Interceptor, intercept_calls
from expectant.core.errors import PartError, is_builtin
from expectant.core.interfaces import Domain
from expectant.core.rng import Streams
from expectant.core.rules import or_none, whole
from expectant.core.verbs import Verb, act, inner_agent, preference
from expectant.engine.driver import advance, new_control, request_action
from expectant.engine.loop import (
    FIRST,
    GOES_ON,
    OVERFLOW,
    TERMINATED,
    TRUNCATED,
    Budget,
    Run,
    respond,
    simulate,
)
from expectant.jit.code_hash import part_types

if TYPE_CHECKING:
    from expectant.engine.probe import Subject
    from expectant.engine.setup import Setup

STEPS = 40
SECONDS = 0.25
EPISODE = 12  # steps of an invented episode

_SOURCES = (random.Random, np.random.RandomState, np.random.Generator)
_ALLOWED = (bool, int, float, np.bool_, np.integer, np.floating, np.random.Generator)


def dry_run(setup: Setup, run: Run, streams: Streams) -> None:
    """Check the user's parts of a run for some steps, on copies."""
    ours = is_all_builtin(setup.domain, setup.features, setup.agent)
    if ours and all(map(is_builtin, part_types(run))):
        return
    check_parts(run)
    run, streams = copy.deepcopy((run._replace(rewards=np.empty(0)), streams))  # nothing is kept
    contracts = Contracts(run, setup.domain.bounds, time.perf_counter() + SECONDS)
    agents = type(run.agent), type(inner_agent(run.agent))
    prefers = all(agent in preference.implementations for agent in agents)

    def watch(
        verb: Verb[object], implementation: Callable[..., Any], part: Any, args: tuple[Any, ...]
    ) -> Any:
        result = contracts(verb, implementation, part, args)
        if verb is act and prefers and type(part) is agents[0]:  # as probes and evaluations do
            for action in range(run.ranges.actions):
                preference(part, args[0], action)
        return result

    with _check_calls(watch):
        if hasattr(run.domain, "received"):
            _run_invented_episodes(run, streams, setup.domain.bounds)
        else:
            limit = min(setup.budget().step_limit, STEPS)
            advance(simulate, run, Budget(STEPS, STEPS, limit), streams, new_control())


def dry_run_probe(subject: Subject, probe: Callable[[Subject], object]) -> None:
    """Check the user's parts during a probe, on a copy."""
    if all(map(is_builtin, part_types(subject))):
        return
    subject = copy.deepcopy(subject)
    with _check_calls(Contracts(subject, until=time.perf_counter() + SECONDS)):
        probe(subject)


@contextmanager
def _check_calls(check: Interceptor) -> Iterator[None]:
    """Check every call of a verb; other errors are left to the run itself."""
    with intercept_calls(check), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            yield
        except (OutOfTime, ArithmeticError):
            pass
        except ValueError as error:
            if isinstance(error, PartError):
                raise


def check_counts(domain: Domain) -> None:
    """Check the numbers of actions and states of a user's domain."""
    if is_builtin(type(domain)):
        return
    name = type(domain).__name__
    try:
        whole(1).check(name, "actions", domain.actions)
        or_none(whole(1)).check(name, "states", domain.states)
    except NotImplementedError:
        raise PartError(f"{name}: needs `actions`, how many there are") from None
    except ValueError as error:
        raise PartError(str(error)) from None


def check_parts(run: Run) -> None:
    """Check the parts of a run without running them."""
    for name in ("domain", "features", "agent"):
        part = getattr(run, name)
        if not hasattr(part, "_fields"):
            raise PartError(
                f"build of the {name} must return a NamedTuple of arrays and numbers, got {part!r}"
            )
        _check_fields(part)
    for part_type in set(part_types(run)):
        _check_verbs(part_type)


def _check_fields(part: Any) -> None:
    """Check that compiled code can work on every field."""
    owner = type(part).__name__
    for name, item in zip(part._fields, part, strict=True):
        if isinstance(item, tuple) and hasattr(item, "_fields"):
            _check_fields(item)
        elif isinstance(item, np.ndarray):
            if item.dtype.kind not in "biuf":
                raise PartError(
                    f"{owner}: the array {name} must hold numbers, got dtype {item.dtype}"
                )
        elif not (isinstance(item, _ALLOWED) or _is_plain_tuple(item)):
            raise PartError(
                f"{owner}: the field {name} must be an array, a number or a NamedTuple, got "
                f"{item!r}{_advice(item)}"
            )
        elif isinstance(item, int) and not -(2**63) <= item < 2**63:
            raise PartError(f"{owner}: the field {name} must fit into 64 bits, got {item!r}")


def _is_plain_tuple(item: Any) -> bool:
    return type(item) is tuple and all(isinstance(entry, (*_ALLOWED, np.ndarray)) for entry in item)


def _advice(item: Any) -> str:
    if isinstance(item, list):
        return ": np.array(...) makes an array of it"
    if item is None:
        return ": −1 or an array of length 0 can stand for nothing"
    if isinstance(item, str):
        return ": a number can stand for a name"
    return ""


def _check_verbs(part_type: type) -> None:
    """Check the signatures of a part's verbs, and that they draw from the rng alone."""
    for verb in VERBS:
        implementation = verb.implementations.get(part_type)
        if implementation is None or is_builtin(implementation):
            continue
        name, where = f"{verb.__name__} of {part_type.__name__}", source_location(implementation)
        expected, signature = inspect.signature(verb), inspect.signature(implementation)
        try:
            signature.bind(*expected.parameters)
        except TypeError:
            raise PartError(
                f"{name} takes {signature}, and the verb is {verb.__name__}{expected} ({where})"
            ) from None
        if source := _global_rng_in(implementation):
            raise PartError(
                f"{name} draws from {source}, which no seed reaches: draw from the rng that is "
                f"passed in ({where})"
            )


def _global_rng_in(verb: Callable[..., Any]) -> str:
    """Return the name of a global source of random numbers that a verb uses, or ""."""
    waiting: list[Any] = [verb]
    seen = set[Any]()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function in seen or is_builtin(function):
            continue
        seen.add(function)
        code = [(step.opname, step.argval) for step in dis.get_instructions(function)]
        for (operation, name), (_, attribute) in itertools.pairwise(code):
            value = function.__globals__.get(name) if operation == "LOAD_GLOBAL" else None
            if value is np and attribute == "random":
                return f"{name}.random"
            is_global = value is random or value is np.random
            if is_global or isinstance(getattr(value, "__self__", value), _SOURCES):
                return name
            waiting.append(getattr(value, "py_func", value))
    return ""


def _run_invented_episodes(run: Run, streams: Streams, bounds: Any) -> None:
    """Let an agent respond to invented observations and rewards."""
    action, situation = -1, FIRST
    for taken in range(STEPS):
        if situation in (TERMINATED, TRUNCATED):
            situation = FIRST
        elif taken > 0:
            ends = taken % EPISODE == EPISODE - 1
            situation = (TERMINATED, TRUNCATED)[taken // EPISODE % 2] if ends else GOES_ON
        run.domain.received[...] = _invent_observation(run, streams.world, bounds)
        reward = float(streams.world.normal())
        run, action = request_action(respond, run, action, reward, situation, streams)
        if action == OVERFLOW:
            return


def _invent_observation(run: Run, rng: np.random.Generator, bounds: Any) -> Any:
    """Return a random state, or a random point within the bounds."""
    if run.ranges.states > 0:
        return rng.integers(run.ranges.states)
    point = rng.normal(size=run.domain.received.size)
    for component, (low, high) in enumerate(bounds or ()):
        if np.isfinite(low) and np.isfinite(high):
            point[component] = low + (high - low) * rng.random()
        else:
            point[component] = np.clip(point[component], low, high)
    return point
