"""A rehearsal: parts that are not the package's own run some steps as plain Python first.

A mistake in a part would end the process, or go unnoticed, once it is compiled. Here it is an
error in one sentence, with the file and the line.
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

from expectant.checks.contracts import Contracts, Enough, written
from expectant.core.config import is_all_builtin
from expectant.core.dispatch import VERBS, Interceptor, intercept_calls
from expectant.core.errors import PartError, is_builtin
from expectant.core.interfaces import Domain
from expectant.core.rng import Streams
from expectant.core.rules import or_none, whole
from expectant.core.verbs import Verb, act, inner_agent, preference
from expectant.engine.driver import advance, new_control
from expectant.engine.gym_loop import (
    FIRST,
    GOES_ON,
    OVERFLOW,
    TERMINATED,
    TRUNCATED,
    request_action,
    respond,
)
from expectant.engine.loop import Budget, Run, simulate
from expectant.jit.code_hash import part_types
from expectant.jit.compile import Kernel

if TYPE_CHECKING:
    from expectant.engine.probe import Subject
    from expectant.engine.setup import Setup

STEPS = 40
SECONDS = 0.25
EPISODE = 12  # steps of an episode that is made up

_SOURCES = (random.Random, np.random.RandomState, np.random.Generator)
_ALLOWED = (bool, int, float, np.bool_, np.integer, np.floating, np.random.Generator)


def dry_run(setup: Setup, run: Run, streams: Streams, loop: Kernel = simulate) -> None:
    """Try the parts of a run for some steps, on copies; an error says what is wrong with one.

    Where all parts are the package's own there is nothing to try. ``loop`` is what will be
    compiled, called as ``simulate`` is.
    """
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
        if verb is act and prefers and type(part) is agents[0]:  # as looks and evaluations do
            for action in range(run.ranges.actions):
                preference(part, args[0], action)
        return result

    with _watched(watch):
        if hasattr(run.domain, "received"):
            _converse(run, streams, setup.domain.bounds)
        else:
            limit = min(setup.budget().step_limit, STEPS)
            advance(loop, run, Budget(STEPS, STEPS, limit), streams, new_control())


def dry_run_probe(subject: Subject, asking: Callable[[Subject], object]) -> None:
    """Try what will be asked of an agent, on a copy, as :func:`dry_run` tries a run."""
    if all(map(is_builtin, part_types(subject))):
        return
    subject = copy.deepcopy(subject)
    with _watched(Contracts(subject, until=time.perf_counter() + SECONDS)):
        asking(subject)


@contextmanager
def _watched(watcher: Interceptor) -> Iterator[None]:
    """Let every call of a verb be looked at; what does not come of a mistake is no matter here."""
    with intercept_calls(watcher), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            yield
        except (Enough, ArithmeticError):
            pass  # the run itself will say that it has diverged
        except ValueError as error:
            if isinstance(error, PartError):
                raise


def check_counts(domain: Domain) -> None:
    """An error where a domain of one's own does not say how many actions or states it has."""
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
    """Errors for what can be told without running anything."""
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
    """Every field must be something that compiled code can work on."""
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
                f"{item!r}{_instead(item)}"
            )
        elif isinstance(item, int) and not -(2**63) <= item < 2**63:
            raise PartError(f"{owner}: the field {name} must fit into 64 bits, got {item!r}")


def _is_plain_tuple(item: Any) -> bool:
    return type(item) is tuple and all(isinstance(entry, (*_ALLOWED, np.ndarray)) for entry in item)


def _instead(item: Any) -> str:
    if isinstance(item, list):
        return ": np.array(...) makes an array of it"
    if item is None:
        return ": −1 or an array of length 0 can stand for nothing"
    if isinstance(item, str):
        return ": a number can stand for a name"
    return ""


def _check_verbs(part_type: type) -> None:
    """Every verb must take what it will be given, and draw from nothing else."""
    for verb in VERBS:
        found = verb.implementations.get(part_type)
        if found is None or is_builtin(found):
            continue
        name, where = f"{verb.__name__} of {part_type.__name__}", written(found)
        wanted, given = inspect.signature(verb), inspect.signature(found)
        try:
            given.bind(*wanted.parameters)
        except TypeError:
            raise PartError(
                f"{name} takes {given}, and the verb is {verb.__name__}{wanted} ({where})"
            ) from None
        if source := _drawn_from(found):
            raise PartError(
                f"{name} draws from {source}, which no seed reaches: draw from the rng that is "
                f"passed in ({where})"
            )


def _drawn_from(verb: Callable[..., Any]) -> str:
    """The name by which a verb, or a function that it calls, draws from what is global, or ""."""
    waiting: list[Any] = [verb]
    seen = set[Any]()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function in seen or is_builtin(function):
            continue
        seen.add(function)
        code = [(each.opname, each.argval) for each in dis.get_instructions(function)]
        for (operation, name), (_, attribute) in itertools.pairwise(code):
            value = function.__globals__.get(name) if operation == "LOAD_GLOBAL" else None
            if value is np and attribute == "random":
                return f"{name}.random"
            is_global = value is random or value is np.random
            if is_global or isinstance(getattr(value, "__self__", value), _SOURCES):
                return name
            waiting.append(getattr(value, "py_func", value))
    return ""


def _converse(run: Run, streams: Streams, bounds: Any) -> None:
    """Let an agent answer observations and rewards that are made up."""
    action, situation = -1, FIRST
    for taken in range(STEPS):
        if situation in (TERMINATED, TRUNCATED):
            situation = FIRST
        elif taken > 0:
            ends = taken % EPISODE == EPISODE - 1
            situation = (TERMINATED, TRUNCATED)[taken // EPISODE % 2] if ends else GOES_ON
        run.domain.received[...] = _made_up(run, streams.world, bounds)
        reward = float(streams.world.normal())
        run, action = request_action(respond, run, action, reward, situation, streams)
        if action == OVERFLOW:
            return


def _made_up(run: Run, rng: np.random.Generator, bounds: Any) -> Any:
    """An observation that could be: any state, or any point within the bounds."""
    if run.ranges.states > 0:
        return rng.integers(run.ranges.states)
    point = rng.normal(size=run.domain.received.size)
    for component, (low, high) in enumerate(bounds or ()):
        if np.isfinite(low) and np.isfinite(high):
            point[component] = low + (high - low) * rng.random()
        else:
            point[component] = np.clip(point[component], low, high)
    return point
