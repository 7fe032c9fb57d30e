"""What came of a study's questions: a column for each question, a row for each panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

OUTCOMES = {"holds": "yes", "does not hold": "the reverse"}  # of questions; others as they are


def panels_of(study: str) -> dict[int, str | None]:
    """The panels that the claims of a study are about, by their numbers."""
    from expectant.lab.study import packaged, read_study

    folder = packaged().get(study)
    return {} if folder is None else {one.id: one.panel for one in read_study(folder).claims}


def table(
    claims: Sequence[dict[str, Any]], figure: str, asking: str = "", **_: str
) -> tuple[Sequence[str], list[list[str]]]:
    """Questions about some figures, all or those ``asking`` something, answered panel by panel."""
    figures = figure.split(",")
    chosen = [one for one in claims if one["figure"] in figures and asking in one["claim"]]
    if not chosen:
        raise ValueError(f"table: no claims about {figure}")
    questions = list(dict.fromkeys(map(_question, chosen)))
    rows: dict[str, dict[str, str]] = {}
    for one in chosen:
        rows.setdefault(_where(one), {})[_question(one)] = answer(one)
    head = ["panel (margin)", *questions]
    return head, [[panel, *(row.get(q, "–") for q in questions)] for panel, row in rows.items()]


def _question(claim: dict[str, Any]) -> str:
    """A claim without the panel that it begins with."""
    return str(claim["claim"]).removeprefix(f"{claim.get('panel')}: ")


def _where(claim: dict[str, Any]) -> str:
    return f"{claim.get('panel') or claim['figure']} (± {claim['margin']:g})"


def answer(claim: dict[str, Any]) -> str:
    """The verdict on a question, with the difference and its interval."""
    from expectant.show.wording import shown_number

    effect, low, high = (_three(claim[key]) for key in ("effect", "low", "high"))
    word = OUTCOMES.get(claim["verdict"], claim["verdict"])
    return f"**{word}** {shown_number(effect)} ({shown_number(low)} to {shown_number(high)})"


def _three(value: float) -> float:
    return float(f"{value:.3g}")
