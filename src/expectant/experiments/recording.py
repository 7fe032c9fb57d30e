"""What a run leaves besides returns: looks at the agent, taken on a schedule.

A record names a look and says how often it is taken. The look asks a copy of the agent about all
states of the domain (about those whose values are known, where states are not numbered) and makes
one number of the answers; the numbers of a run, in order, are its curve.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from expectant.analysis.panel import Level
from expectant.checks.dry_run import rehearse
from expectant.checks.errors import broken_promise
from expectant.core.config import near_miss
from expectant.core.memory import full
from expectant.core.progress import Reporter, Silent
from expectant.core.rng import Streams, evaluation_streams
from expectant.core.rules import at_least, whole
from expectant.core.verbs import count_backups
from expectant.engine.driver import Stop, drive, going_on
from expectant.engine.evaluate import perform, perform_discounted
from expectant.engine.job import Job
from expectant.engine.loop import DONE, NOT_FINITE, Budget, Run
from expectant.engine.probe import States, all_states, look, look_for, look_is_compiled, set_aside
from expectant.engine.workers import Order
from expectant.experiments.probes import Look, Seen, look_named
from expectant.jit.compile import Kernel, compiled_for, is_compiled, use_compiled

RETURNS = "returns"  # what is asked of a look by episodes


class Schedule(NamedTuple):
    """When looks are taken: after so many episodes or steps, ``at`` (M,), in which ``phases`` (M,).

    At the border of two phases one look belongs to each of them.
    """

    at: np.ndarray
    phases: np.ndarray


@dataclass(frozen=True)
class Record:
    """A look, how many episodes or steps lie between two of them, and its options.

    The first is taken ``after`` so many, from which on they are counted. Every interval is
    ``growth`` times as long as the one before, for looks that are even on a logarithmic scale.
    """

    look: str
    every: int
    options: tuple[tuple[str, object], ...] = ()
    after: int = 0
    growth: float = 1.0

    def to_dict(self) -> dict[str, object]:
        after = {"after": self.after} if self.after else {}
        growth = {"growth": self.growth} if self.growth != 1.0 else {}
        return {"look": self.look, "every": self.every, **after, **growth, **dict(self.options)}

    def schedule(self, job: Job) -> Schedule:
        """When a run of a job is looked at."""
        return schedule(job, self.every, self.after, self.growth)

    @property
    def episodes(self) -> int:
        """How many episodes a look takes, if any."""
        return cast(int, dict(self.options).get("episodes", 0))  # as its rule has made it

    @property
    def found(self) -> Look:
        return look_named(self.look)


def record_from(data: Mapping[str, Any]) -> Record:
    """The record that a table of a spec stands for; a ``ValueError`` says what is wrong."""
    wanted = dict(data)
    found = look_named(wanted.pop("look", None))
    every = whole(1).check("record", "every", wanted.pop("every", 1))
    after = whole(0).check("record", "after", wanted.pop("after", 0))
    growth = at_least(1.0).check("record", "growth", wanted.pop("growth", 1.0))
    options = {}
    for key, value in wanted.items():
        if key not in found.options:
            known = ["every", "after", "growth", *found.options]
            raise ValueError(f"record: unknown {key!r}" + near_miss(key, known))
        options[key] = found.options[key][0].check("record", key, value)
    defaults = {key: default for key, (_, default) in found.options.items()}
    return Record(found.name, every, tuple(sorted({**defaults, **options}.items())), after, growth)


def schedule(job: Job, every: int, after: int = 0, growth: float = 1.0) -> Schedule:
    """At the first moment of each phase, then so often, and at the end of each; from ``after`` on.

    The look at the end of a phase comes before anything changes, the one at the start of the next
    after it: both are at the same agent.
    """
    at, phases, first = [], [], 0
    for phase, length in enumerate(_phases(job)):
        begin = min(length, max(0, after - first))
        found = [*_moments(begin, length, every, growth), length]
        at += [first + step for step in found]
        phases += [phase] * len(found)
        first += length
    return Schedule(np.array(at), np.array(phases))


def _moments(begin: int, end: int, every: int, growth: float) -> Iterator[int]:
    """When looks are taken before the end of a phase."""
    moment, interval = float(begin), float(every)
    while round(moment) < end:
        yield round(moment)
        moment += interval
        interval *= growth


def _phases(job: Job) -> list[int]:
    """How long the phases of a run are, in what is counted."""
    if job.steps and job.domain.phase_steps:
        ends = np.minimum(np.cumsum(job.domain.phase_steps), job.length)
        ends[-1] = job.length  # the last one goes on as long as the run does
        return [int(length) for length in np.diff(ends, prepend=0) if length > 0]
    every = job.domain.switch_every
    if job.steps or every is None:
        return [job.length]
    whole_ones, rest = divmod(job.length, every)
    return [every] * whole_ones + ([rest] if rest else [])


def compiled_look(
    job: Job, record: Record, compiled: bool | None, name: str, show: Reporter
) -> Kernel:
    """What asks the agent of a job, compiled unless asked not to."""
    if RETURNS in record.found.topics:
        return performer(job, compiled, name, show)
    return look_for(set_aside(job.prepare(0)[0]), _states(job), compiled, name, show)


def ordered_look(job: Job, record: Record) -> Order:
    """What looks at the agent of a job, to be left in the cache by another process."""
    return Order(partial(compile_look, record), job, partial(_look_is_compiled, record))


def compile_look(record: Record, job: Job) -> None:
    """Leave what looks at the agent of a job in the cache."""
    compiled_look(job, record, True, "", Silent())


def _look_is_compiled(record: Record, job: Job) -> bool:
    if RETURNS in record.found.topics:
        return is_compiled(perform_discounted, _no_episodes(job))
    return look_is_compiled(set_aside(job.prepare(0)[0]), _states(job))


def recorded(
    job: Job, number: int, loop: Kernel, asker: Kernel, control: np.ndarray, record: Record,
    begun: Callable[[Stop], None] = lambda stop: None,
) -> tuple[np.ndarray, Stop]:  # fmt: skip
    """The curve (M,) of one run, NaN from a divergence on, and where the run stopped."""
    when, found = record.schedule(job), record.found
    options = dict(record.options)
    asked = tuple(topic for topic in found.topics if topic in ("values", "preferences"))
    states = _states(job) if asked else None
    seen = _nothing_seen(job, record, when)
    for row, stop in enumerate(drive(job, number, loop, control, when.at)):
        begun(stop)
        if stop.status != DONE:
            continue
        if states is not None:
            answers = look(asker, set_aside(stop.run), states, asked)
            for topic in asked:
                getattr(seen, topic)[row] = getattr(answers, topic)
        if "work" in found.topics:
            seen.work[row] = count_backups(stop.run.agent)
        if RETURNS in found.topics:
            phase = int(when.phases[row])
            episodes = record.episodes
            seen.returns[row] = earned(asker, job, stop.run, number, phase, episodes, control)
    domain = job.for_run(number).domain
    return found.of(domain, job.agent, seen, **options), stop


def _nothing_seen(job: Job, record: Record, when: Schedule) -> Seen:
    """Arrays of NaN for all that the looks of a run ask for, empty for what they do not."""
    topics, looks, states = record.found.topics, when.at.size, 0
    if {"values", "preferences"} & set(topics):
        states = job.domain.states or len(_states(job).state_indices)
    shapes: dict[str, tuple[int, ...]] = {
        "values": (looks, states),
        "preferences": (looks, states, job.domain.actions),
        "work": (looks,),
        RETURNS: (looks, record.episodes),
    }
    answers = {
        topic: full(shape if topic in topics else (0,) * len(shape), np.nan)
        for topic, shape in shapes.items()
    }
    return Seen(phases=when.phases, **answers)


def levels_of(job: Job, record: Record) -> tuple[Level, ...]:
    """The lines to hold a record against, joined where they go on from phase to phase.

    Where every run has a domain of its own, no one number can be told.
    """
    lines, levels, start = list[Level](), record.found.levels, 0.0
    if levels is not None and job.for_run(0) is job:
        lengths = _phases(job)
        known = levels(job.domain, job.agent, len(lengths), **dict(record.options))
        for length, heights in zip(lengths, known, strict=True):
            for name, height in heights.items():
                ending = [line for line in lines if (line.name, line.end) == (name, start)]
                if ending and ending[0].height == height:
                    lines[lines.index(ending[0])] = ending[0]._replace(end=start + length)
                else:
                    lines.append(Level(start, start + length, height, name))
            start += length
    return (*lines, *_course_lines(job, record))


def _course_lines(job: Job, record: Record) -> list[Level]:
    """What should be seen, from look to look."""
    if record.found.course is None:
        return []
    at = record.schedule(job).at
    return [
        Level(float(at[m]), float(at[m + 1]), float(expected[m]), name, float(expected[m + 1]))
        for name, expected in record.found.course(job.domain, at).items()
        for m in range(at.size - 1)
        if np.isfinite(expected[m : m + 2]).all()
    ]


def _states(job: Job) -> States:
    """What looks ask about: all states or, where they have no numbers, those of known value."""
    if job.domain.states is not None:
        return all_states(job.domain.states)
    known = job.domain.reference_values(job.agent.discount)
    if known is None:
        raise ValueError(
            f"record: a look asks about all states, and {type(job.domain).__name__} does not "
            "number its states, nor knows what some of them are worth"
        )
    return States(known.observations, np.full(len(known.values), -1))


def performer(job: Job, compiled: bool | None, name: str, show: Reporter) -> Kernel:
    """What acts greedily for the agent of a job, compiled unless asked not to."""
    if job.domain.external:
        raise ValueError(
            f"record: a look by episodes needs a domain in compiled code, got {job.domain!r}"
        )
    if not use_compiled(compiled):
        return perform_discounted
    arguments = _no_episodes(job)
    rehearse(job, arguments[0], arguments[3], perform)
    return compiled_for(perform_discounted, arguments, f"{name}, greedily", show)


def _no_episodes(job: Job) -> tuple[Run, Budget, float, Streams, np.ndarray]:
    """Arguments with which nothing is performed."""
    run = _judged_copy(job, job.prepare(0)[0], 0, 0)
    return run, Budget(0, 0, 1), 1.0, evaluation_streams(job.seed, 0), going_on()


def earned(
    kernel: Kernel,
    job: Job,
    run: Run,
    number: int,
    phase: int,
    episodes: int,
    control: np.ndarray,
) -> np.ndarray:
    """Discounted returns (episodes,) of the agent of a run in one phase; NaN if it has diverged.

    Setting ``control[0]`` stops it.
    """
    aside, streams = _judged_copy(job, run, phase, episodes), evaluation_streams(job.seed, number)
    budget = job.budget()._replace(episodes=episodes)
    status = kernel(aside, budget, float(job.agent.discount), streams, control)
    if status >= NOT_FINITE:
        raise broken_promise(aside, status)
    return aside.returns if status == DONE else np.full(episodes, np.nan)


def _judged_copy(job: Job, run: Run, phase: int, episodes: int) -> Run:
    """A copy of all of a run at the beginning of an episode, where agents are judged."""
    aside = copy.deepcopy(run)._replace(
        clock=np.zeros_like(run.clock),
        returns=np.full(episodes, np.nan),
        lengths=np.zeros(episodes, np.int64),
    )
    job.domain.prepare_evaluation(aside.domain, phase)
    return aside
