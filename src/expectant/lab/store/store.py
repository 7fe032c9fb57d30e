"""Finished blocks of runs on disk, so that nothing is ever computed twice.

A block is one small Parquet file, written under a temporary name and renamed: it is there in full
or not at all. Its name holds a hash of what decides its numbers, the code included, so results of
changed settings or changed code are never mistaken for these. The file itself says under which name
and from which run on it was stored, and holds a hash of all its bytes: one that was damaged, or
that goes by the name of another, is not whole. All blocks of a folder together are one table, with
a row for every point of every run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from expectant.extras import need
from expectant.lab.cells import Cell, blocks
from expectant.lab.store.block import (
    Block,
    Facts,
    Span,
    block_in,
    curves_in,
    facts_about,
    facts_from,
    facts_in,
    renamed,
    table_of,
)
from expectant.lab.store.facts import versions
from expectant.lab.store.sealed_tables import StoreError, make_folder, read_whole, write_table
from expectant.lab.store.sealing import is_whole

__all__ = ["Block", "Facts", "Span", "Store", "StoreError", "versions"]

SET_ASIDE = "set-aside"
MADE = (  # from the blocks of a folder, whatever command made it
    "cells.parquet", "curves.parquet", "best.json", "search.json", "report.html", "figure.png",
    "figure.svg", "sensitivity*.png", "sensitivity*.svg", "heat*.png", "heat*.svg",
)  # fmt: skip


class Store:
    """A folder of blocks; ``facts`` are written into each of them.

    What is read of a block is None if the block is not there, or not whole. One that is there and
    cannot be read is a ``StoreError``.
    """

    def __init__(self, folder: Path, facts: Mapping[str, object] | None = None) -> None:
        need("a folder of results", "lab")
        self.folder = folder / "blocks"
        self.aside = folder / SET_ASIDE
        self.facts = dict(facts or {})

    def path(self, name: str, first: int, count: int) -> Path:
        return self.folder / f"{name}-{first:05d}-{count:04d}.parquet"

    def index(self) -> dict[str, list[Span]]:
        """The blocks that are there, by the names of their cells."""
        return index_of(self.folder)

    def missing(self, cell: Cell, spans: Sequence[Span]) -> Iterator[Span]:
        """The blocks of a cell that are not among those that are there."""
        there = {run for span in spans for run in span.runs}
        for first, count in blocks(cell.runs):
            left = [run for run in range(first, first + count) if run not in there]
            if left:
                yield Span(left[0], left[-1] - left[0] + 1)

    def facts_of(self, name: str, span: Span) -> Facts | None:
        """What a block says of itself, all its bytes having been checked."""
        found = self._read(name, span)
        return None if found is None else found[1]

    def load(self, name: str, span: Span) -> Block | None:
        """A finished block."""
        found = self._read(name, span)
        return None if found is None else block_in(*found)

    def curves(self, name: str, spans: Sequence[Span], runs: int) -> np.ndarray | None:
        """The curves (runs, bins) of a cell from its blocks; None also if runs are missing."""
        rows: dict[int, np.ndarray] = {}
        for span in spans:
            found = self._read(name, span)
            if found is None:
                return None
            rows.update(zip(span.runs, curves_in(*found), strict=True))
        if not all(run in rows for run in range(runs)):
            return None
        return np.stack([rows[run] for run in range(runs)])

    def save(self, name: str, first: int, block: Block, cell: Cell) -> Facts:
        """Write a block in one piece."""
        make_folder(self.folder)
        facts = facts_about(name, first, block, cell, self.facts)
        write_table(table_of(block, cell, facts), self.path(name, first, len(block.curves)))
        return facts_from(facts)

    def rename(self, name: str, span: Span, cell: Cell) -> Facts | None:
        """Write a block again under the id that its cell has by now."""
        found = self._read(name, span)
        if found is None:
            return None
        table, facts = renamed(found[0], cell)
        write_table(table, self.path(name, *span))
        return facts

    def forget(self, name: str, span: Span) -> None:
        """Remove a block that is not whole."""
        try:
            self.path(name, *span).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot remove a damaged file in {self.folder}: {error.strerror}"
            ) from None

    def set_aside(self, wanted: set[str]) -> set[str]:
        """Move the blocks of all other cells out of the way; returns the names of those cells.

        What was made from them goes first, or it would pass for what is asked for now.
        """
        others = {name: spans for name, spans in self.index().items() if name not in wanted}
        if others:
            make_folder(self.aside)
            for made in MADE:
                for path in self.folder.parent.glob(made):
                    self._replace(path, self.aside / path.name)
        for name, spans in others.items():
            self._move(name, spans, self.folder, self.aside)
        return set(others)

    def take_back(self, wanted: set[str]) -> set[str]:
        """Move blocks that were set aside back to where they are asked for again."""
        found = {name: spans for name, spans in index_of(self.aside).items() if name in wanted}
        if found:
            make_folder(self.folder)
        for name, spans in found.items():
            self._move(name, spans, self.aside, self.folder)
        return set(found)

    def _move(self, name: str, spans: Sequence[Span], source: Path, target: Path) -> None:
        for span in spans:
            file = self.path(name, *span).name
            self._replace(source / file, target / file)

    def _replace(self, source: Path, target: Path) -> None:
        try:
            os.replace(source, target)
        except OSError as error:
            raise StoreError(f"cannot move {source}: {error.strerror}") from None

    def _read(self, name: str, span: Span) -> tuple[bytes, Facts] | None:
        """The bytes of a block and what they say; None if they are not those that were written."""
        try:
            content = read_whole(self.path(name, *span))
        except FileNotFoundError:
            return None
        facts = facts_in(content, name, span) if is_whole(content) else None
        return None if facts is None else (content, facts)


def index_of(folder: Path) -> dict[str, list[Span]]:
    """The blocks in a folder by the names of their cells."""
    found: dict[str, list[Span]] = {}
    for file in _names(folder):
        cell, first, count = file.removesuffix(".parquet").rsplit("-", 2)
        if first.isdecimal() and count.isdecimal():
            found.setdefault(cell, []).append(Span(int(first), int(count)))
    return {cell: sorted(spans) for cell, spans in found.items()}


def _names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".parquet") and entry.name.count("-") >= 2:
                    yield entry.name
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"cannot read {folder}: {error.strerror}") from None
