"""The contracts of all verbs, checked call by call while parts run as plain Python.

Compiled code trusts what a part returns: an action or feature out of range would read or write
foreign memory.
"""

from __future__ import annotations

import copy
import inspect
import math
import numbers
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.core import tree, verbs
from expectant.core.errors import PartError, is_builtin, user_location
from expectant.core.rules import is_number
from expectant.engine.loop import Run

if TYPE_CHECKING:
    from expectant.engine.probe import Subject

# Positions of arguments that a verb must not change.
READ_ONLY: dict[verbs.Verb[object], tuple[int, ...]] = {
    verbs.act: (0,),
    verbs.preference: (0,),
    verbs.learn: (0,),
    verbs.fit: (0,),
    verbs.remember: (0,),
    verbs.encode: (0,),
    verbs.backed_up_value: (0, 2),
    verbs.backed_up_action_value: (0, 2),
    verbs.policy: (0,),
    verbs.policy_of: (1,),
    verbs.stop: (0,),
    verbs.stop_of: (1,),
}


class OutOfTime(BaseException):
    """The time for checks is over."""


class Contracts:
    """Call verbs and check their results, until a point in time.

    ``bounds`` are those of the domain's observations, if it has any.
    """

    def __init__(self, run: Run | Subject, bounds: Any = None, until: float = math.inf) -> None:
        self.ranges, self.bounds, self.until = run.ranges, bounds, until
        states = (run.state, run.next_state) if isinstance(run, Run) else (run.state,)
        self.encoded = {id(state.active) for state in states}
        self.observed: dict[int, np.ndarray] = {}  # by domain part
        inside = verbs.inner_agent(run.agent)  # with options it chooses among more than actions
        self.chooser = None if inside is run.agent else type(inside)
        self.choices = getattr(getattr(inside, "planner", None), "actions", self.ranges.actions)
        self.depth = 0

    def __call__(
        self,
        verb: verbs.Verb[object],
        implementation: Callable[..., Any],
        part: Any,
        args: tuple[Any, ...],
    ) -> Any:
        if time.perf_counter() > self.until:
            raise OutOfTime
        name, where = f"{verb.__name__} of {type(part).__name__}", source_location(implementation)
        read_only = () if is_builtin(implementation) else READ_ONLY.get(verb, ())
        kept = [(a, a.copy()) for n in read_only for _, a in tree.arrays(args[n])]
        self.depth += 1
        try:
            result = implementation(part, *args)
        except PartError:
            raise
        except Exception as error:
            place = user_location(error)
            inside = self.depth > 1 or not isinstance(error, IndexError)
            if place is None and is_builtin(implementation) and inside:
                raise  # a caller may be the user's; a number that has overflowed is no mistake
            text = f"{name}: {type(error).__name__}: {error}{_advice(verb, error)}"
            raise PartError(f"{text} ({place or where})") from error
        finally:
            self.depth -= 1
        wrong = CHECKS[verb](self, part, args, result) if verb in CHECKS else None
        if wrong:
            raise PartError(f"{name} {wrong} ({where})")
        for array, before in kept:
            if not same_bits(array, before):
                raise PartError(
                    f"{name} must not change what it is given, and changed {before} to {array} "
                    f"({where})"
                )
        return result


def _advice(verb: verbs.Verb[object], error: Exception) -> str:
    """Return advice on the usual mistakes."""
    if isinstance(error, AttributeError) and "set attribute" in str(error):
        return ": a field cannot be assigned to; keep what changes in an array and write into it"
    if isinstance(error, TypeError) and "positional argument" in str(error):
        return f": the verb is {verb.__name__}{inspect.signature(verb)}"
    return ""


def source_location(implementation: Callable[..., Any]) -> str:
    """Return the file and line of a function."""
    code = inspect.unwrap(implementation).__code__
    return f"{code.co_filename}, line {code.co_firstlineno}"


def same_bits(array: np.ndarray, other: np.ndarray) -> bool:
    """True if two arrays are equal, NaN included."""
    return np.array_equal(array, other, equal_nan=array.dtype.kind == "f")


# ------------------------------------------------------------------------------- kinds of values


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def _value_text(value: Any) -> str:
    if value is None:
        return "None: is a return missing?"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return f"{text[:77]}..." if len(text) > 80 else text


def _unless(right: bool, promise: str, value: Any) -> str | None:
    return None if right else f"must return {promise}, got {_value_text(value)}"


def _all_finite(part: Any) -> bool:
    if isinstance(part, np.ndarray):
        return part.dtype.kind != "f" or bool(np.isfinite(part).all())
    return not isinstance(part, tuple) or all(map(_all_finite, part))


# --------------------------------------------------------------------------- what verbs promise


def _features_in(contracts: Contracts, state: Any) -> str | None:
    """Check a feature vector that was written."""
    size = contracts.ranges.features
    for feature in np.atleast_1d(state.active):
        if not 0 <= feature < size:
            return f"must write features from 0 to {size - 1}, got {feature}"
    if hasattr(state, "values") and not np.isfinite(state.values).all():
        return f"must write finite values, got {state.values}"
    return None


def check_step(result: Any, names: str = "(reward, alive)") -> str | None:
    if not (isinstance(result, tuple) and len(result) == len(names.split(","))):
        return f"must return {names}, got {_value_text(result)}"
    reward, alive = result[-2:]
    if not (is_number(reward) and math.isfinite(reward)):
        return f"must return a reward that is a finite number, got {_value_text(reward)}"
    if not is_number(alive) or alive not in (0.0, 1.0):
        hint = " (alive, not done)" if isinstance(alive, bool | np.bool_) else ""
        return (
            "must return alive as 0.0 where the episode has ended, else 1.0, got "
            f"{_value_text(alive)}{hint}"
        )
    return None


def _action(contracts: Contracts, action: Any, among: int = 0) -> str | None:
    right = _is_whole(action) and 0 <= action < max(among, contracts.ranges.actions)
    promise = f"an action, a whole number from 0 to {contracts.ranges.actions - 1}"
    return _unless(right, promise, action)


def check_observation(seen: Any, earlier: Any, states: int, bounds: Any) -> str | None:
    """Check an observation against an earlier one, the number of states and the bounds."""
    if not isinstance(seen, np.ndarray) or seen.ndim != 1 or seen.size == 0:
        return f"must return an array of one axis, got {_value_text(seen)}"
    if earlier is not seen and not np.shares_memory(earlier, seen):
        return (
            "must return the same array every time: keep one in the part, and let reset and step "
            "write into it"
        )
    if states > 0:
        return _state_number(states, seen)
    return None if bounds is None else _vector(bounds, seen)


def _state_number(states: int, seen: np.ndarray) -> str | None:
    if seen.dtype != np.int64:
        return f"holds the number of a state: use int64, got {seen.dtype}"
    if not 0 <= seen[0] < states:
        return f"must hold a state's number from 0 to {states - 1}, got {seen[0]}"
    return None


def _vector(bounds: Any, seen: np.ndarray) -> str | None:
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


def _state_index(contracts: Contracts, result: Any) -> str | None:
    states = contracts.ranges.states
    right = _is_whole(result) and (states == 0 or -1 <= result < states)
    return _unless(right, f"a state's number from 0 to {states - 1}, or −1", result)


def _draw(contracts: Contracts, part: Any, state: Any, slot: Any) -> str | None:
    """Check that a drawn slot can be read, whether or not this agent reads it."""
    right = _is_whole(slot) and slot >= -1
    wrong = _unless(right, "a slot, a whole number from 0 on, or −1", slot)
    wrong = wrong or _features_in(contracts, state)
    stored = verbs.stored_transition.implementations.get(type(part))
    load = verbs.load_successor.implementations.get(type(part))
    if wrong or slot < 0 or stored is None or load is None:
        return wrong
    contracts.depth += 1  # an error is that of the draw, not of the verb that finds it
    try:
        stored(part, slot)
        load(part, slot, copy.deepcopy(state))
    except Exception as error:
        place = user_location(error)
        reason = f"{type(error).__name__}: {error}" + (f", at {place}" if place else "")
        return f"must return a slot that can be read, got {slot}: {reason}"
    finally:
        contracts.depth -= 1
    return None


def _sample(contracts: Contracts, part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    wrong = _unless(is_number(result), "alive, 0.0 or 1.0", result)
    if wrong or not (_all_finite(args) and _all_finite(part)):
        return wrong
    return _features_in(contracts, args[2])


def _probabilities(policy: np.ndarray) -> str | None:
    if np.isnan(policy).all():  # an agent without a policy, or one that has diverged
        return None
    if not (policy >= 0.0).all() or abs(policy.sum() - 1.0) > 1e-6:
        return f"must write probabilities that sum to 1, got {policy}"
    return None


def _value(part: Any, args: tuple[Any, ...], result: Any, finite: bool) -> str | None:
    """Check a number: not NaN, or finite, if everything it is computed from is finite."""
    if not is_number(result):
        return f"must return a number, got {_value_text(result)}"
    wrong = not math.isfinite(result) if finite else math.isnan(result)
    if wrong and _all_finite(part) and _all_finite(args):
        return f"must return a {'finite ' if finite else ''}number, got {_value_text(result)}"
    return None


def _add_expected(part: Any, args: tuple[Any, ...], result: Any) -> str | None:
    weights, amount = args[2:]
    if result is not None:
        return f"must add to the weights it is given and return nothing, got {_value_text(result)}"
    if math.isfinite(amount) and _all_finite(part) and not np.isfinite(weights).all():
        return "must leave the weights finite"
    return None


# From (contracts, part, arguments, result) to what is wrong with a call, or None.
Check = Callable[[Contracts, Any, tuple[Any, ...], Any], str | None]
CHECKS: dict[verbs.Verb[object], Check] = {
    verbs.step: lambda c, part, args, result: check_step(result),
    verbs.draw_outcome: lambda c, part, args, result: (
        check_step(result) or _features_in(c, args[2])
    ),
    verbs.observation: lambda c, part, args, result: check_observation(
        result, c.observed.setdefault(id(part), result), c.ranges.states, c.bounds
    ),
    verbs.state_index: lambda c, part, args, result: _state_index(c, result),
    verbs.truncated: lambda c, part, args, result: _unless(
        isinstance(result, bool | np.bool_) or _is_whole(result), "True or False", result
    ),
    # a map may use other numbers inside, in scratch of its own or before it hashes them
    verbs.encode: lambda c, part, args, result: (
        _features_in(c, args[2]) if c.depth == 0 and id(args[2].active) in c.encoded else None
    ),
    verbs.load_successor: lambda c, part, args, result: _features_in(c, args[1]),
    verbs.draw: lambda c, part, args, result: _draw(c, part, args[0], result),
    verbs.stored_transition: lambda c, part, args, result: (
        check_step(result, "(action, reward, alive)") or _action(c, result[0])
    ),
    verbs.sample_next: _sample,
    verbs.act: lambda c, part, args, result: _action(
        c, result, c.choices if type(part) is c.chooser else 0
    ),
    verbs.add_expected: lambda c, part, args, result: _add_expected(part, args, result),
    **dict.fromkeys(
        (verbs.phase, verbs.outcome, verbs.free_capacity),
        lambda c, part, args, result: _unless(_is_whole(result), "a whole number", result),
    ),
    **dict.fromkeys(
        (verbs.stop, verbs.stop_of),
        lambda c, part, args, result: _unless(
            is_number(result) and 0.0 <= result <= 1.0,
            "the probability of stopping, from 0 to 1",
            result,
        ),
    ),
    **dict.fromkeys(
        (verbs.policy, verbs.policy_of, verbs.behaviour_policy),
        lambda c, part, args, result: _probabilities(args[-1]),
    ),
    **dict.fromkeys(
        (verbs.preference, verbs.reward_now),
        lambda c, part, args, result: _value(part, args, result, finite=False),
    ),
    **dict.fromkeys(
        (verbs.backed_up_value, verbs.backed_up_action_value),
        lambda c, part, args, result: _value(part, args, result, finite=True),
    ),
    **dict.fromkeys(
        (
            *(verbs.fit, verbs.fit_options, verbs.learn, verbs.learn_options),
            *(verbs.plan, verbs.back_up, verbs.roll_out),
        ),
        lambda c, part, args, result: _unless(is_number(result), "the size of its errors", result),
    ),
}
