"""Which claims depend on which reading: change one reading at a time, from each named set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from expectant.lab.cells import Cell
from expectant.lab.claims import Verdict
from expectant.lab.engines.compute import compute
from expectant.lab.reproduce import verdicts_of
from expectant.lab.store.results import panels_of
from expectant.lab.store.store import Store
from expectant.lab.study import Option, Reading, Study


@dataclass(frozen=True)
class Variant:
    """A named set of a study with at most one reading changed."""

    study: Study
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
        for figure in self.study.figures:
            if self.named_set not in self.study.sets_of(figure):
                continue
            if self.reading is None or self.reading.concerns(figure):
                experiment = self.study.experiment(figure, self.named_set, instead=instead)
                found += replace(experiment, seed=seed).cells(self.name)
        return found


def variants(study: Study) -> list[Variant]:
    """Each named set as it is, then with every other option of every reading."""
    found = []
    for named_set in study.sets:
        found.append(Variant(study, named_set))
        for reading in study.readings:
            chosen = reading.chosen(named_set)
            found += [
                Variant(study, named_set, reading, option)
                for option in reading.options
                if option is not chosen
            ]
    return found


def dependence(
    study: Study, folder: Path, seed: int = 0, threads: int | None = None
) -> list[tuple[Variant, list[Verdict]]]:
    """The verdicts of every variant on the claims that its changed reading concerns."""
    chosen = variants(study)
    cells = [cell for variant in chosen for cell in variant.cells(seed)]
    curves = compute(cells, Store(folder), threads=threads, title="one reading at a time")
    panels = panels_of(cells, curves)
    return [
        (variant, verdicts_of(study, [panel for panel in panels if panel.reading == variant.name]))
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
