"""The contracts of verbs: one table of what a call must return and must not change.

Compiled code trusts what a part returns: an action or feature out of range would read or write
foreign memory. So the dry run before compiling and ``ex.check`` let :class:`Contracts` make every
call of a verb in plain Python.
"""

from __future__ import annotations

import inspect
import math
import numbers
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.core import tree, verbs
from expectant.core.config import is_builtin
from expectant.core.errors import PartError, user_location
from expectant.core.rules import is_number
from expectant.engine import loop
from expectant.engine.loop import Run

if TYPE_CHECKING:
    from expectant.engine.probe import Subject


class OutOfTime(BaseException):
    """The time for checks is over."""


class Contracts:
    """Call verbs and check their results, until a point in time.

    ``bounds`` are those of the domain's observations, if it has any; ``calls`` counts the calls of
    all verbs in the table.
    """

    def __init__(self, run: Run | Subject, bounds: Any = None, until: float = math.inf) -> None:
        self.ranges, self.bounds, self.until = run.ranges, bounds, until
        self.encoded = {id(run.state.active), id(getattr(run, "next_state", run.state).active)}
        self.observed: dict[int, np.ndarray] = {}  # by domain part
        self.agent = type(run.agent)
        self.calls: Counter[str] = Counter()
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
        contract, name = CONTRACTS.get(verb), f"{verb.__name__} of {type(part).__name__}"
        read_only = () if contract is None or is_builtin(implementation) else contract.read_only
        before = [(a, a.copy()) for n in read_only for _, a in tree.arrays(args[n])]
        self.depth += 1
        try:
            result = implementation(part, *args)
        except PartError:
            raise
        except Exception as error:
            location = user_location(error)
            inside = self.depth > 1 or not isinstance(error, IndexError)
            if location is None and is_builtin(implementation) and inside:
                raise  # a caller may be the user's; a number that has overflowed is no mistake
            text = f"{name}: {type(error).__name__}: {error}{_advice(verb, error)}"
            raise PartError(f"{text} ({location or source_location(implementation)})") from error
        finally:
            self.depth -= 1
        if contract is not None:
            self.calls[verb.__name__] += 1
            wrong = contract.check(Call(self, part, args, result))
            changed = [(array, old) for array, old in before if not same_bits(array, old)]
            if changed and not wrong:
                array, old = changed[0]
                wrong = f"must not change what it is given, and changed {old} to {array}"
            if wrong:
                raise PartError(f"{name} {wrong} ({source_location(implementation)})")
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


# ------------------------------------------------------------------------------- checks of calls


class Call(NamedTuple):
    """A call of a verb that has returned."""

    contracts: Contracts
    part: Any
    args: tuple[Any, ...]
    result: Any

    @property
    def is_finite(self) -> bool:
        """True if all numbers that the result is computed from are finite."""
        return _is_finite(self.part) and _is_finite(self.args)


Check = Callable[[Call], str | None]  # what is wrong with a call, if anything


class Contract(NamedTuple):
    """A check of calls, and the positions of arguments that they must not change."""

    check: Check
    read_only: tuple[int, ...] = ()


def _is_finite(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind != "f" or bool(np.isfinite(value).all())
    return not isinstance(value, tuple) or all(map(_is_finite, value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def _unless(right: bool, promise: str, value: Any) -> str | None:
    if right:
        return None
    text = repr(value.item() if isinstance(value, np.generic) else value)
    text = f"{text[:77]}..." if len(text) > 80 else text
    return f"must return {promise}, got {text}{': is a return missing?' if value is None else ''}"


def _returns(promise: str, is_right: Callable[[Any], bool]) -> Check:
    return lambda call: _unless(is_right(call.result), promise, call.result)


def _check_number(call: Call) -> str | None:
    """Refuse NaN, unless a number that the result depends on is not finite."""
    right = is_number(call.result) and not (math.isnan(call.result) and call.is_finite)
    return _unless(right, "a number", call.result)


def _check_step(call: Call, names: str = "(reward, alive)") -> str | None:
    result = call.result
    if not (isinstance(result, tuple) and len(result) == len(names.split(","))):
        return _unless(False, names, result)
    reward, alive = result[-2:]
    is_finite = is_number(reward) and math.isfinite(reward)
    wrong = _unless(is_finite, "a reward that is a finite number", reward)
    is_alive = is_number(alive) and alive in (0.0, 1.0)
    hint = " (alive, not done)" if isinstance(alive, bool | np.bool_) else ""
    told = _unless(is_alive, "alive as 0.0 where the episode has ended, else 1.0", alive)
    return wrong or (told and told + hint)


def _check_observation(call: Call) -> str | None:
    contracts, seen = call.contracts, call.result
    if not isinstance(seen, np.ndarray) or seen.ndim != 1 or seen.size == 0:
        return _unless(False, "an array of one axis", seen)
    earlier = contracts.observed.setdefault(id(call.part), seen)
    if earlier is not seen and not np.shares_memory(earlier, seen):
        return (
            "must return the same array every time: keep one in the part, and let reset and step "
            "write into it"
        )
    states, bounds, kind = contracts.ranges.states, contracts.bounds, "float64"
    if states > 0:  # compiled code reads the first component only
        seen, bounds, kind = seen[:1], ((0, states - 1),), "int64"
    if bounds is None:
        return None
    if seen.dtype != kind or seen.size != len(bounds):
        names = "the number of a state" if states > 0 else f"a vector of {len(bounds)} components"
        return f"must hold {names} as {kind}, got {seen.size} as {seen.dtype}"
    for number, (low, high) in zip(seen.tolist(), bounds, strict=True):
        if math.isfinite(number) and not low <= number <= high:
            names = "a state's number" if states > 0 else "components within its bounds,"
            return f"must hold {names} from {low} to {high}, got {number}"
    return None


def _check_state_index(call: Call) -> str | None:
    states = call.contracts.ranges.states
    right = _is_whole(call.result) and (states == 0 or -1 <= call.result < states)
    return _unless(right, f"a state's number from 0 to {states - 1}, or −1", call.result)


def _check_features(call: Call, position: int) -> str | None:
    """Check the feature vector that was written into an argument."""
    state, size = call.args[position], call.contracts.ranges.features
    for feature in np.atleast_1d(state.active):
        if not 0 <= feature < size:
            return f"must write features from 0 to {size - 1}, got {feature}"
    if hasattr(state, "values") and not np.isfinite(state.values).all():
        return f"must write finite values, got {state.values}"
    return None


def _check_encode(call: Call) -> str | None:
    """Check the loop's vectors only: a map may use other numbers inside, such as unhashed ones."""
    contracts = call.contracts
    is_checked = contracts.depth == 0 and id(call.args[2].active) in contracts.encoded
    return _check_features(call, 2) if is_checked else None


def _check_action(call: Call, action: Any) -> str | None:
    actions = call.contracts.ranges.actions
    right = _is_whole(action) and 0 <= action < actions
    return _unless(right, f"an action, a whole number from 0 to {actions - 1}", action)


def _check_act(call: Call) -> str | None:
    """Check the loop's agent only: one inside it may choose among options, too."""
    return _check_action(call, call.result) if type(call.part) is call.contracts.agent else None


def _check_draw(call: Call) -> str | None:
    right = _is_whole(call.result) and call.result >= -1
    wrong = _unless(right, "a slot, a whole number from 0 on, or −1", call.result)
    return wrong or _check_features(call, 0)


def _check_stored(call: Call) -> str | None:
    wrong = _check_step(call, "(action, reward, alive)")
    return wrong or _check_action(call, call.result[0])


def _check_sample(call: Call) -> str | None:
    wrong = _unless(is_number(call.result), "alive, 0.0 or 1.0", call.result)
    return wrong or (_check_features(call, 2) if call.is_finite else None)


def _check_probabilities(call: Call) -> str | None:
    policy = call.args[-1]
    if np.isnan(policy).all():  # an agent without a policy, or one that has diverged
        return None
    if not (policy >= 0.0).all() or abs(policy.sum() - 1.0) > 1e-6:
        return f"must write probabilities that sum to 1, got {policy}"
    return None


_WHOLE = _returns("a whole number", _is_whole)
_ERRORS = _returns("the size of its errors", is_number)
_STOPS = _returns("a probability, from 0 to 1", lambda p: is_number(p) and 0.0 <= p <= 1.0)
_TRUE_OR_FALSE = _returns("True or False", lambda t: isinstance(t, bool | np.bool_) or _is_whole(t))

CONTRACTS: dict[verbs.Verb[object], Contract] = {
    # domains
    verbs.step: Contract(_check_step),
    verbs.observation: Contract(_check_observation),
    verbs.state_index: Contract(_check_state_index),
    verbs.truncated: Contract(_TRUE_OR_FALSE),
    verbs.phase: Contract(_WHOLE),
    verbs.outcome: Contract(_WHOLE),
    verbs.reward_now: Contract(_check_number),
    # features
    verbs.encode: Contract(_check_encode, read_only=(0,)),
    # models
    verbs.fit: Contract(_ERRORS, read_only=(0,)),
    verbs.backed_up_value: Contract(_check_number, read_only=(0, 2)),
    verbs.backed_up_action_value: Contract(_check_number, read_only=(0, 2)),
    verbs.draw_outcome: Contract(lambda call: _check_step(call) or _check_features(call, 2)),
    verbs.sample_next: Contract(_check_sample),
    # backup distributions
    verbs.remember: Contract(lambda call: None, read_only=(0,)),
    verbs.draw: Contract(_check_draw),
    verbs.stored_transition: Contract(_check_stored),
    verbs.load_successor: Contract(lambda call: _check_features(call, 1)),
    verbs.free_capacity: Contract(_WHOLE),
    # agents
    verbs.act: Contract(_check_act, read_only=(0,)),
    verbs.learn: Contract(_ERRORS, read_only=(0,)),
    verbs.preference: Contract(_check_number, read_only=(0,)),
    verbs.plan: Contract(_ERRORS),
    verbs.back_up: Contract(_ERRORS),
    verbs.roll_out: Contract(_ERRORS),
    verbs.policy: Contract(_check_probabilities, read_only=(0,)),
    verbs.behaviour_policy: Contract(_check_probabilities),
    # options
    verbs.stop: Contract(_STOPS, read_only=(0,)),
    verbs.stop_of: Contract(_STOPS, read_only=(1,)),
    verbs.policy_of: Contract(_check_probabilities, read_only=(1,)),
    verbs.learn_options: Contract(_ERRORS),
    verbs.fit_options: Contract(_ERRORS),
}


# --------------------------------------------------------------- contracts broken in the loop


def index_error(run: Run, error: IndexError) -> PartError:
    """Return the error for an index out of range, found by Python or by Numba's checks."""
    location = user_location(error)
    text = f"a part indexes beyond an array: {error}, {_when(run)}"
    return PartError(f"{text} ({location})" if location else text)


def contract_error(run: Run, status: int) -> PartError:
    """Return the error for a status with which the loop has stopped."""
    seen, total = verbs.observation(run.domain), run.total[0]
    calls: dict[int, tuple[verbs.Verb[object], Any, tuple[Any, ...], Any]] = {
        loop.NO_ACTION: (verbs.act, run.agent, (), run.clock[loop.ACTION]),
        loop.NO_REWARD: (verbs.step, run.domain, (), (total, 1.0)),
        loop.NO_ALIVE: (verbs.step, run.domain, (), (0.0, total)),
        loop.NO_STATE: (verbs.observation, run.domain, (), seen),
        loop.NO_STATE_INDEX: (verbs.state_index, run.domain, (), verbs.state_index(run.domain)),
        loop.NO_FEATURE: (verbs.encode, run.features, (seen, -1, run.next_state), None),
    }
    if status not in calls:
        component = max(loop.nonfinite_component(seen), 0)
        text = f"observation: component {component} must be a finite number, got {seen[component]}"
        return PartError(f"{text}, {_when(run)}")
    verb, part, args, result = calls[status]
    call, check = Call(Contracts(run), part, args, result), CONTRACTS[verb].check
    wrong = check(call) or check(call._replace(args=(*args[:-1], run.state)))
    return PartError(f"{verb.__name__} of {type(part).__name__} {wrong}, {_when(run)}")


def _when(run: Run) -> str:
    clock = run.clock
    return f"in run {clock[loop.NUMBER]}, episode {clock[loop.EPISODE]}, step {clock[loop.STEP]}"
