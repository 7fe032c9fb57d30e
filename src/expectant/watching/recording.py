"""One run, stopped at many moments to look at what the agent knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from expectant.engine.asking import States
from expectant.engine.course import Stop, drive, going_on, share_done
from expectant.engine.job import Job, loop_for
from expectant.engine.look import look_for, set_aside
from expectant.engine.loop import DONE
from expectant.engine.memory.limits import require_room
from expectant.engine.threads import heeded
from expectant.parts import Agent, Domain, Features
from expectant.progress import Reporter, reporter
from expectant.rules import flag, or_none, whole
from expectant.seeds import SEED
from expectant.show.animation.frames import Frame, Layout, Recording
from expectant.verbs import followed
from expectant.watching.layout import layout_of
from expectant.watching.moments import changes_of, moments
from expectant.watching.probing import Prober, probing_memory

BINS = 200  # of the learning curve, where steps are counted
LEAST_FRAMES = 2


def record(
    domain: Domain,
    features: Features,
    agent: Agent,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    frames: int = 80,
    seed: int = 0,
    lattice: int = 40,
    step_limit: int | None = None,
    compiled: bool | None = None,
    progress: bool | Reporter = True,
) -> Recording:
    """Run an agent once and look at it in at most ``frames`` moments.

    It is run 0 of ``expectant.run`` with the same arguments: looking does not change it. In a plane
    ``lattice`` × ``lattice`` states are looked at.
    """
    _check(episodes, steps, frames, seed, lattice, step_limit, compiled)
    if steps is not None and domain.outside:
        raise ValueError(
            f"watch: a world outside cannot stop within an episode, give episodes, got {steps=}"
        )
    job = Job(
        domain,
        features,
        agent,
        episodes=episodes or 0,
        steps=steps or 0,
        bins=BINS,
        step_limit=step_limit,
        seed=seed,
    )
    unit, layout = "episode" if episodes else "step", layout_of(domain, lattice)
    changes = changes_of(domain, unit, job.length)
    name, show = f"{type(agent).__name__} in {type(domain).__name__}", reporter(progress)
    require_room(job, copies=2, also=probing_memory(len(layout.points)))
    kernel, prober = loop_for(job, compiled, name, show), _prober(job, layout, compiled, name, show)
    taken, control = [], going_on()
    course = drive(job, 0, kernel, control, moments(job.length, frames, changes))
    with show.running(name) as tell:
        for stop in heeded(course, control):
            taken.append(_frame(stop, prober.look(stop.run)))
            tell(share_done(job, stop.run.clock))
    times, curve, measure = _curve(job, stop)
    return Recording(
        name, layout, tuple(taken), unit, job.length, times, curve, measure, changes,
        stop.status != DONE,
    )  # fmt: skip


def _check(
    episodes: Any, steps: Any, frames: Any, seed: Any, lattice: Any, step_limit: Any, compiled: Any
) -> None:
    if (episodes is None) == (steps is None):
        raise ValueError(f"watch: give episodes or steps, got {episodes=}, {steps=}")
    for argument, value, rule in (
        ("episodes", episodes, or_none(whole(1))),
        ("steps", steps, or_none(whole(1))),
        ("frames", frames, whole(LEAST_FRAMES)),
        ("seed", seed, SEED),
        ("lattice", lattice, whole(2)),
        ("step_limit", step_limit, or_none(whole(1))),
        ("compiled", compiled, or_none(flag())),
    ):
        rule.check("watch", argument, value)


def _prober(job: Job, layout: Layout, compiled: bool | None, name: str, show: Reporter) -> Prober:
    """What looks at the states of a layout, in the agents of a job."""
    count, numbered = len(layout.points), job.domain.states is not None
    places = np.arange(count) if numbered else np.full(count, -1)
    states, subject = States(layout.observations, places), set_aside(job.prepare(0)[0])
    return Prober(look_for(subject, states, compiled, name, show), states, layout.points)


def _frame(stop: Stop, seen: tuple[np.ndarray, ...]) -> Frame:
    counts = (stop.episodes, stop.steps, stop.phase)
    return Frame._make((*counts, *seen, followed(stop.run.agent)))


def _curve(job: Job, stop: Stop) -> tuple[np.ndarray, np.ndarray, str]:
    """(times, measurements, their name): returns of episodes, or rewards of steps in bins."""
    run = stop.run
    if job.episodes:
        done = stop.episodes
        return np.arange(1, done + 1), run.returns[:done], "return"
    done = stop.steps
    ends = np.minimum(np.arange(1, run.rewards.size + 1) * job.bin, done)
    sizes = np.diff(ends, prepend=0)
    begun = sizes > 0
    return ends[begun], run.rewards[begun] / sizes[begun], "reward per step"
