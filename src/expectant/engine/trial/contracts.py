"""What every verb promises, checked call by call while parts run as plain Python.

Compiled code believes what a part returns: a number that is no action, or an index that is no
feature, is read from or written to memory that belongs to something else. In plain Python there is
time to look.
"""

from __future__ import annotations

import inspect
import math
import numbers
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from expectant import verbs
from expectant.engine.asking import Subject
from expectant.engine.loop import Run
from expectant.engine.trial.mistakes import PartError, kinds_of
from expectant.rules import is_number
from expectant.whose import is_ours

HOMES = tuple(str(Path(str(module.__file__)).parent) for module in (verbs, np))  # ours, NumPy's

Check = Callable[["Contracts", Any, tuple[Any, ...], Any], str | None]
CHECKS: dict[verbs.Verb[object], Check] = {}


class Enough(BaseException):
    """The time for looking is over."""


def promises(*of: verbs.Verb[object]) -> Callable[[Check], Check]:
    """Declare what verbs promise: a function that says what is wrong with a call, or None."""

    def declare(check: Check) -> Check:
        CHECKS.update(dict.fromkeys(of, check))
        return check

    return declare


class Contracts:
    """Makes every call of a verb and checks what comes of it, until a point in time.

    ``bounds`` are those of the domain's observations, where it has any.
    """

    def __init__(self, run: Run | Subject, bounds: Any = None, until: float = math.inf) -> None:
        self.ranges = run.ranges
        self.bounds = bounds
        self.until = until
        states = (run.state, run.next_state) if isinstance(run, Run) else (run.state,)
        self.encoded = {id(state.active) for state in states}
        self.kinds = kinds_of(run)
        self.observed: dict[int, np.ndarray] = {}  # the array that each domain shows
        inside = verbs.wrapped(run.agent)  # an agent with options chooses among more than actions
        planner: Any = getattr(inside, "planner", None)
        self.chooser = None if inside is run.agent else type(inside)
        self.choices = getattr(planner, "actions", self.ranges.actions)

    def __call__(
        self,
        verb: verbs.Verb[object],
        implementation: Callable[..., Any],
        part: Any,
        args: tuple[Any, ...],
    ) -> Any:
        if time.perf_counter() > self.until:
            raise Enough
        try:
            result = implementation(part, *args)
        except PartError:
            raise
        except Exception as error:
            place = _place(error.__traceback__)
            if place is None and is_ours(implementation) and not isinstance(error, IndexError):
                raise  # not for want of a promise kept: a number that has overflowed, say
            place = place or written(implementation)
            raise PartError(
                f"{verb.__name__} of {type(part).__name__}: {type(error).__name__}: {error}"
                f"{_advice(verb, error)} ({place})",
                self.kinds.get(type(part), ""),
            ) from error
        check = CHECKS.get(verb)
        wrong = check(self, part, args, result) if check else None
        if wrong:
            where = written(implementation)
            raise PartError(
                f"{verb.__name__} of {type(part).__name__} {wrong} ({where})",
                self.kinds.get(type(part), ""),
            )
        return result


def _advice(verb: verbs.Verb[object], error: Exception) -> str:
    """What to do about the usual mistakes."""
    if isinstance(error, AttributeError) and "set attribute" in str(error):
        return ": a field cannot be assigned to; keep what changes in an array and write into it"
    if isinstance(error, TypeError) and "positional argument" in str(error):
        return f": the verb is {verb.__name__}{inspect.signature(verb)}"
    return ""


def written(implementation: Callable[..., Any]) -> str:
    """Where somebody wrote it: the file and the line."""
    code = inspect.unwrap(implementation).__code__
    return f"{code.co_filename}, line {code.co_firstlineno}"


def _place(trace: TracebackType | None) -> str | None:
    """File and line of the innermost code that is neither ours nor a library's.

    Code without a file, as the ``__init__`` that a description is given, counts where there is no
    other: nobody has written it, unless all that they wrote was given to the interpreter as text.
    """
    found, without_file = None, None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == "<string>":
            without_file = f"{file}, line {trace.tb_lineno}"
        elif not file.startswith(HOMES):
            found = f"{file}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found or without_file


# ------------------------------------------------------------------------------- kinds of values


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def _told(value: Any) -> str:
    """A value as it is shown in a message."""
    if value is None:
        return "None: is a return missing?"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return f"{text[:77]}..." if len(text) > 80 else text


def _all_finite(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return part.dtype.kind != "f" or bool(np.isfinite(part).all())
    if isinstance(part, tuple):
        return all(_all_finite(item) for item in part)
    return True


def _features_in(contracts: Contracts, state: Any) -> str | None:
    """What is wrong with a feature vector that was written."""
    size = contracts.ranges.features
    for found in np.atleast_1d(state.active):
        if not 0 <= found < size:
            return f"must write features from 0 to {size - 1}, got {found}"
    if hasattr(state, "values") and not np.isfinite(state.values).all():
        return f"must write finite values, got {state.values}"
    return None


def _reward_and_alive(result: Any, names: str = "(reward, alive)") -> str | None:
    if not (isinstance(result, tuple) and len(result) == len(names.split(","))):
        return f"must return {names}, got {_told(result)}"
    reward, alive = result[-2:]
    if not (is_number(reward) and math.isfinite(reward)):
        return f"must return a reward that is a finite number, got {_told(reward)}"
    if not is_number(alive) or alive not in (0.0, 1.0):
        hint = " (alive, not done)" if isinstance(alive, bool | np.bool_) else ""
        return (
            "must return alive as 0.0 where the episode has ended, else 1.0, got "
            f"{_told(alive)}{hint}"
        )
    return None


def _action(contracts: Contracts, action: Any) -> str | None:
    actions = contracts.ranges.actions
    if not (_is_whole(action) and 0 <= action < actions):
        return f"must return an action, a whole number from 0 to {actions - 1}, got {_told(action)}"
    return None


# --------------------------------------------------------------------------- what verbs promise


@promises(verbs.step)
def _step(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    return _reward_and_alive(result)


@promises(verbs.draw_outcome)
def _draw_outcome(
    contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any
) -> str | None:
    return _reward_and_alive(result) or _features_in(contracts, args[2])


@promises(verbs.observation)
def _observation(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    if not isinstance(result, np.ndarray) or result.ndim != 1 or result.size == 0:
        return f"must return an array of one axis, got {_told(result)}"
    known = contracts.observed.setdefault(id(part), result)
    if known is not result and not np.shares_memory(known, result):
        return (
            "must return the same array every time: keep one in the part, and let reset and step "
            "write into it"
        )
    if contracts.ranges.states > 0:
        return _state_number(contracts.ranges.states, result)
    return _vector(contracts.bounds, result)


def _state_number(states: int, seen: np.ndarray) -> str | None:
    if seen.dtype != np.int64:
        return f"holds the number of a state: use int64, got {seen.dtype}"
    if not 0 <= seen[0] < states:
        return f"must hold a state's number from 0 to {states - 1}, got {seen[0]}"
    return None


def _vector(bounds: Any, seen: np.ndarray) -> str | None:
    if bounds is None:
        return None
    if seen.dtype != np.float64:
        return f"holds a vector: use float64, got {seen.dtype}"
    if seen.size != len(bounds):
        return f"must hold as many components as bounds has, {len(bounds)}, got {seen.size}"
    for component, (low, high) in enumerate(bounds):
        if math.isfinite(seen[component]) and not low <= seen[component] <= high:
            return (
                f"must stay within its bounds, component {component} from {low!r} to {high!r}, "
                f"got {seen[component]!r}"
            )
    return None


@promises(verbs.place)
def _place_number(
    contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any
) -> str | None:
    states = contracts.ranges.states
    if not _is_whole(result) or (states > 0 and not -1 <= result < states):
        return f"must return a state's number from 0 to {states - 1}, or −1, got {_told(result)}"
    return None


@promises(verbs.phase, verbs.outcome, verbs.room)
def _whole_number(
    contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any
) -> str | None:
    return None if _is_whole(result) else f"must return a whole number, got {_told(result)}"


@promises(verbs.cut)
def _cut(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    if isinstance(result, bool | np.bool_) or _is_whole(result):
        return None
    return f"must return True or False, got {_told(result)}"


@promises(verbs.encode)
def _encode(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    state = args[2]  # a map may also encode into scratch of its own, by other numbers
    return _features_in(contracts, state) if id(state.active) in contracts.encoded else None


@promises(verbs.load_successor)
def _load_successor(
    contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any
) -> str | None:
    return _features_in(contracts, args[1])


@promises(verbs.draw)
def _draw(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    if not _is_whole(result) or result < -1:
        return f"must return a slot, a whole number from 0 on, or −1, got {_told(result)}"
    return _features_in(contracts, args[0])


@promises(verbs.stored)
def _stored(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    wrong = _reward_and_alive(result, "(action, reward, alive)")
    return wrong or _action(contracts, result[0])


@promises(verbs.imagine)
def _imagine(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    if not is_number(result):
        return f"must return alive, 0.0 or 1.0, got {_told(result)}"
    return _features_in(contracts, args[2]) if _all_finite(args) and _all_finite(part) else None


@promises(verbs.act)
def _act(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    if type(part) is contracts.chooser and _is_whole(result) and 0 <= result < contracts.choices:
        return None
    return _action(contracts, result)


@promises(verbs.stop, verbs.stop_of)
def _stop(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    if not (is_number(result) and 0.0 <= result <= 1.0):
        return f"must return the probability of stopping, from 0 to 1, got {_told(result)}"
    return None


@promises(verbs.policy, verbs.policy_of, verbs.behave)
def _probabilities(
    contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any
) -> str | None:
    written = args[-1]
    if np.isnan(written).all():  # an agent without a policy, or one that has diverged
        return None
    if not (written >= 0.0).all() or abs(written.sum() - 1.0) > 1e-6:
        return f"must write probabilities that sum to 1, got {written}"
    return None


@promises(verbs.preference, verbs.reward_now)
def _number(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    if not is_number(result):
        return f"must return a number, got {_told(result)}"
    if math.isnan(result) and _all_finite(part) and _all_finite(args):
        return "must return a number, got nan"
    return None


@promises(verbs.backed_up_value, verbs.backed_up_action_value)
def _backed_up(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    if not is_number(result):
        return f"must return a number, got {_told(result)}"
    if not math.isfinite(result) and _all_finite(part) and _all_finite(args):
        return f"must return a finite number, got {_told(result)}"
    return None


@promises(verbs.add_expected)
def _add_expected(
    contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any
) -> str | None:
    weights, amount = args[2:]
    if result is not None:
        return f"must add to the weights it is given and return nothing, got {_told(result)}"
    if math.isfinite(amount) and _all_finite(part) and not np.isfinite(weights).all():
        return "must leave the weights finite"
    return None


@promises(
    verbs.fit,
    verbs.fit_options,
    verbs.learn,
    verbs.learn_options,
    verbs.plan,
    verbs.back_up,
    verbs.roll_out,
)
def _size_of_errors(
    contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any
) -> str | None:
    return None if is_number(result) else f"must return the size of its errors, got {_told(result)}"
