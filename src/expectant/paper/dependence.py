"""Which claims depend on which reading: change one reading at a time, from each named set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from expectant.analysis.claims import Verdict
from expectant.experiments.compute import compute
from expectant.experiments.results import panels_of
from expectant.experiments.spec import Cell
from expectant.experiments.store import Store
from expectant.paper.figures import FIGURES, SETS, Option, Reading, read, readings
from expectant.paper.reproduce import verdicts_of


@dataclass(frozen=True)
class Variant:
    """A named set with at most one reading changed."""

    named_set: str
    reading: Reading | None = None
    option: Option | None = None

    @property
    def name(self) -> str:
        if self.reading is None or self.option is None:
            return self.named_set
        return f"{self.named_set}, {self.reading.name}: {self.option.name}"

    def cells(self, seed: int) -> list[Cell]:
        """The cells of all figures that the changed reading concerns."""
        instead = (self.reading, self.option) if self.reading and self.option else None
        found = []
        for figure in FIGURES:
            if self.reading is None or self.reading.concerns(figure):
                experiment = replace(read(figure, self.named_set, instead=instead), seed=seed)
                found += experiment.cells(self.name)
        return found


def variants() -> list[Variant]:
    """Each named set as it is, then with every other option of every reading."""
    found = []
    for named_set in SETS:
        found.append(Variant(named_set))
        for reading in readings():
            chosen = reading.chosen(named_set)
            found += [
                Variant(named_set, reading, option)
                for option in reading.options
                if option is not chosen
            ]
    return found


def dependence(
    folder: Path, seed: int = 0, threads: int | None = None
) -> list[tuple[Variant, list[Verdict]]]:
    """The verdicts of every variant on the claims that its changed reading concerns."""
    chosen = variants()
    cells = [cell for variant in chosen for cell in variant.cells(seed)]
    curves = compute(cells, Store(folder), threads=threads, title="one reading at a time")
    panels = panels_of(cells, curves)
    return [
        (variant, verdicts_of([panel for panel in panels if panel.reading == variant.name]))
        for variant in chosen
    ]


def as_rows(results: Sequence[tuple[Variant, list[Verdict]]]) -> list[dict[str, object]]:
    """One row per variant: claim id to verdict, and which differ from the named set's."""
    base = {
        variant.named_set: {verdict.id: verdict.verdict for verdict in found}
        for variant, found in results
        if variant.reading is None
    }
    rows: list[dict[str, object]] = []
    for variant, found in results:
        verdicts = {verdict.id: verdict.verdict for verdict in found}
        changed = [key for key, value in verdicts.items() if base[variant.named_set][key] != value]
        rows.append(
            {
                "set": variant.named_set,
                "reading": variant.reading.name if variant.reading else None,
                "option": variant.option.name if variant.option else None,
                "verdicts": verdicts,
                "changed": changed,
            }
        )
    return rows
