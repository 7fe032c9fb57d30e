"""What the command ``best`` does, and what ``plot`` does with the folder of a sweep."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from expectant.files import write_text
from expectant.lab.choosing.choice_figures import draw_choice
from expectant.lab.choosing.confirming import fresh_values
from expectant.lab.choosing.scores import measured
from expectant.lab.choosing.stages import (
    RULES,
    STAGES,
    Choice,
    choices,
    choices_as_data,
    choose_in_group,
    confirmed,
)
from expectant.lab.choosing.sweep_folder import SweepFolder, read_folder
from expectant.lab.measures import Measure, measure_named

BEST = "best.json"


@dataclass(frozen=True, eq=False)
class Best:
    """The choices of a folder by one measure, and the files that were written."""

    folder: SweepFolder
    measure: Measure
    choices: list[Choice]
    paths: list[Path]

    def __repr__(self) -> str:
        return f"Best({len(self.choices)} choices by {self.measure.name}; {self.folder.path})"

    @property
    def less_is_better(self) -> bool:
        return self.measure.prefers_less(self.folder.experiment.of_errors)

    @property
    def stages(self) -> list[str]:
        """What was done, in words."""
        stages = dict.fromkeys(found.stage for found in self.choices if found.best is not None)
        return [STAGES[stage] for stage in stages]

    def as_data(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "spec": self.folder.spec_hash,
            "cells": self.folder.cells_hash,
            "measure": self.measure.name,
            "meaning": self.measure.meaning,
            "less_is_better": self.less_is_better,
            "stages": self.stages,
            "rules": list(RULES),
            "choices": choices_as_data(self.folder, self.choices),
        }


def best(
    path: Path,
    *,
    measure: str = "mean",
    confirm: int | None = None,
    out: Path | None = None,
    threads: int | None = None,
    trust: bool = False,
) -> Best:
    """Choose, compute fresh runs if asked for, and write best.json and the figures."""
    wanted = measure_named(measure, "--measure")
    folder = read_folder(path, trust=trust)
    values = measured(folder, wanted)
    less = wanted.prefers_less(folder.experiment.of_errors)
    if confirm is None:
        found = choices(folder, values, less_is_better=less)
    else:
        picked = [
            choose_in_group(group, values, split=False, less_is_better=less)
            for group in folder.groups
        ]
        found = _confirmed(folder, picked, wanted, confirm, threads)
    place = out or path
    paths = [place / BEST, *draw_choice(folder, values, wanted, place)]
    result = Best(folder, wanted, found, paths)
    write_text(place / BEST, json.dumps(result.as_data(), indent=1, ensure_ascii=False) + "\n")
    return result


def _confirmed(
    folder: SweepFolder, picked: list[Choice], measure: Measure, runs: int, threads: int | None
) -> list[Choice]:
    rows = [choice.best for choice in picked if choice.best is not None]
    fresh = dict(zip(rows, fresh_values(folder, rows, measure, runs, threads), strict=True))
    return [confirmed(c, None if c.best is None else fresh[c.best]) for c in picked]


def draw_sweep(path: Path, *, trust: bool = False) -> list[Path]:
    """The figures of a sweep's folder, by the mean over all bins."""
    folder, measure = read_folder(path, trust=trust), measure_named("mean")
    return draw_choice(folder, measured(folder, measure), measure, path)
