"""Many readings changed at once: which claims can hold together, under any reading at all?

Combinations of options are drawn at random, the named sets first. What came of each is a line of a
file, so that the same command goes on where it was.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from expectant.files import write_text
from expectant.lab.claims import Claim, evaluate
from expectant.lab.engines.compute import compute
from expectant.lab.specs.spec import Experiment
from expectant.lab.store.results import panels_of
from expectant.lab.store.store import Store
from expectant.lab.study import Option, Reading, Study
from expectant.progress import say

ROWS = "joint.jsonl"
BATCH = 4  # combinations that are computed together, and lost together if it is stopped


@dataclass(frozen=True)
class Joint:
    """A search among the readings of some figures, with so many ``runs`` of every combination."""

    study: Study
    figures: tuple[str, ...]
    runs: int
    seed: int = 0

    @property
    def readings(self) -> list[Reading]:
        """Those that matter here and have more than one option."""
        return [
            reading
            for reading in self.study.readings
            if any(reading.concerns(figure) for figure in self.figures)
        ]

    @property
    def claims(self) -> list[Claim]:
        """Those that can be judged from these figures."""
        return [
            claim
            for claim in self.study.claims
            if claim.clauses
            and all((clause.figure or claim.figure) in self.figures for clause in claim.clauses)
        ]

    def combinations(self, count: int) -> Iterator[dict[str, str]]:
        """The named sets, and then combinations drawn at random, none of them twice."""
        seen: set[tuple[str, ...]] = set()
        possible = int(np.prod([len(reading.options) for reading in self.readings], dtype=float))
        rng = np.random.Generator(np.random.PCG64(self.seed))
        named = iter(self.study.sets if any(self.study.sets) else ())
        while len(seen) < min(count, possible):
            named_set = next(named, None)
            chosen = tuple(
                reading.options[int(rng.random() * len(reading.options))].name
                if named_set is None
                else reading.chosen(named_set).name
                for reading in self.readings
            )
            if chosen not in seen:
                seen.add(chosen)
                names = (reading.name for reading in self.readings)
                yield dict(zip(names, chosen, strict=True))

    def experiment(self, figure: str, chosen: Mapping[str, str]) -> Experiment:
        """A figure under a combination."""
        experiment = self.study.experiments[figure]
        for reading in self.readings:
            if reading.concerns(figure):
                experiment = experiment.changed(_named(reading, chosen[reading.name]).changes)
        return replace(experiment, runs=self.runs, seed=self.seed)

    def rows(
        self, combinations: Sequence[Mapping[str, str]], threads: int | None
    ) -> list[dict[str, Any]]:
        """What came of some combinations: the verdict on every claim, and its chance."""
        cells = [
            cell
            for number, chosen in enumerate(combinations)
            for figure in self.figures
            for cell in self.experiment(figure, chosen).cells(str(number))
        ]
        with tempfile.TemporaryDirectory() as folder:  # a thousand of them would be many files
            curves = compute(cells, Store(Path(folder)), threads=threads, title="joint readings")
        sizes = {name: experiment.runs for name, experiment in self.study.experiments.items()}
        found = evaluate(self.claims, panels_of(cells, curves), None, sizes)
        return [
            {
                "readings": dict(chosen),
                "verdicts": {v.id: v.verdict for v in found if v.reading == str(number)},
                "chances": {v.id: v.chance for v in found if v.reading == str(number)},
                "runs": self.runs,
                "seed": self.seed,
            }
            for number, chosen in enumerate(combinations)
        ]


def _named(reading: Reading, name: str) -> Option:
    return next(option for option in reading.options if option.name == name)


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
    for start in range(0, len(missing), BATCH):
        for row in joint.rows(missing[start : start + BATCH], threads):
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            known[_key(row)] = json.loads(json.dumps(row))
        say(f"{min(start + BATCH, len(missing))} of {len(missing)} combinations")
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


def answer(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the rows say: how often each claim holds, and which hold together."""
    claims = sorted({int(claim) for row in rows for claim in row["verdicts"]})
    held = [
        frozenset(int(claim) for claim, found in row["verdicts"].items() if found == "holds")
        for row in rows
    ]
    most = max(map(len, held), default=0)
    pairs = {
        f"{one} and {other}": sum({one, other} <= found for found in held)
        for one in claims
        for other in claims
        if one < other
    }
    return {
        "combinations": len(rows),
        "claims": {
            claim: {
                "holds": sum(claim in found for found in held),
                **Counter(
                    row["verdicts"][str(claim)] for row in rows if str(claim) in row["verdicts"]
                ),
            }
            for claim in claims
        },
        "never_together": [pair for pair, count in pairs.items() if not count],
        "all_together": sum(len(found) == len(claims) for found in held),
        "most_together": most,
        "best": [
            {"claims": sorted(found), "readings": row["readings"]}
            for row, found in zip(rows, held, strict=True)
            if len(found) == most
        ][:10],
    }
