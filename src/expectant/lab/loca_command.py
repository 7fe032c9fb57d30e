"""What the command ``loca`` does: the study of that name, as a whole or some of its rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from expectant.analysis.local_change import is_test, references
from expectant.descriptions import near_miss
from expectant.files import write_text
from expectant.lab.adaptation_rows import rows_of
from expectant.lab.reproduce import agents_of, compute_panels, write_figures, write_verdicts
from expectant.lab.request import Request
from expectant.lab.store.folder_layout import LOCA, mark
from expectant.lab.study import Study, packaged, read_study

QUICK_RUNS = 3
NO_BACKUPS = "none"


def request_for(
    agents: Sequence[str] = (),
    backups: Sequence[str] = (),
    *,
    seed: int = 0,
    runs: int | None = None,
) -> Request:
    """What is asked for: by default every agent with every backup distribution."""
    study = read_study(packaged()["loca"])
    keys = _keys(study)
    named = [pair for pairs in keys.values() for pair in pairs]
    known = {"agent": {agent for agent, _ in named}, "backups": {key for _, key in named}}
    for option, names in (("agent", agents), ("backups", backups)):
        for name in names:
            if name not in known[option] - {NO_BACKUPS}:
                raise ValueError(
                    f"--{option}: unknown {name!r}" + near_miss(name, sorted(known[option]))
                )
    chosen = tuple(
        figure
        for figure in study.figures
        if any(
            (not agents or agent in agents) and (not backups or key in backups)
            for agent, key in keys[figure]
        )
    )
    if not chosen:
        raise ValueError("--backups: q_learning does not plan, it has no backup distribution")
    return Request(study, chosen, seed, runs, panels=tuple(agents), agents=tuple(backups))


def adaptation_test(
    request: Request, folder: Path, threads: int | None, place: Path | None = None
) -> list[dict[str, Any]]:
    """Compute what is missing and write everything; the rows of the test."""
    place = place or folder
    panels = compute_panels(request, folder, threads, place)
    mark(place, LOCA)
    write_figures(request, place, panels)
    write_verdicts(request, place, panels)
    rows = rows_of(panels, agents_of(request))
    known = references(next(filter(is_test, panels)))
    content = {"references": known, "seed": request.seed, "rows": rows}
    write_text(place / "loca.json", json.dumps(content, indent=2, ensure_ascii=False))
    return rows


def _keys(study: Study) -> dict[str, list[tuple[str, str]]]:
    """The agents and backup distributions of the study's figures, by their names."""
    return {
        figure: [(panel.name or figure, key) for panel in experiment.panels for key in panel.agents]
        for figure, experiment in study.experiments.items()
    }
