"""What the settings in a learner's file say, checked before anything is made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from expectant.domains.outside import LIMITS
from expectant.domains.spaces import Observations
from expectant.engine.loop import Run
from expectant.integrity import counted
from expectant.rules import LARGEST, Rule, or_none, whole
from expectant.seeds import Streams
from expectant.verbs import check_restored

OWNER = "Learner.load"
_WORDS = whole(0, 2**128 - 1)


@check_restored.register(Run)
def _(run, built, site):
    counted("the clock", run.clock)
    for name in ("domain", "features", "agent", "state", "next_state"):
        check_restored(getattr(run, name), getattr(built, name), site)


def observations_of(facts: dict[str, Any]) -> Observations:
    """How observations are read; an error where that could lead out of range."""
    states = or_none(whole(1)).check(OWNER, "states", facts["states"])
    bounds = or_none(LIMITS).check(OWNER, "bounds", facts["bounds"])
    counts = _numbers(1).check(OWNER, "counts", facts["counts"])
    starts = _numbers(-LARGEST).check(OWNER, "starts", facts["starts"])
    numbered = states is not None
    if (
        len(counts) != len(starts)
        or bool(counts) != numbered
        or (numbered and (bounds is not None or math.prod(counts) != states))
    ):
        raise ValueError(f"{OWNER}: states, bounds, counts and starts must agree, got {facts!r}")
    return Observations(states, bounds, counts, starts)


def components_of(value: Any, reading: Observations) -> int:
    """How many numbers an observation has."""
    known = 1 if reading.states is not None else len(reading.bounds or ())
    rule = whole(known or 1, known or LARGEST)
    components: int = rule.check(OWNER, "components", value)
    return components


def action_of(value: Any, actions: int) -> int:
    """The last action, −1 between episodes."""
    action: int = whole(-1, actions - 1).check(OWNER, "action", value)
    return action


def states_of(streams: Streams) -> dict[str, Any]:
    """Where every stream is, by its name."""
    return {name: rng.bit_generator.state for name, rng in streams.named().items()}


def set_states(streams: Streams, states: Any) -> None:
    """Let streams go on where those of a file were."""
    if not isinstance(states, dict) or set(states) != set(streams.named()):
        raise ValueError(f"{OWNER}: streams must be {', '.join(streams.named())}, got {states!r}")
    for name, rng in streams.named().items():
        set_state(rng, name, states[name])


def set_state(rng: np.random.Generator, name: str, state: Any) -> None:
    """Let a generator go on where another one was."""
    if not isinstance(state, dict) or state.get("bit_generator") != "PCG64":
        raise ValueError(f"{OWNER}: {name} must be the state of a PCG64, got {state!r}")
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {
            key: _WORDS.check(OWNER, f"{name}.{key}", state["state"][key])
            for key in ("state", "inc")
        },
        "has_uint32": whole(0, 1).check(OWNER, f"{name}.has_uint32", state["has_uint32"]),
        "uinteger": whole(0, 2**32 - 1).check(OWNER, f"{name}.uinteger", state["uinteger"]),
    }


def _numbers(low: int) -> Rule[tuple[int, ...]]:
    def convert(value: object) -> tuple[int, ...]:
        if not isinstance(value, list):
            raise TypeError
        return tuple(whole(low).convert(item) for item in value)

    return Rule(f"a list of whole numbers, {low} or more", convert)
