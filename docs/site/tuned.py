"""The settings that sweeps beside a study have chosen for its arms.

    expectant sweep backup-distributions/corridor-9-tuning
    python docs/site/tables.py results/backup-distributions-corridor-9-tuning

stores what all runs of the sweep choose in docs/measured/backup-distributions-tuning.json; the
specs of the study have these settings, which a test checks. ``tuned=STUDY`` asks for the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parents[1] / "measured"
CAPTIONS = {"value_step": "value", "action_step": "action", "model_step": "model"}


def is_sweep(folder: Path) -> bool:
    """Whether a folder holds a sweep that chooses settings for a study."""
    return (folder / "cells.parquet").exists() and folder.resolve().name.endswith("-tuning")


def store(folder: Path) -> Path:
    """Write what a sweep has chosen; what others have chosen for the same study is kept."""
    from expectant.lab.choosing.sweep_folder import read_folder

    study, figure = _whose(read_folder(folder).experiment.name)
    kept = [entry for entry in read(study) if entry["figure"] != figure]
    found = [*kept, *({"figure": figure, **entry} for entry in _chosen(folder))]
    found.sort(key=lambda entry: _order(study).get(entry["figure"], 0))
    path = MEASURED / f"{study}-tuning.json"
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in found)
    path.write_text(f"[\n{lines}\n]\n", "utf-8")
    return path


def _whose(name: str) -> tuple[str, str]:
    """The study and the figure that a sweep of this name belongs to."""
    from expectant.lab.study import packaged

    study = next(study for study in packaged() if name.startswith(f"{study}-"))
    return study, name.removeprefix(f"{study}-").removesuffix("-tuning")


def _order(study: str) -> dict[str, int]:
    """The places of a study's figures."""
    from expectant.lab.study import packaged, read_study

    figures = read_study(packaged()[study]).figures
    return {figure: place for place, figure in enumerate(figures)}


def _chosen(folder: Path) -> Iterator[dict[str, Any]]:
    """What all runs of a sweep choose, for every agent in every panel."""
    from expectant.lab.choosing.stages import choose_in_group
    from expectant.lab.choosing.sweep_folder import read_folder

    sweep = read_folder(folder)
    for group in sweep.groups:
        found = choose_in_group(group, sweep.values, split=False)
        if found.best is None:
            raise ValueError(f"{folder}: every setting of {group.agent} diverged: widen its grid")
        yield {
            "panel": group.panel.name,
            "agent": group.agent,
            "label": group.label,
            "settings": found.settings(found.best),
            "edge": list(found.at_edge),
            "tried": found.tried,
            "diverged": found.diverged,
            "runs": sweep.experiment.runs,
            "seed": sweep.experiment.seed,
        }


def read(study: str) -> list[dict[str, Any]]:
    """What is stored of a study's choices."""
    path = MEASURED / f"{study}-tuning.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def table(study: str) -> tuple[Sequence[str], list[list[str]]]:
    """Rows of arms, columns of panels; what lies at the edge of its grid has a star."""
    entries = read(study)
    panels = list(dict.fromkeys(entry["panel"] for entry in entries))
    rows: dict[str, dict[str, str]] = {}
    for entry in entries:
        rows.setdefault(entry["label"], {})[entry["panel"]] = _cell(entry)
    body = [[label, *(row.get(panel, "–") for panel in panels)] for label, row in rows.items()]
    return ["steps chosen for", *panels], body


def _cell(entry: dict[str, Any]) -> str:
    return ", ".join(
        f"{_short(name)} {value:g}{'*' if name in entry['edge'] else ''}"
        for name, value in sorted(entry["settings"].items(), key=lambda one: _place(one[0]))
    )


def _short(name: str) -> str:
    last = name.rsplit(".", maxsplit=1)[-1]
    return CAPTIONS.get(last, last)


def _place(name: str) -> int:
    """Steps in the order of the captions, what belongs to models after them."""
    last = name.rsplit(".", maxsplit=1)[-1]
    return [*CAPTIONS, last].index(last)
