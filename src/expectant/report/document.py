"""What the page shows, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from expectant.analysis.panel import Panel

Rows = Sequence[tuple[str, Any]]


@dataclass(frozen=True, eq=False)
class FigureSection:
    """One figure of the paper: its panels, how they were made and how to make them again.

    ``tables`` holds (heading, rows of (name, value)); ``readings`` says in words what the paper
    leaves open and how it was read; ``command`` makes the figure again.
    """

    figure: str
    title: str
    panels: Sequence[Panel]
    tables: Sequence[tuple[str, Rows]] = ()
    readings: Sequence[str] = ()
    command: str = ""


@dataclass(frozen=True, eq=False)
class PaperReport:
    """A whole report.

    A verdict has the keys id, figure, reading, claim, verdict ("holds", "does not hold" or
    "undecided"), statistic, low, high, rule and detail. One whose figure has no section is listed
    after the figures. ``environment`` has versions and seeds, and no date: the same results make
    the same page.
    """

    title: str
    subtitle: str = ""
    verdicts: Sequence[Mapping[str, Any]] = ()
    figures: Sequence[FigureSection] = field(default=())
    environment: Rows = ()
