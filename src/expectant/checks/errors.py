"""Errors of parts at run time, in one sentence: part, contract, value and time."""

from __future__ import annotations

from typing import Any

from expectant.checks.contracts import CONTRACTS, Call, Contracts
from expectant.core import verbs
from expectant.core.errors import PartError, user_location
from expectant.engine import loop
from expectant.engine.loop import Run


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
        loop.NO_PLACE: (verbs.state_index, run.domain, (), verbs.state_index(run.domain)),
        loop.NO_FEATURE: (verbs.encode, run.features, (seen, -1, run.next_state), None),
    }
    if status not in calls:
        component = max(loop.unusable(seen), 0)
        text = f"observation: component {component} must be a finite number, got {seen[component]}"
        return PartError(f"{text}, {_when(run)}")
    verb, part, args, result = calls[status]
    call, check = Call(Contracts(run), part, args, result), CONTRACTS[verb].check
    wrong = check(call) or check(call._replace(args=(*args[:-1], run.state)))
    return PartError(f"{verb.__name__} of {type(part).__name__} {wrong}, {_when(run)}")


def _when(run: Run) -> str:
    clock = run.clock
    return f"in run {clock[loop.NUMBER]}, episode {clock[loop.EPISODE]}, step {clock[loop.STEP]}"
