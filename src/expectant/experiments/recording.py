"""Records: curves of an agent's knowledge, probed on a schedule during a run.

A record names a probe and says how often it is taken. It asks a copy of the agent about all states
of the domain (those of known value, where states are not numbered); the numbers that the probe
computes from the answers are the curve of the run.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from expectant.analysis.panel import Level
from expectant.backups.state_action_pairs import count_backups
from expectant.core.memory import full
from expectant.core.rng import Streams, evaluation_streams
from expectant.core.rules import Rule, at_least, whole
from expectant.engine.driver import Stop, advance, drive
from expectant.engine.evaluate import act_greedily
from expectant.engine.loop import DONE, Run
from expectant.engine.probe import (
    States,
    all_states,
    copy_subject,
    is_probe_compiled,
    load_probe,
    probe_agent,
)
from expectant.engine.progress import Reporter, Silent
from expectant.engine.setup import UNLIMITED, Setup, is_loop_compiled, load_loop
from expectant.engine.workers import CompileOrder
from expectant.experiments.probes import RETURNS, Probe, Seen, find_probe
from expectant.experiments.toml_tables import check_known
from expectant.jit.compile import Kernel


@dataclass(frozen=True)
class Record:
    """A probe with its options and schedule: ``every`` n episodes or steps, from ``after`` on.

    Every interval is ``growth`` times as long as the one before.
    """

    probe: str
    every: int = 1
    options: tuple[tuple[str, object], ...] = ()
    after: int = 0
    growth: float = 1.0

    def to_dict(self) -> dict[str, object]:
        after = {"after": self.after} if self.after else {}
        growth = {"growth": self.growth} if self.growth != 1.0 else {}
        return {"probe": self.probe, "every": self.every, **after, **growth, **dict(self.options)}

    @property
    def episodes(self) -> int:
        """The number of episodes that a probe runs."""
        return cast(int, dict(self.options).get("episodes", 0))

    @property
    def definition(self) -> Probe:
        return find_probe(self.probe)

    def schedule(self, setup: Setup) -> tuple[np.ndarray, np.ndarray]:
        """Return the moments (M,) of probes, in episodes or steps, and the phases (M,) they are in.

        Every phase has its first moment, regular ones and its end. At the border of two phases one
        probe belongs to each of them: both see the same agent, before and after the change.
        """
        at, phases, first = list[int](), list[int](), 0
        for phase, length in enumerate(setup.phase_lengths):
            moment, interval = float(min(length, max(0, self.after - first))), float(self.every)
            while round(moment) < length:
                at.append(first + round(moment))
                moment += interval
                interval *= self.growth
            first += length
            at.append(first)
            phases += [phase] * (len(at) - len(phases))
        return np.array(at), np.array(phases)


def parse_record(data: Mapping[str, Any]) -> Record:
    """Read a record from a table of a config file."""
    table = dict(data)
    probe = find_probe(table.pop("probe", None))
    rules: dict[str, Rule[Any]] = {"every": whole(1), "after": whole(0), "growth": at_least(1.0)}
    rules |= dict.fromkeys(probe.options, whole(1))
    check_known("unknown", table, [*rules], "record")
    for name, value in table.items():
        table[name] = rules[name].check("record", name, value)
    options = {name: table.pop(name, default) for name, default in probe.options.items()}
    return Record(probe.name, options=tuple(sorted(options.items())), **table)


def record_levels(setup: Setup, record: Record) -> tuple[Level, ...]:
    """Return the reference lines of a record, joined where they continue from phase to phase.

    There are none if every run has a domain of its own. The expected curve of a probe is drawn from
    moment to moment. Lines count from the first probe on.
    """
    lines, probe, start = list[Level](), record.definition, 0.0
    for phase, length in enumerate(setup.phase_lengths if setup.for_run(0) is setup else []):
        levels = probe.levels(setup.domain, setup.agent, phase, **dict(record.options))
        for name, height in levels.items():
            ends = [(line.name, line.end, line.height) for line in lines]
            if (name, start, height) in ends:
                continued = ends.index((name, start, height))
                lines[continued] = lines[continued]._replace(end=start + length)
            else:
                lines.append(Level(start, start + length, height, name))
        start += length
    at, after = record.schedule(setup)[0], record.after
    expected = probe.expected(setup.domain, at)
    if expected is not None:
        segments = np.stack([at[:-1], at[1:], expected[:-1], expected[1:]], axis=1)
        lines += [
            Level(begin, end, height, "exact, on average", last)
            for begin, end, height, last in segments[np.isfinite(segments).all(axis=1)].tolist()
        ]
    return tuple(
        line._replace(start=max(0.0, line.start - after), end=line.end - after)
        for line in lines
        if line.end > after
    )


# -------------------------------------------------------------------------------------- one run


def record_run(
    setup: Setup, number: int, loop: Kernel, kernel: Kernel, control: np.ndarray, record: Record,
    on_start: Callable[[Stop], None] = lambda stop: None,
) -> tuple[np.ndarray, Stop]:  # fmt: skip
    """Return the curve (M,) of one run, NaN after a divergence, and where the run stopped."""
    (at, phases), probe = record.schedule(setup), record.definition
    asked = tuple(topic for topic in probe.topics if topic in ("values", "preferences"))
    states = _states(setup) if asked else States(np.zeros((0, 0)), np.zeros(0))
    count = len(states.state_indices)
    shapes: dict[str, tuple[int, ...]] = {
        "values": (count,),
        "preferences": (count, setup.domain.actions),
        "work": (),
        RETURNS: (record.episodes,),
    }
    answers = {topic: full((at.size, *shapes[topic]), np.nan) for topic in probe.topics}
    for row, stop in enumerate(drive(setup, number, loop, control, at)):
        on_start(stop)
        if stop.status != DONE:
            continue
        if asked:
            given = probe_agent(kernel, copy_subject(stop.run), states, asked)
            for topic in asked:
                answers[topic][row] = getattr(given, topic)
        if "work" in probe.topics:
            answers["work"][row] = count_backups(stop.run.agent)
        if RETURNS in probe.topics:
            answers[RETURNS][row] = evaluate_copy(
                kernel, setup, stop.run, number, int(phases[row]), record.episodes, control
            )
    domain, seen = setup.for_run(number).domain, Seen(phases=phases, **answers)
    return probe.of(domain, setup.agent, seen, **dict(record.options)), stop


def _states(setup: Setup) -> States:
    """Return all states or, where they are not numbered, those of known value."""
    if setup.domain.states is not None:
        return all_states(setup.domain.states)
    references = setup.domain.reference_values(setup.agent.discount)
    if references is None:
        raise ValueError(
            f"record: a probe asks about all states, and {type(setup.domain).__name__} neither "
            "numbers its states nor knows the values of some"
        )
    return States(references.observations, np.full(len(references.values), -1))


def evaluate_copy(
    kernel: Kernel, setup: Setup, run: Run, number: int, phase: int, episodes: int,
    control: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return discounted returns (episodes,) of a run's agent in one phase; NaN if it diverged.

    Setting ``control[0]`` stops it.
    """
    evaluated = _copy_for_evaluation(setup, run, phase, episodes)
    streams = evaluation_streams(setup.seed, number)
    budget = setup.budget()._replace(episodes=episodes, steps=UNLIMITED)
    evaluated, status = advance(kernel, evaluated, budget, streams, control)
    return evaluated.agent.returns if status == DONE else np.full(episodes, np.nan)


def _copy_for_evaluation(setup: Setup, run: Run, phase: int, episodes: int) -> Run:
    """Copy a run and put it at the beginning of an episode of a phase."""
    evaluated = act_greedily(copy.deepcopy(run), episodes, float(setup.agent.discount))
    setup.domain.prepare_evaluation(evaluated.domain, phase)
    return evaluated


# ---------------------------------------------------------------------------------------- kernels


def load_kernel(
    setup: Setup, record: Record, compiled: bool | None, name: str, show: Reporter
) -> Kernel:
    """Return the function that probes the agent of a setup, compiled unless asked not to."""
    if RETURNS not in record.definition.topics:
        return load_probe(copy_subject(setup.build(0)[0]), _states(setup), compiled, name, show)
    if setup.domain.external:
        raise ValueError(
            f"record: a probe by episodes needs a domain in compiled code, got {setup.domain!r}"
        )
    return load_loop(setup, compiled, f"{name}, greedily", show, _first_evaluation(setup))


def order_kernel(setup: Setup, record: Record) -> CompileOrder:
    """Return the order to compile the kernel of a record in another process."""
    load = partial(load_kernel, record=record, compiled=True, name="", show=Silent())
    return CompileOrder(load, setup, partial(_has_kernel, record))


def _has_kernel(record: Record, setup: Setup) -> bool:
    if RETURNS in record.definition.topics:
        return is_loop_compiled(setup, _first_evaluation(setup))
    return is_probe_compiled(copy_subject(setup.build(0)[0]), _states(setup))


def _first_evaluation(setup: Setup) -> tuple[Run, Streams]:
    run = _copy_for_evaluation(setup, setup.build(0)[0], 0, 0)
    return run, evaluation_streams(setup.seed, 0)
