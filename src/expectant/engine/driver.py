"""The driver of the loop: build a run, call the loop, grow parts, stop where asked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.checks.contracts import contract_error, index_error
from expectant.core.errors import EnvError
from expectant.core.interfaces import Domain
from expectant.core.rng import Streams
from expectant.core.verbs import grow
from expectant.engine import loop
from expectant.engine.loop import DONE, EPISODE, GOES_ON, STEPS, Budget, Run
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
        return int(self.run.clock[loop.PHASE])


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
    stops, whole = (setup.length,) if stops is None else stops, setup.budget()
    if setup.steps and setup.domain.external and any(0 < stop < setup.steps for stop in stops):
        raise ValueError(
            f"stops: {type(setup.domain).__name__} cannot stop within an episode, so they must be "
            f"0 or all {setup.steps} steps; count episodes instead"
        )
    run, streams = setup.build(number, control)
    with open_world(setup.domain, setup.seed, number) as world:
        for stop in map(int, stops):
            part = {"episodes": stop} if setup.episodes else {"steps": stop}
            run, status = advance(kernel, run, whole._replace(**part), streams, control, world)
            yield Stop(run, streams, status)
            if status != DONE:
                return


def advance(
    kernel: Callable[..., int],
    run: Run,
    budget: Budget,
    streams: Streams,
    control: np.ndarray,
    world: Any = None,
) -> tuple[Run, int]:
    """Call the loop until it is done, growing parts that are full; a broken contract raises.

    ``world`` is the Python environment of an external domain.
    """
    if world is not None:
        return play(kernel, world, run, budget, streams, control)
    try:
        status = kernel(run, budget, streams, control)
        while status == loop.FULL:
            run = run._replace(agent=grow(run.agent))
            status = kernel(run, budget, streams, control)
    except IndexError as error:
        raise index_error(run, error) from error
    if status >= loop.NOT_FINITE:
        raise contract_error(run, status)
    return run, status


def request_action(
    kernel: Any, run: Run, action: int, reward: float, situation: int, streams: Any
) -> tuple[Run, int]:
    """Return the kernel's answer, growing parts that are full; a broken contract raises."""
    answer = kernel(run, action, reward, situation, streams)
    while answer == loop.FULL_UP:
        run = run._replace(agent=grow(run.agent))
        answer = kernel(run, action, reward, situation, streams)
    if answer <= loop.MISTAKES:
        mistake = contract_error(run, loop.MISTAKES - answer)
        raise EnvError(str(mistake)) if loop.MISTAKES - answer == loop.NOT_FINITE else mistake
    return run, answer


def play(
    kernel: Any, world: Any, run: Run, budget: Budget, streams: Any, control: np.ndarray
) -> tuple[Run, int]:
    """Run in an environment until the budget is used up; the counterpart of ``simulate``."""
    clock, received, rewards = run.clock, run.domain.received, run.rewards
    while clock[EPISODE] < budget.episodes and clock[STEPS] < budget.steps:
        world.reset(received)
        run.total[0] = 0.0
        run, action = request_action(kernel, run, -1, 0.0, loop.FIRST, streams)
        situation, taken, total = GOES_ON, 0, 0.0
        left = min(budget.step_limit, budget.steps - int(clock[STEPS]))
        while situation == GOES_ON:
            if control[0] != 0:
                return run, loop.STOPPED
            reward, terminated, truncated = world.step(action, received)
            total += reward
            taken += 1
            if rewards.shape[0] > 0:
                rewards[clock[STEPS] // run.bin] += reward
            clock[STEPS] += 1
            clock[loop.STEP] = taken
            if terminated:
                situation = loop.TERMINATED
            elif truncated or taken >= left:
                situation = loop.TRUNCATED
            run, action = request_action(kernel, run, action, reward, situation, streams)
            if action == loop.OVERFLOW:
                return run, loop.DIVERGED
        run.total[0] = total
        loop.end_episode(run)
    return run, DONE


def fraction_done(setup: Setup, clock: np.ndarray) -> float:
    """Return the fraction of a run that is done."""
    return float(clock[EPISODE if setup.episodes else STEPS]) / setup.length


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
