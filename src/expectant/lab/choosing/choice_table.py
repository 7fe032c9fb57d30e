"""The choices of a sweep as a table for the terminal."""

from __future__ import annotations

from typing import Any

from expectant.lab.choosing.best_command import Best
from expectant.lab.choosing.stages import RULES, Choice, RunScore
from expectant.show.wording import EDGE_NOTE, setting_in_words, shown_number

COLUMNS = (
    ("agent", "left"),
    ("in", "left"),
    ("best setting", "left"),
    ("value (95 %)", "right"),
    ("runs", "right"),
    ("when picked", "right"),
    ("no worse", "right"),
    ("diverged", "right"),
    ("unfinished", "right"),
)


def best_text(found: Best) -> tuple[Any, list[str]]:
    """A table with one row for every agent in every domain, and what to know about it."""
    from rich.markup import escape
    from rich.table import Table

    better = ", less is better" if found.less_is_better else ""
    title = f"Best settings by {found.measure.name}: {found.measure.meaning}{better}"
    table = Table(title=title, title_justify="left")
    rows = [_row(choice) for choice in found.choices]
    told = [n for n, (name, _) in enumerate(COLUMNS) if name != "in" or any(row[n] for row in rows)]
    for name, justify in (COLUMNS[n] for n in told):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(escape(row[n]) for n in told))
    notes = [f"{stage[0].upper()}{stage[1:]}." for stage in found.stages]
    edges = [EDGE_NOTE] if any(choice.at_edge for choice in found.choices) else []
    return table, [*notes, *edges, *RULES]


def _row(choice: Choice) -> list[str]:
    settings = setting_in_words(choice.settings(choice.best), choice.at_edge)
    nothing = "none: every setting diverged" if choice.tried else "none finished yet"
    best = nothing if choice.best is None else settings or "the only one"
    reported, picked = choice.reported, choice.picked
    return [
        choice.group.label, choice.group.problem, best, _score(reported),
        "" if reported is None else str(reported.runs),
        "" if picked is None else shown_number(picked.mean),
        f"{len(choice.no_worse)} of {choice.tried}", str(choice.diverged),
        str(len(choice.group.unfinished)),
    ]  # fmt: skip


def _score(score: RunScore | None) -> str:
    if score is None:
        return "–"
    if score.diverged:
        return f"{score.diverged} diverged"
    return f"{shown_number(score.mean)} ({shown_number(score.low)} to {shown_number(score.high)})"
