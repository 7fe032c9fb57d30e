"""Diagnostics of a problem: is planning sound, and how large are the errors of model and values?"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from expectant.checks.dry_run import dry_run
from expectant.core.dispatch import unowned
from expectant.core.formatting import short_repr
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.memory import claim
from expectant.core.reductions import padded_size
from expectant.core.rng import SEED
from expectant.core.rules import flag, or_none, whole
from expectant.core.verbs import act, function
from expectant.engine.driver import drive, new_control, start_run
from expectant.engine.loop import DONE
from expectant.engine.probe import Answers, all_states, copy_subject, load_probe, probe_agent
from expectant.engine.progress import Silent
from expectant.engine.setup import Setup, load_loop
from expectant.engine.workers import iterate_interruptibly
from expectant.exact import optimal_values, planning_gap
from expectant.exact.dynamic_programming import Dynamics, expected_next, get_dynamics
from expectant.features.discrete import require_states
from expectant.jit.compile import compile_for

__all__ = ["Errors", "Safety", "action_values_safe", "decision_nanoseconds", "errors_over_time"]

NEGLIGIBLE = 1e-9


class Safety(NamedTuple):
    """Soundness of planning action values with an expectation model, and the largest loss."""

    safe: bool
    largest: float
    state: int
    action: int
    text: str

    def __str__(self) -> str:
        return self.text


def action_values_safe(
    domain: Domain,
    action_values: np.ndarray | None = None,
    *,
    discount: float = 1.0,
    phase: int = 0,
) -> Safety:
    """Tell from the planning gap if planning with action values is safe.

    ``action_values`` (S, A) default to the optimal ones. Safe means that at these values an
    expectation model backs up what a distribution model would.
    """
    gap = planning_gap(domain, action_values, discount=discount, phase=phase)
    state, action = (int(x) for x in np.unravel_index(int(gap.argmax()), gap.shape))
    largest, scale = float(gap.max()), float(np.abs(gap).max())
    if scale <= NEGLIGIBLE:
        text = (
            "Safe: in every state and action one action is greedy in all successors, so planning "
            "with action values loses nothing with an expectation model."
        )
        return Safety(True, 0.0, state, action, text)
    count = int((gap > NEGLIGIBLE).sum())
    text = (
        f"Not safe: in {count} of {gap.size} states and actions the successors disagree about the "
        f"greedy action. The loss is largest in state {state}, action {action}: {largest:.4g} per "
        "backup. Plan with state values instead."
    )
    return Safety(False, largest, state, action, text)


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
    for argument, value, rule in (
        ("episodes", episodes, whole(1)),
        ("every", every, whole(1)),
        ("runs", runs, whole(1)),
        ("seed", seed, SEED),
        ("step_limit", step_limit, whole(1)),
        ("compiled", compiled, or_none(flag())),
    ):
        rule.check("errors_over_time", argument, value)
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


@function
def decide(run, rng, repeats):
    """Choose an action ``repeats`` times in the present state; return the sum of the choices."""
    run, rng = unowned(run), unowned(rng)
    total = 0
    for _ in range(repeats):
        total += act(run.agent, run.state, rng)
    return total


def decision_nanoseconds(
    domain: Domain, features: Features, agent: Agent, *, repeats: int = 2000, rounds: int = 5
) -> float:
    """Measure the time of one greedy decision of an untrained agent; the best of some rounds."""
    if agent.epsilon > 0.0:
        agent = agent.replace(epsilon=0.0)
    setup = Setup(domain, features, agent, episodes=1, step_limit=1, strict=False)
    dry_run(setup, *setup.build(0))
    run, streams, _ = start_run(setup, 0)
    rng = streams.acting
    kernel = compile_for(decide, (run, rng, 1), "decisions", Silent())
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        kernel(run, rng, repeats)
        best = min(best, time.perf_counter() - start)
    return best / repeats * 1e9
