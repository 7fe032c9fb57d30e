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
from expectant.checks.dry_run import dry_run
from expectant.checks.errors import contract_error
from expectant.core.config import suggest_name
from expectant.core.memory import full
from expectant.core.rng import Streams, evaluation_streams
from expectant.core.rules import at_least, whole
from expectant.core.verbs import count_backups
from expectant.engine.driver import Stop, drive, new_control
from expectant.engine.evaluate import perform, perform_discounted
from expectant.engine.loop import DONE, NOT_FINITE, Budget, Run
from expectant.engine.probe import (
    States,
    all_states,
    copy_subject,
    is_probe_compiled,
    load_probe,
    probe_agent,
)
from expectant.engine.progress import Reporter, Silent
from expectant.engine.setup import Setup
from expectant.engine.workers import CompileOrder
from expectant.experiments.probes import Probe, Seen, find_probe
from expectant.jit.compile import Kernel, compile_for, is_compiled, use_compiled

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

    probe: str
    every: int
    options: tuple[tuple[str, object], ...] = ()
    after: int = 0
    growth: float = 1.0

    def to_dict(self) -> dict[str, object]:
        after = {"after": self.after} if self.after else {}
        growth = {"growth": self.growth} if self.growth != 1.0 else {}
        return {"probe": self.probe, "every": self.every, **after, **growth, **dict(self.options)}

    def schedule(self, setup: Setup) -> Schedule:
        """When a run of a setup is looked at."""
        return schedule(setup, self.every, self.after, self.growth)

    @property
    def episodes(self) -> int:
        """How many episodes a look takes, if any."""
        return cast(int, dict(self.options).get("episodes", 0))  # as its rule has made it

    @property
    def found(self) -> Probe:
        return find_probe(self.probe)


def record_from(data: Mapping[str, Any]) -> Record:
    """The record that a table of a spec stands for; a ``ValueError`` says what is wrong."""
    wanted = dict(data)
    found = find_probe(wanted.pop("probe", None))
    every = whole(1).check("record", "every", wanted.pop("every", 1))
    after = whole(0).check("record", "after", wanted.pop("after", 0))
    growth = at_least(1.0).check("record", "growth", wanted.pop("growth", 1.0))
    options = {}
    for key, value in wanted.items():
        if key not in found.options:
            known = ["every", "after", "growth", *found.options]
            raise ValueError(f"record: unknown {key!r}" + suggest_name(key, known))
        options[key] = found.options[key][0].check("record", key, value)
    defaults = {key: default for key, (_, default) in found.options.items()}
    return Record(found.name, every, tuple(sorted({**defaults, **options}.items())), after, growth)


def schedule(setup: Setup, every: int, after: int = 0, growth: float = 1.0) -> Schedule:
    """At the first moment of each phase, then so often, and at the end of each; from ``after`` on.

    The look at the end of a phase comes before anything changes, the one at the start of the next
    after it: both are at the same agent.
    """
    at, phases, first = [], [], 0
    for phase, length in enumerate(_phases(setup)):
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


def _phases(setup: Setup) -> list[int]:
    """How long the phases of a run are, in what is counted."""
    if setup.steps and setup.domain.phase_steps:
        ends = np.minimum(np.cumsum(setup.domain.phase_steps), setup.length)
        ends[-1] = setup.length  # the last one goes on as long as the run does
        return [int(length) for length in np.diff(ends, prepend=0) if length > 0]
    every = setup.domain.switch_every
    if setup.steps or every is None:
        return [setup.length]
    whole_ones, rest = divmod(setup.length, every)
    return [every] * whole_ones + ([rest] if rest else [])


def compiled_look(
    setup: Setup, record: Record, compiled: bool | None, name: str, show: Reporter
) -> Kernel:
    """What asks the agent of a setup, compiled unless asked not to."""
    if RETURNS in record.found.topics:
        return performer(setup, compiled, name, show)
    return load_probe(copy_subject(setup.build(0)[0]), _states(setup), compiled, name, show)


def ordered_look(setup: Setup, record: Record) -> CompileOrder:
    """What looks at the agent of a setup, to be left in the cache by another process."""
    return CompileOrder(partial(compile_look, record), setup, partial(_look_is_compiled, record))


def compile_look(record: Record, setup: Setup) -> None:
    """Leave what looks at the agent of a setup in the cache."""
    compiled_look(setup, record, True, "", Silent())


def _look_is_compiled(record: Record, setup: Setup) -> bool:
    if RETURNS in record.found.topics:
        return is_compiled(perform_discounted, _no_episodes(setup))
    return is_probe_compiled(copy_subject(setup.build(0)[0]), _states(setup))


def recorded(
    setup: Setup, number: int, loop: Kernel, asker: Kernel, control: np.ndarray, record: Record,
    on_start: Callable[[Stop], None] = lambda stop: None,
) -> tuple[np.ndarray, Stop]:  # fmt: skip
    """The curve (M,) of one run, NaN from a divergence on, and where the run stopped."""
    when, found = record.schedule(setup), record.found
    options = dict(record.options)
    asked = tuple(topic for topic in found.topics if topic in ("values", "preferences"))
    states = _states(setup) if asked else None
    seen = _nothing_seen(setup, record, when)
    for row, stop in enumerate(drive(setup, number, loop, control, when.at)):
        on_start(stop)
        if stop.status != DONE:
            continue
        if states is not None:
            answers = probe_agent(asker, copy_subject(stop.run), states, asked)
            for topic in asked:
                getattr(seen, topic)[row] = getattr(answers, topic)
        if "work" in found.topics:
            seen.work[row] = count_backups(stop.run.agent)
        if RETURNS in found.topics:
            phase = int(when.phases[row])
            episodes = record.episodes
            seen.returns[row] = earned(asker, setup, stop.run, number, phase, episodes, control)
    domain = setup.for_run(number).domain
    return found.of(domain, setup.agent, seen, **options), stop


def _nothing_seen(setup: Setup, record: Record, when: Schedule) -> Seen:
    """Arrays of NaN for all that the looks of a run ask for, empty for what they do not."""
    topics, looks, states = record.found.topics, when.at.size, 0
    if {"values", "preferences"} & set(topics):
        states = setup.domain.states or len(_states(setup).state_indices)
    shapes: dict[str, tuple[int, ...]] = {
        "values": (looks, states),
        "preferences": (looks, states, setup.domain.actions),
        "work": (looks,),
        RETURNS: (looks, record.episodes),
    }
    answers = {
        topic: full(shape if topic in topics else (0,) * len(shape), np.nan)
        for topic, shape in shapes.items()
    }
    return Seen(phases=when.phases, **answers)


def levels_of(setup: Setup, record: Record) -> tuple[Level, ...]:
    """The lines to hold a record against, joined where they go on from phase to phase.

    Where every run has a domain of its own, no one number can be told.
    """
    lines, levels, start = list[Level](), record.found.levels, 0.0
    if levels is not None and setup.for_run(0) is setup:
        lengths = _phases(setup)
        known = levels(setup.domain, setup.agent, len(lengths), **dict(record.options))
        for length, heights in zip(lengths, known, strict=True):
            for name, height in heights.items():
                ending = [line for line in lines if (line.name, line.end) == (name, start)]
                if ending and ending[0].height == height:
                    lines[lines.index(ending[0])] = ending[0]._replace(end=start + length)
                else:
                    lines.append(Level(start, start + length, height, name))
            start += length
    return (*lines, *_course_lines(setup, record))


def _course_lines(setup: Setup, record: Record) -> list[Level]:
    """What should be seen, from look to look."""
    if record.found.course is None:
        return []
    at = record.schedule(setup).at
    return [
        Level(float(at[m]), float(at[m + 1]), float(expected[m]), name, float(expected[m + 1]))
        for name, expected in record.found.course(setup.domain, at).items()
        for m in range(at.size - 1)
        if np.isfinite(expected[m : m + 2]).all()
    ]


def _states(setup: Setup) -> States:
    """What looks ask about: all states or, where they have no numbers, those of known value."""
    if setup.domain.states is not None:
        return all_states(setup.domain.states)
    known = setup.domain.reference_values(setup.agent.discount)
    if known is None:
        raise ValueError(
            f"record: a look asks about all states, and {type(setup.domain).__name__} does not "
            "number its states, nor knows what some of them are worth"
        )
    return States(known.observations, np.full(len(known.values), -1))


def performer(setup: Setup, compiled: bool | None, name: str, show: Reporter) -> Kernel:
    """What acts greedily for the agent of a setup, compiled unless asked not to."""
    if setup.domain.external:
        raise ValueError(
            f"record: a look by episodes needs a domain in compiled code, got {setup.domain!r}"
        )
    if not use_compiled(compiled):
        return perform_discounted
    arguments = _no_episodes(setup)
    dry_run(setup, arguments[0], arguments[3], perform)
    return compile_for(perform_discounted, arguments, f"{name}, greedily", show)


def _no_episodes(setup: Setup) -> tuple[Run, Budget, float, Streams, np.ndarray]:
    """Arguments with which nothing is performed."""
    run = _judged_copy(setup, setup.build(0)[0], 0, 0)
    return run, Budget(0, 0, 1), 1.0, evaluation_streams(setup.seed, 0), new_control()


def earned(
    kernel: Kernel,
    setup: Setup,
    run: Run,
    number: int,
    phase: int,
    episodes: int,
    control: np.ndarray,
) -> np.ndarray:
    """Discounted returns (episodes,) of the agent of a run in one phase; NaN if it has diverged.

    Setting ``control[0]`` stops it.
    """
    aside, streams = (
        _judged_copy(setup, run, phase, episodes),
        evaluation_streams(setup.seed, number),
    )
    budget = setup.budget()._replace(episodes=episodes)
    status = kernel(aside, budget, float(setup.agent.discount), streams, control)
    if status >= NOT_FINITE:
        raise contract_error(aside, status)
    return aside.returns if status == DONE else np.full(episodes, np.nan)


def _judged_copy(setup: Setup, run: Run, phase: int, episodes: int) -> Run:
    """A copy of all of a run at the beginning of an episode, where agents are judged."""
    aside = copy.deepcopy(run)._replace(
        clock=np.zeros_like(run.clock),
        returns=np.full(episodes, np.nan),
        lengths=np.zeros(episodes, np.int64),
    )
    setup.domain.prepare_evaluation(aside.domain, phase)
    return aside
