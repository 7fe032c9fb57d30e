"""Decisions alone, without learning: for measuring how long one takes."""

from __future__ import annotations

import time

from expectant.dispatch import borrowed
from expectant.engine.compile.kernels import compiled_for
from expectant.engine.course import begun
from expectant.engine.job import Job
from expectant.engine.trial.rehearsal import rehearse
from expectant.parts import Agent, Domain, Features
from expectant.progress import Silent
from expectant.verbs import act, function


@function
def decide(run, rng, repeats):
    """Choose an action so many times in the present state; returns the sum of the choices."""
    run, rng = borrowed(run), borrowed(rng)
    total = 0
    for _ in range(repeats):
        total += act(run.agent, run.state, rng)
    return total


def decision_nanoseconds(
    domain: Domain, features: Features, agent: Agent, *, repeats: int = 2000, rounds: int = 5
) -> float:
    """How long one decision takes, the best of some rounds; ε is set to 0, so that all decide.

    All are made where the first episode begins, by an agent that has learned nothing.
    """
    if agent.epsilon > 0.0:
        agent = agent.replace(epsilon=0.0)
    job = Job(domain, features, agent, episodes=1, step_limit=1)
    rehearse(job, *job.prepare(0))
    run, streams, _ = begun(job, 0)
    rng = streams.acting
    kernel = compiled_for(decide, (run, rng, 1), "decisions", Silent())
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        kernel(run, rng, repeats)
        best = min(best, time.perf_counter() - start)
    return best / repeats * 1e9
