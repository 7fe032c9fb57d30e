"""Many readings changed at once: which claims can hold together, under any reading at all?

Most readings concern several agents; together they are a *context*. The others concern one agent
each. In every context that is drawn a few options of those are drawn for each agent and combined
with those of the other agents, so that an agent is computed once for many combinations. What came
of each combination is a line of a file, so that the same command goes on where it was.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from expectant.files import write_text
from expectant.lab.cells import Cell
from expectant.lab.claims import Claim, chance_together, evaluate
from expectant.lab.engines.compute import compute
from expectant.lab.specs.spec import Experiment
from expectant.lab.store.results import panels_of
from expectant.lab.store.store import Store
from expectant.lab.study import Option, Reading, Study
from expectant.progress import duration, say

ROWS = "joint.jsonl"
OWN = 3  # draws of an agent's own options in a context
BATCH = 18  # combinations that are computed together, and lost together if it is stopped

Chosen = dict[str, str]  # the option of every reading, by name
Draws = list[tuple[str, ...]]


@dataclass(frozen=True)
class Joint:
    """A search among the readings of some figures, with so many ``runs`` of every combination.

    ``published`` are the claims that describe the figures as they were published. ``known`` are
    curves of agents, by what decides them.
    """

    study: Study
    figures: tuple[str, ...]
    runs: int
    seed: int = 0
    published: tuple[int, ...] = ()
    known: dict[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    @property
    def readings(self) -> list[Reading]:
        """Those that make a difference to some agent here."""
        return [reading for reading in self.study.readings if self.touched[reading.name]]

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

    def combinations(self, count: int) -> Iterator[Chosen]:
        """Context by context, those of the named sets first; no combination comes twice."""
        seen: set[tuple[str, ...]] = set()
        possible = int(np.prod([len(reading.options) for reading in self.readings], dtype=float))
        rng = np.random.Generator(np.random.PCG64(self.seed))
        named = iter(self.study.sets if any(self.study.sets) else ())
        while len(seen) < min(count, possible):
            for chosen in self._around(next(named, None), rng):
                key = tuple(chosen.values())
                if key not in seen and len(seen) < count:
                    seen.add(key)
                    yield chosen

    def _around(self, named_set: str | None, rng: np.random.Generator) -> Iterator[Chosen]:
        """Combinations in one context: a named set's and the set itself first, or any."""
        draws: list[Draws] = []
        for place, readings in enumerate(self.groups):
            options: Draws = []
            if named_set is not None:
                options.append(tuple(reading.chosen(named_set).name for reading in readings))
            most = int(np.prod([len(reading.options) for reading in readings], dtype=float))
            while len(options) < min(1 if place == 0 else OWN, most):
                drawn = tuple(
                    reading.options[int(rng.random() * len(reading.options))].name
                    for reading in readings
                )
                if drawn not in options:
                    options.append(drawn)
            draws.append(options)
        names = [reading.name for readings in self.groups for reading in readings]
        for picked in product(*draws):
            found = dict(zip(names, (name for group in picked for name in group), strict=True))
            yield {reading.name: found[reading.name] for reading in self.readings}

    def experiment(self, figure: str, chosen: Mapping[str, str]) -> Experiment:
        """A figure under a combination."""
        experiment = self.study.experiments[figure]
        for reading in self.readings:
            if reading.concerns(figure):
                experiment = experiment.changed(_named(reading, chosen[reading.name]).changes)
        return replace(experiment, runs=self.runs, seed=self.seed)

    def rows(
        self, combinations: Sequence[Chosen], threads: int | None, title: str
    ) -> list[dict[str, Any]]:
        """What came of some combinations: verdict, effect and chance of every claim.

        ``shown`` is the chance that one figure of the published size shows all that was published.
        """
        cells = [
            cell
            for number, chosen in enumerate(combinations)
            for figure in self.figures
            for cell in self.experiment(figure, chosen).cells(str(number))
        ]
        panels = panels_of(cells, self._curves(cells, threads, title))
        sizes = self.study.sizes
        published = [claim for claim in self.claims if claim.id in self.published]
        rows = []
        for number, chosen in enumerate(combinations):
            own = [panel for panel in panels if panel.reading == str(number)]
            found = evaluate(self.claims, own, None, sizes)
            rows.append(
                {
                    "readings": dict(chosen),
                    "verdicts": {verdict.id: verdict.verdict for verdict in found},
                    "effects": {verdict.id: round(verdict.effect, 4) for verdict in found},
                    "chances": {verdict.id: verdict.chance for verdict in found},
                    "shown": chance_together(published, own, sizes),
                    "runs": self.runs,
                    "seed": self.seed,
                }
            )
        return rows

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


def _named(reading: Reading, name: str) -> Option:
    return next(option for option in reading.options if option.name == name)


def of_figure_5(study: Study, runs: int, seed: int = 0) -> Joint:
    """The search among the readings of the paper's figure 5, which claims 10 to 17 describe."""
    return Joint(study, ("5a", "5b"), runs, seed, tuple(range(10, 18)))


def search(joint: Joint, folder: Path, count: int, threads: int | None) -> list[dict[str, Any]]:
    """The rows of so many combinations; those that a folder has already are taken from there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ROWS
    there = read_rows(path)
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in there))
    known = {_key(row): row for row in there}
    wanted = list(joint.combinations(count))
    keys = [_key({"readings": chosen, "runs": joint.runs, "seed": joint.seed}) for chosen in wanted]
    missing = [c for c, key in zip(wanted, keys, strict=True) if key not in known]
    start, before = time.perf_counter(), len(wanted) - len(missing)
    for first in range(0, len(missing), BATCH):
        batch, done = missing[first : first + BATCH], before + first
        title = f"combinations {done + 1:,} to {done + len(batch):,} of {len(wanted):,}"
        processor = time.process_time()
        rows = joint.rows(batch, threads, title)
        took = (time.process_time() - processor) / len(batch)
        rows = [{**row, "processor_seconds": round(took, 3)} for row in rows]
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        known.update((_key(row), json.loads(json.dumps(row))) for row in rows)
        mean = (time.perf_counter() - start) / (first + len(batch))
        left = mean * (len(missing) - first - len(batch))
        say(f"{done + len(batch):,} of {len(wanted):,} combinations, about {duration(left)} left")
    return [known[key] for key in keys]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; a last line that was not written to its end is left out."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text("utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


def _key(row: Mapping[str, Any]) -> str:
    return json.dumps([row["readings"], row["runs"], row["seed"]], sort_keys=True)
