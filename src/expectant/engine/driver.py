"""The driver of the loop: takes a run from its first step to its last stop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.checks.errors import contract_error, index_error
from expectant.core.interfaces import Domain
from expectant.core.rng import Streams
from expectant.core.verbs import grow
from expectant.engine.gym_loop import play
from expectant.engine.loop import (
    DONE,
    EPISODE,
    FULL,
    NOT_FINITE,
    PHASE,
    STEPS,
    Budget,
    Run,
    begin_episode,
    perceive,
)
from expectant.jit.compile import Kernel

if TYPE_CHECKING:
    from expectant.engine.setup import Setup

Stops = Sequence[int] | np.ndarray


class Stop(NamedTuple):
    """A run at a stop, its random streams, and the status that the loop returned."""

    run: Run
    streams: Streams
    status: int

    @property
    def episodes(self) -> int:
        """The number of finished episodes."""
        return int(self.run.clock[EPISODE])

    @property
    def steps(self) -> int:
        """The number of steps in all."""
        return int(self.run.clock[STEPS])

    @property
    def phase(self) -> int:
        """The phase that the domain is in."""
        return int(self.run.clock[PHASE])


def new_control() -> np.ndarray:
    """Return a stop flag that is not set."""
    return np.zeros(1, np.int64)


def drive(
    setup: Setup, number: int, kernel: Kernel, control: np.ndarray, stops: Stops | None = None
) -> Generator[Stop, None, None]:
    """Drive one run of a setup and yield it at every stop; by default once, at its end.

    Stops are increasing numbers of episodes, or of steps if the setup counts those; 0 is before the
    first step. The yielded run must not be changed. A status other than DONE ends the run.
    """
    stops = (setup.length,) if stops is None else stops
    _check_stops(setup, stops)
    run, streams = setup.build(number, control)
    with open_world(setup.domain, setup.seed, number) as world:
        for stop in stops:
            budget = _until(setup, int(stop))
            if world is None:
                run, status = advance(kernel, run, budget, streams, control)
            else:
                run, status = play(kernel, world, run, budget, streams, control)
            yield Stop(run, streams, status)
            if status != DONE:
                return


def advance(
    kernel: Callable[..., int],
    run: Run,
    budget: Budget,
    streams: Streams,
    control: np.ndarray,
) -> tuple[Run, int]:
    """Call the loop until it is done, growing parts that are full; a broken contract raises."""
    try:
        status = kernel(run, budget, streams, control)
        while status == FULL:
            run = run._replace(agent=grow(run.agent))
            status = kernel(run, budget, streams, control)
    except IndexError as error:
        raise index_error(run, error) from error
    if status >= NOT_FINITE:
        raise contract_error(run, status)
    return run, status


def start_run(setup: Setup, number: int) -> Stop:
    """Return a run at its first observation, before the agent has acted."""
    run, streams = setup.build(number)
    with open_world(setup.domain, setup.seed, number) as world:
        if world is None:
            status = begin_episode(run, streams)
        else:
            world.reset(run.domain.received)
            status = perceive(run, -1, run.state)
    if status != DONE:
        raise contract_error(run, status)
    return Stop(run, streams, status)


def fraction_done(setup: Setup, clock: np.ndarray) -> float:
    """Return the fraction of a run that is done."""
    return float(clock[EPISODE if setup.episodes else STEPS]) / setup.length


def _until(setup: Setup, stop: int) -> Budget:
    whole = setup.budget()
    return whole._replace(episodes=stop) if setup.episodes else whole._replace(steps=stop)


@contextmanager
def open_world(domain: Domain, seed: int, number: int) -> Iterator[Any]:
    """Yield the Python environment of a run, closed in the end; None for compiled domains."""
    if not domain.external:
        yield None
        return
    world = domain.make_env(seed, number)
    try:
        yield world
    finally:
        world.close()


def _check_stops(setup: Setup, stops: Stops) -> None:
    """Refuse stops within an episode of a Python environment, which would be truncated."""
    if setup.steps and setup.domain.external:
        for stop in stops:
            if 0 < stop < setup.steps:
                raise ValueError(
                    f"stops: {type(setup.domain).__name__} cannot stop within an episode, so they "
                    f"must be 0 or all {setup.steps} steps, got {stop}; count episodes instead"
                )
