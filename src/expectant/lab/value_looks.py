"""Looks at what an agent believes: its state values, and how far they are from the right ones."""

from __future__ import annotations

import numpy as np

from expectant.exact.solve import dynamics, optimal_values
from expectant.lab.looking import Look, Seen, add_look, by_phase
from expectant.lab.policy_worth import phase_of
from expectant.parts import Agent, Domain


def _value_error(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    def of(rows: np.ndarray, phase: int) -> np.ndarray:
        exact = optimal_values(domain, discount=agent.discount, phase=phase)
        return np.sqrt(((seen.values[rows] - exact) ** 2).mean(axis=1))

    return by_phase(domain, seen, np.isfinite(seen.values).all(axis=1), of)


def _squared_error(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    return np.asarray(_value_error(domain, agent, seen) ** 2)


def _known_error(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    known = domain.known_values(agent.discount)
    if known is None:
        raise ValueError(
            f"record: known_error needs a domain that knows values of some states, such as "
            f"DrivenCar, got {domain!r}"
        )
    errors = np.sqrt(((seen.values - known.values) ** 2).mean(axis=1))
    return np.asarray(errors)


def _sampling_course(domain: Domain, at: np.ndarray) -> dict[str, np.ndarray]:
    """What means of samples should leave, where a domain knows it."""
    errors = domain.sampling_error(at)
    return {} if errors is None else {"exact, on average": errors}


def _start_value(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    def of(rows: np.ndarray, phase: int) -> np.ndarray:
        return np.asarray(seen.values[rows] @ dynamics(domain, phase).start)

    return by_phase(domain, seen, np.isfinite(seen.values).all(axis=1), of)


def _start_levels(domain: Domain, agent: Agent, phases: int) -> list[dict[str, float]]:
    found = []
    for phase in range(phases):
        now = phase_of(domain, phase)
        best = optimal_values(domain, discount=agent.discount, phase=now)
        found.append({"optimum": float(dynamics(domain, now).start @ best)})
    return found


def _value_change(domain: Domain, agent: Agent, seen: Seen) -> np.ndarray:
    """How far the values have moved since the look before; since the first, nothing."""
    moved = np.diff(seen.values, axis=0, prepend=seen.values[:1])
    return np.asarray((moved**2).mean(axis=1))


add_look(
    Look(
        "value_error",
        "error of the state values",
        "the root of the mean over states of (v̂(s) − v*(s))², v* being the optimal values of the "
        "present phase",
        ("values",),
        _value_error,
        of_errors=True,
    )
)
add_look(
    Look(
        "squared_error",
        "squared error of the values",
        "the mean over states of (v̂(s) − v*(s))², v* being the optimal values of the present phase",
        ("values",),
        _squared_error,
        course=_sampling_course,
        of_errors=True,
    )
)
add_look(
    Look(
        "known_error",
        "error of the state values",
        "the root mean squared difference of the state values from what is known of some states",
        ("values",),
        _known_error,
        of_errors=True,
    )
)
add_look(
    Look(
        "start_value",
        "value of the start",
        "the mean of the state values over the starts of episodes",
        ("values",),
        _start_value,
        levels=_start_levels,
    )
)
add_look(
    Look(
        "value_change",
        "squared change of the values",
        "the mean over states of the squared change of v̂(s) since the look before",
        ("values",),
        _value_change,
        of_errors=True,
    )
)
