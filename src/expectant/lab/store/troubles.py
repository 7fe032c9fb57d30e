"""What went wrong in cells, as their table has it: runs that diverged, models without room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from expectant.lab.store.cell_tables import CELLS
from expectant.lab.store.tables import read_table
from expectant.progress import say

if TYPE_CHECKING:
    from expectant.show import Section

TOLD, LISTED = 10, 100  # cells at most, by a command and on a page
COLUMNS = ("cell", "panel", "agent", "divergence", "evicted")


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
    rows = zip(*(table[name].to_pylist() for name in COLUMNS), strict=True)
    return [found for found in map(Trouble._make, rows) if found.divergence or found.evicted]


def troubles_of(folder: Path) -> list[Trouble]:
    """The same of the table in a folder, if there is one."""
    path = folder / CELLS
    return troubles_in(read_table(path, "run the command again")) if path.exists() else []


def tell_troubles(found: Sequence[Trouble]) -> None:
    """Say what went wrong, once for every cell; of very many cells only how many."""
    for trouble in found[:TOLD]:
        say(f"{trouble.cell}: {trouble.text}")
    if len(found) > TOLD:
        say(_others(len(found) - TOLD))


def troubles_section(found: Sequence[Trouble]) -> Section:
    """The same on a page, where it is empty if nothing went wrong."""
    from expectant.show import Table

    rows = [[trouble.cell, trouble.text] for trouble in found[:LISTED]]
    if len(found) > LISTED:
        rows.append(["", _others(len(found) - LISTED)])
    return Table("What went wrong", ["cell", "what happened"], rows)


def _others(count: int) -> str:
    return f"and {count:,} more cells, in the columns divergence and evicted of {CELLS}"
