"""Diagnostics of an agent: errors of its model and values while it learns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.formatting import short_repr
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.memory import claim
from expectant.core.reductions import padded_size
from expectant.core.rules import whole
from expectant.engine.driver import drive, new_control
from expectant.engine.loop import DONE
from expectant.engine.probe import Answers, all_states, copy_subject, load_probe, probe_agent
from expectant.engine.progress import Silent
from expectant.engine.run import RULES, check_arguments
from expectant.engine.setup import Setup, load_loop
from expectant.engine.workers import iterate_interruptibly
from expectant.exact import optimal_values
from expectant.exact.dynamic_programming import Dynamics, expected_next, get_dynamics
from expectant.features.discrete import require_states

__all__ = ["Errors", "errors_over_time"]


def __dir__() -> list[str]:
    """Return the public names, which completion shows."""
    return __all__


class Errors(NamedTuple):
    """Errors at every checkpoint, (runs, checkpoints); NaN if undefined or if the run diverged.

    ``model`` is the root mean squared error of s̄ and r over states and actions against the exact
    ones of the first phase; ``value`` that of the state values against the optimal ones.
    """

    episodes: np.ndarray
    model: np.ndarray
    value: np.ndarray

    def __repr__(self) -> str:
        return short_repr(self)


@check_arguments(**{**RULES, "episodes": whole(1), "step_limit": whole(1), "every": whole(1)})
def errors_over_time(
    domain: Domain,
    features: Features,
    agent: Agent,
    *,
    episodes: int,
    every: int,
    runs: int = 10,
    seed: int = 0,
    step_limit: int = 10_000,
    compiled: bool | None = None,
) -> Errors:
    """Measure the errors of an agent's model and values while it learns, on a finite MDP."""
    setup = Setup(domain, features, agent, episodes=episodes, step_limit=step_limit, seed=seed)
    size, count = features.shape(domain).size, require_states(domain, "errors_over_time")
    claim(8 * size * (count * (1 + domain.actions) + 2 * size))  # vectors, futures and probes
    world, optimum = get_dynamics(domain), optimal_values(domain, discount=agent.discount)
    shape, states = features.shape(domain), all_states(world.start.size)
    if shape.remembers:
        raise ValueError(f"features: must be those of the present state alone, got {features!r}")
    name, probes = type(agent).__name__, np.eye(shape.size, padded_size(shape.size))
    kernel = load_loop(setup, compiled, name, Silent())
    probe = load_probe(copy_subject(setup.build(0)[0]), states, compiled, name, Silent())
    questions = ("features", "values", "model")
    checkpoints = np.arange(every, episodes + 1, every)
    errors = Errors(checkpoints, *np.full((2, runs, checkpoints.size), np.nan))
    control = new_control()
    for number in range(runs):
        stops = drive(setup, number, kernel, control, checkpoints)
        for column, stop in enumerate(iterate_interruptibly(stops, control)):
            if stop.status == DONE:
                subject = copy_subject(stop.run)
                answers = probe_agent(probe, subject, states, questions, measures=probes)
                errors.model[number, column] = _model_error(answers, world)
                errors.value[number, column] = np.sqrt(np.mean((answers.values - optimum) ** 2))
    return errors


def _model_error(answers: Answers, world: Dynamics) -> float:
    """Return the error of r and s̄ together, averaged over pairs; NaN for agents without a model."""
    expected = expected_next(world, answers.features)
    rewards = (answers.rewards - world.rewards) ** 2
    means = ((answers.futures - expected) ** 2).sum(axis=-1)
    return float(np.sqrt(np.mean(np.stack([rewards, means], axis=-1))))
