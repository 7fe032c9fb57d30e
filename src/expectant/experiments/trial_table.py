"""All cells of a results folder as one table: settings, what came out, and what went wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.core.progress import say
from expectant.experiments.config_file import cells_hash
from expectant.experiments.grid import settings_of, word
from expectant.experiments.results_folder import versions
from expectant.experiments.runner import Work
from expectant.experiments.store import Facts, Span, facts_of_table, read_table, write_table
from expectant.experiments.trials import Trial

if TYPE_CHECKING:
    from expectant.report import Section

CELLS = "cells.parquet"
TOLD, LISTED = 10, 100  # cells in which something went wrong, by a command and on a page


class RunFacts(NamedTuple):
    """One run: the mean of its values, whether it diverged, what its model evicted, and why."""

    mean: float
    diverged: bool
    evicted: int
    divergence: str


def cell_table(work: Work) -> Any:
    """One row per cell, as an Arrow table.

    ``cell``, ``hash``, ``panel``, ``agent``, the names of those two in the spec (``base_panel``,
    ``base_agent``) and ``label``; a column for every setting that is not
    the same everywhere, such as ``domain.slip`` or ``agent.value_step``; ``runs`` that are there,
    how many ``diverged``, why the first of them did (``divergence``), how many entries their models
    ``evicted``, their ``mean`` (NaN if one diverged) and the list of ``values``: the mean of every
    run's curve.
    """
    import pyarrow as arrow

    cells, finished = work.cells, finished_runs(work)
    values = [[run.mean for run in runs] for runs in finished]
    columns: dict[str, Any] = {
        "cell": [cell.id for cell in cells],
        "hash": work.names,
        "panel": [cell.panel for cell in cells],
        "agent": [cell.agent_key for cell in cells],
        "base_panel": [cell.base_panel for cell in cells],
        "base_agent": [cell.base_agent for cell in cells],
        "label": [cell.label for cell in cells],
        **settings_columns(cells),
        "runs": [len(runs) for runs in finished],
        "diverged": [sum(run.diverged for run in runs) for runs in finished],
        "divergence": [next((r.divergence for r in runs if r.divergence), "") for runs in finished],
        "evicted": [sum(run.evicted for run in runs) for runs in finished],
        "mean": [float(np.mean(means)) if means else float("nan") for means in values],
        "values": arrow.array(values, arrow.list_(arrow.float64())),
    }
    return arrow.table(columns)


def write_cells(work: Work, folder: Path, spec: Mapping[str, Any] | None = None) -> None:
    """Write the table of all cells beside their blocks.

    Its metadata say which ``spec`` asked for them, and with which versions how many blocks were
    computed.
    """
    counts = Counter(
        json.dumps(facts.described["versions"], sort_keys=True) for _, facts in _blocks(work)
    )
    facts = {
        "cells_of": None if spec is None else cells_hash(spec),
        "versions": [[json.loads(text), count] for text, count in sorted(counts.items())],
        "accept_versions": work.store.accept_versions,
    }
    write_table(cell_table(work), folder / CELLS, facts)


def read_cells(folder: Path) -> Any:
    """The table that a sweep has written, as an Arrow table."""
    return read_table(folder / CELLS)


def accepts_versions(table: Any) -> bool:
    """True if the cells of a table may come from other versions of libraries."""
    return bool(facts_of_table(table).get("accept_versions"))


def is_of_spec(table: Any, spec: Mapping[str, Any]) -> bool:
    """True if the cells of a table are those of a spec, which may have been changed since."""
    return bool(facts_of_table(table).get("cells_of") == cells_hash(spec))


def version_rows(folder: Path) -> list[tuple[str, str]]:
    """The versions that the blocks of a folder were computed with; how many, where they differ."""
    stored = facts_of_table(read_cells(folder))["versions"] if (folder / CELLS).exists() else []
    known, rows = stored or [(versions(), 0)], []
    for name in dict.fromkeys(name for used, _ in known for name in used):
        counts: Counter[str] = Counter()
        for used, blocks in known:
            counts[used.get(name, "unknown")] += blocks
        several = [f"{version} ({blocks:,} blocks)" for version, blocks in sorted(counts.items())]
        rows.append((name, ", ".join(several) if len(counts) > 1 else next(iter(counts))))
    return rows


def _blocks(work: Work) -> Iterator[tuple[tuple[str, Span], Facts]]:
    """Every block of some cells with its facts; those not checked yet are checked now."""
    index = work.store.index()
    for name, cell in work.unique().items():
        for span in index.get(name, []):
            if span.first < cell.runs:  # others are of an earlier spec, or fresh runs of the best
                facts = work.facts.get((name, span)) or work.store.facts_of(name, span)
                if facts is not None:
                    work.facts[name, span] = facts
                    yield (name, span), facts


def finished_runs(work: Work) -> list[list[RunFacts]]:
    """The runs of every cell that are there, in order."""
    by_name: dict[str, dict[int, RunFacts]] = {}
    for (name, span), facts in _blocks(work):
        runs = map(RunFacts, facts.means, facts.diverged, facts.evicted, facts.divergence)
        by_name.setdefault(name, {}).update(zip(span.runs, runs, strict=True))
    return [
        [facts for run, facts in sorted(by_name.get(name, {}).items()) if run < cell.runs]
        for name, cell in zip(work.names, work.cells, strict=True)
    ]


def settings_columns(cells: Sequence[Trial]) -> dict[str, list[Any]]:
    """A column for every setting that differs between cells; None where a cell has it not."""
    rows = [_settings(cell) for cell in cells]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: _one_type(column)
        for name, column in columns.items()
        if len({word(value) for value in column}) > 1
    }


def _settings(cell: Trial) -> dict[str, Any]:
    parts = {"domain": cell.domain, "features": cell.features, "agent": cell.agent}
    return settings_of({name: part.to_dict() for name, part in parts.items()})


def _one_type(column: list[Any]) -> list[Any]:
    """Numbers or truth values as they are if there is nothing else, otherwise words."""
    kinds = {type(value) for value in column if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in column]
    if len(kinds) == 1 and kinds <= {int, float, bool, str}:
        return column
    return [None if value is None else word(value) for value in column]


class Trouble(NamedTuple):
    """What went wrong in a cell: why a run diverged, or "", and how many entries were evicted."""

    cell: str
    panel: str
    agent: str
    divergence: str
    evicted: int

    @property
    def text(self) -> str:
        """The same in words."""
        full = f"{self.evicted:,} entries of models were evicted, whose columns were full"
        return "; ".join([self.divergence] * bool(self.divergence) + [full] * bool(self.evicted))


def troubles_in(table: Any) -> list[Trouble]:
    """The cells of a table in which something went wrong."""
    rows = zip(*(table[name].to_pylist() for name in Trouble._fields), strict=True)
    return [row for row in map(Trouble._make, rows) if row.divergence or row.evicted]


def troubles_of(folder: Path) -> list[Trouble]:
    """The same of the table in a folder, if there is one."""
    return troubles_in(read_cells(folder)) if (folder / CELLS).exists() else []


def tell_troubles(troubles: Sequence[Trouble]) -> None:
    """Say what went wrong, once for every cell; of very many cells only how many."""
    for cell, text in _trouble_rows(troubles, TOLD):
        say(f"{cell}: {text}")


def troubles_section(troubles: Sequence[Trouble]) -> Section:
    """The same on a page, where it is empty if nothing went wrong."""
    from expectant.report import Table

    rows = [list(row) for row in _trouble_rows(troubles, LISTED)]
    return Table("What went wrong", ["cell", "what happened"], rows)


def _trouble_rows(troubles: Sequence[Trouble], most: int) -> Iterator[tuple[str, str]]:
    yield from ((trouble.cell, trouble.text) for trouble in troubles[:most])
    if len(troubles) > most:
        more = f"{len(troubles) - most:,} more cells"
        yield more, f"see the columns divergence and evicted of {CELLS}"
