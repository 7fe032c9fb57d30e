"""One run, stopped at many moments to look at what the agent knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from expectant.report.animation_data import Frame, Recording
from expectant.rules import flag, or_none, whole
from expectant.running.course import advanced, going_on
from expectant.running.job import Job, loop_for
from expectant.running.kernels import compiled_for, use_compiled
from expectant.running.loop import DONE, EPISODE, PHASE, STEPS, Budget, Run
from expectant.running.memory import require
from expectant.running.outside import play
from expectant.running.progress import Reporter, reporter
from expectant.seeds import SEED
from expectant.watching.layout import layout_of
from expectant.watching.moments import changes_of, moments
from expectant.watching.probing import Prober, ask, probing_memory

BINS = 200  # of the learning curve, where steps are counted
LEAST_FRAMES = 2

Advance = Callable[[Run, Budget], tuple[Run, int]]


def record(
    domain: Any,
    features: Any,
    agent: Any,
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
    if steps is not None and hasattr(domain, "world"):
        raise ValueError(
            f"watch: a world outside cannot stop within an episode, give episodes, got {steps=}"
        )
    job = Job(domain, features, agent, episodes or 0, steps or 0, BINS, step_limit, seed)
    unit, length = ("episode", episodes) if episodes else ("step", steps)
    assert length is not None
    layout = layout_of(domain, lattice)
    changes = changes_of(domain, unit, length)
    name, show = f"{type(agent).__name__} in {type(domain).__name__}", reporter(progress)
    require(job, copies=2, also=probing_memory(len(layout.points)))
    prober = Prober(job, layout.observations, layout.points)
    run, rng = job.prepare(0)
    look: Any = ask
    if use_compiled(compiled):
        look = compiled_for(ask, (prober.questions(run), prober.actions), f"a look at {name}", show)
    taken, status = [], DONE
    with _course(job, compiled, name, show, rng) as advance, show.running(name) as tell:
        for moment in moments(length, frames, changes):
            run, status = advance(run, _budget(job, moment))
            taken.append(_frame(run, prober.look(look, run)))
            tell(moment / length)
            if status != DONE:
                break
    times, curve, measure = _curve(job, run)
    return Recording(
        name, layout, tuple(taken), unit, length, times, curve, measure, changes, status != DONE
    )


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


@contextmanager
def _course(
    job: Job, compiled: bool | None, name: str, show: Reporter, rng: np.random.Generator
) -> Iterator[Advance]:
    """A function that takes the run on until a budget is used up."""
    control, kernel = going_on(), loop_for(job, compiled, name, show)
    if not hasattr(job.domain, "world"):
        yield lambda run, budget: advanced(kernel, run, budget, rng, control)
        return
    with closing(job.domain.world(job.seed, 0)) as world:
        yield lambda run, budget: play(kernel, world, run, budget, rng, control)


def _budget(job: Job, moment: int) -> Budget:
    whole_run = job.budget()
    if job.episodes:
        return whole_run._replace(episodes=moment)
    return whole_run._replace(steps=moment)


def _frame(run: Run, seen: tuple[np.ndarray, ...]) -> Frame:
    clock = run.clock
    return Frame(int(clock[EPISODE]), int(clock[STEPS]), int(clock[PHASE]), *seen)


def _curve(job: Job, run: Run) -> tuple[np.ndarray, np.ndarray, str]:
    """(times, measurements, their name): returns of episodes, or rewards of steps in bins."""
    if job.episodes:
        done = int(run.clock[EPISODE])
        return np.arange(1, done + 1), run.returns[:done], "return"
    done = int(run.clock[STEPS])
    ends = np.minimum(np.arange(1, run.rewards.size + 1) * job.bin, done)
    sizes = np.diff(ends, prepend=0)
    begun = sizes > 0
    return ends[begun], run.rewards[begun] / sizes[begun], "reward per step"
