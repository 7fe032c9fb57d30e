"""Many readings changed at once: which claims can hold together, under any reading at all?

Most readings concern several agents; together they are a *context*. The others concern one agent
each. In every context that is drawn two options of those are drawn for each agent and combined with
those of the other agents, so that an agent is computed once for several combinations. Combinations
that differ in nothing that matters to a claim are one *setting* of it. Where a claim is about one
agent alone, all of its settings can be tried.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.panel import Panel
from expectant.lab.cells import Cell
from expectant.lab.claims import Claim, Verdict, chance_together, judge_claims
from expectant.lab.engines.compute import compute
from expectant.lab.specs.spec import Experiment
from expectant.lab.store.results import panels_of
from expectant.lab.store.store import Store
from expectant.lab.study import Reading, ReadingOption, Study

OWN = 2  # draws of an agent's own options in a context
DRAWS = 20  # of features that are the same in all runs
MOST_ALONE = 1000  # settings of one agent, all of which are tried

Chosen = dict[str, str]  # the option of every reading, by name
Draws = list[tuple[str, ...]]


@dataclass(frozen=True)
class Joint:
    """A search among the readings of some figures, with so many ``runs`` of every combination.

    ``published`` are the claims that describe the figures as they were published. Episodes end at
    the ``step_limit``, if there is one. ``known`` are curves of agents, ``judged`` verdicts, by
    what decides them.
    """

    study: Study
    figures: tuple[str, ...]
    runs: int
    seed: int = 0
    published: tuple[int, ...] = ()
    step_limit: int | None = None
    known: dict[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    judged: dict[Any, Verdict] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def readings(self) -> list[Reading]:
        """Those that make a difference to some agent here, with many draws of features."""
        return [_with_draws(one) for one in self.study.readings if self.touched[one.name]]

    @cached_property
    def touched(self) -> dict[str, frozenset[str]]:
        """The agents that each reading makes a difference to."""
        return {
            reading.name: frozenset(
                cell.agent_key
                for figure in self.figures
                if reading.concerns(figure)
                for option in reading.options
                for cell, base in zip(
                    self.study.experiments[figure].changed(option.changes).cells(),
                    self.study.experiments[figure].changed(reading.options[0].changes).cells(),
                    strict=True,
                )
                if cell.identity() != base.identity()
            )
            for reading in self.study.readings
        }

    @cached_property
    def groups(self) -> list[list[Reading]]:
        """The readings of the context, and then those of every single agent."""
        found: dict[frozenset[str], list[Reading]] = {frozenset(): []}
        for reading in self.readings:
            agents = self.touched[reading.name]
            found.setdefault(agents if len(agents) == 1 else frozenset(), []).append(reading)
        return list(found.values())

    @property
    def claims(self) -> list[Claim]:
        """Those that can be judged from these figures."""
        return [
            claim
            for claim in self.study.claims
            if claim.clauses
            and all((clause.figure or claim.figure) in self.figures for clause in claim.clauses)
        ]

    @cached_property
    def matters(self) -> dict[int, tuple[str, ...]]:
        """The readings that make a difference to the agents that each claim is about."""
        return {
            claim.id: tuple(r.name for r in self.readings if self.touched[r.name] & _agents(claim))
            for claim in self.claims
        }

    @cached_property
    def alone(self) -> dict[str, list[Claim]]:
        """The claims about one agent alone, by agent, if all of its settings can be tried."""
        found: dict[str, list[Claim]] = {}
        for claim in self.claims:
            agent, *others = _agents(claim)
            if not others:
                found.setdefault(agent, []).append(claim)
        return {agent: own for agent, own in found.items() if self._size(agent) <= MOST_ALONE}

    def _size(self, agent: str) -> float:
        readings = [r for r in self.readings if agent in self.touched[r.name]]
        return float(np.prod([len(reading.options) for reading in readings], dtype=float))

    def settings(self, agent: str, count: int) -> list[Chosen]:
        """The settings of one agent, at most so many, in an order that is drawn once and for all.

        They have an option of those readings only that make a difference to it.
        """
        readings = [r for r in self.readings if agent in self.touched[r.name]]
        every = list(product(*([option.name for option in r.options] for r in readings)))
        order = np.random.Generator(np.random.PCG64(self.seed)).permutation(len(every))
        names = [reading.name for reading in readings]
        return [dict(zip(names, every[place], strict=True)) for place in order[:count]]

    def combinations(self, count: int, favoured: Sequence[Chosen] = ()) -> Iterator[Chosen]:
        """Context by context, those of the named sets first; no combination comes twice.

        Every second context after them has one of the ``favoured`` settings, if there are any.
        """
        seen: set[tuple[str, ...]] = set()
        possible = int(np.prod([len(reading.options) for reading in self.readings], dtype=float))
        rng = np.random.Generator(np.random.PCG64(self.seed))
        named = iter(self.study.sets if any(self.study.sets) else ())
        turns = cycle((False, True))
        while len(seen) < min(count, possible):
            named_set = next(named, None)
            likely = favoured if named_set is None and next(turns) else ()
            fixed = likely[int(rng.random() * len(likely))] if likely else {}
            for chosen in self._around(named_set, rng, fixed):
                key = tuple(chosen.values())
                if key not in seen and len(seen) < count:
                    seen.add(key)
                    yield chosen

    def _around(
        self, named_set: str | None, rng: np.random.Generator, fixed: Mapping[str, str]
    ) -> Iterator[Chosen]:
        """Combinations in one context: a named set's and the set itself first, or any with what is
        ``fixed``."""
        draws: list[Draws] = []
        for place, readings in enumerate(self.groups):
            options: Draws = []
            if named_set is not None:
                options.append(tuple(reading.chosen(named_set).name for reading in readings))
            most = int(np.prod([len(reading.options) for reading in readings], dtype=float))
            while len(options) < min(1 if place == 0 else OWN, most):
                drawn = tuple(fixed.get(r.name, _drawn(r, rng).name) for r in readings)
                if drawn not in options:
                    options.append(drawn)
            draws.append(options)
        names = [reading.name for readings in self.groups for reading in readings]
        for picked in product(*draws):
            found = dict(zip(names, (name for group in picked for name in group), strict=True))
            yield {reading.name: found[reading.name] for reading in self.readings}

    def experiment(self, figure: str, chosen: Mapping[str, str]) -> Experiment:
        """A figure under a combination, or under the first options where it has none."""
        experiment = self.study.experiments[figure]
        for reading in self.readings:
            if reading.concerns(figure):
                name = chosen.get(reading.name, reading.options[0].name)
                experiment = experiment.changed(_named(reading, name).changes)
        limit = self.step_limit or experiment.step_limit
        return replace(experiment, runs=self.runs, seed=self.seed, step_limit=limit)

    def rows(
        self, combinations: Sequence[Chosen], threads: int | None, title: str, agent: str = ""
    ) -> list[dict[str, Any]]:
        """What came of some combinations: verdict, effect and chance of every claim.

        Or of settings of one ``agent``, and of the claims about it alone. ``shown`` is the chance
        that one figure of the published size shows all that was published.
        """
        cells = [
            cell
            for number, chosen in enumerate(combinations)
            for figure in self.figures
            for cell in self.experiment(figure, chosen).cells(str(number))
            if agent in ("", cell.agent_key)
        ]
        panels = panels_of(cells, self._curves(cells, threads, title))
        rows = []
        for number, chosen in enumerate(combinations):
            own = [panel for panel in panels if panel.reading == str(number)]
            found = self._verdicts(chosen, own, self.alone[agent] if agent else self.claims)
            rows.append(
                {
                    "readings": dict(chosen),
                    "agent": agent,
                    "verdicts": {verdict.id: verdict.verdict for verdict in found},
                    "effects": {verdict.id: round(verdict.effect, 4) for verdict in found},
                    "chances": {verdict.id: verdict.chance for verdict in found},
                    "shown": 0.0 if agent else self._shown(found, own),
                    "runs": self.runs,
                    "seed": self.seed,
                }
            )
        return rows

    def _verdicts(
        self, chosen: Chosen, panels: Sequence[Panel], claims: Sequence[Claim]
    ) -> list[Verdict]:
        """The verdicts on claims; what is the same setting of one is judged once."""
        found = []
        for claim in claims:
            key = (claim.id, *(chosen[name] for name in self.matters[claim.id]))
            if key not in self.judged:
                (self.judged[key],) = judge_claims([claim], panels, None, self.study.sizes)
            found.append(self.judged[key])
        return found

    def _shown(self, found: Sequence[Verdict], panels: Sequence[Panel]) -> float:
        """A figure that never shows one of the published claims never shows all of them."""
        if any(verdict.chance == 0.0 for verdict in found if verdict.id in self.published):
            return 0.0
        published = [claim for claim in self.claims if claim.id in self.published]
        return chance_together(published, panels, self.study.sizes)

    def _curves(self, cells: Sequence[Cell], threads: int | None, title: str) -> list[np.ndarray]:
        """The curves of cells; those of agents that earlier combinations had are at hand."""
        names = [json.dumps(cell.identity(), sort_keys=True) for cell in cells]
        missing = {n: c for n, c in zip(names, cells, strict=True) if n not in self.known}
        if missing:
            with tempfile.TemporaryDirectory() as folder:  # in the end they would be many files
                store = Store(Path(folder))
                curves = compute(list(missing.values()), store, threads=threads, title=title)
            self.known.update(zip(missing, curves, strict=True))
        return [self.known[name] for name in names]


def _named(reading: Reading, name: str) -> ReadingOption:
    return next(option for option in reading.options if option.name == name)


def _agents(claim: Claim) -> frozenset[str]:
    """The agents that a claim is about."""
    return frozenset(key for clause in claim.clauses for key in (*clause.of, *clause.minus))


def _is_draw(option: ReadingOption) -> bool:
    """Whether it is one draw of the features, the same in all runs."""
    return isinstance(option.changes.features.get("draw"), int)


def _with_draws(reading: Reading) -> Reading:
    """The reading with many draws of features where it has some, since each is another figure."""
    fixed = {o.changes.features["draw"]: o for o in reading.options if _is_draw(o)}
    if not fixed:
        return reading
    first = next(iter(fixed.values()))
    stem = first.name.rpartition(" ")[0]
    more = [
        fixed.get(number)
        or replace(
            first,
            name=f"{stem} {number}",
            sets=(),
            changes=replace(first.changes, features={**first.changes.features, "draw": number}),
        )
        for number in range(DRAWS)
    ]
    others = [option for option in reading.options if not _is_draw(option)]
    return replace(reading, options=(*others, *more))


def _drawn(reading: Reading, rng: np.random.Generator) -> ReadingOption:
    """One of the options; all draws of the features together are as likely as another option."""
    fixed = [option for option in reading.options if _is_draw(option)]
    others = [option for option in reading.options if not _is_draw(option)]
    place = int(rng.random() * (len(others) + bool(fixed)))
    return others[place] if place < len(others) else fixed[int(rng.random() * len(fixed))]
