"""The parameter study as data and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from expectant.files import write_text
from expectant.paper.study import Scored, Study, count_no_worse, sensitivity
from expectant.report import Palette, draw_panels, palette_of
from expectant.report.sensitivity import Sensitivity
from expectant.report.sensitivity_figures import draw_sensitivity


def study_data(study: Study) -> dict[str, Any]:
    """The best settings and every score, ready for JSON."""
    return {
        key: {
            "best": dict(study.best[key].settings),
            "when_chosen": list(map(float, study.best[key].score)),
            "fresh_seeds": list(map(float, study.fresh[key])),
            "no_worse": count_no_worse(found_all),
            "settings": [
                {
                    **found.settings,
                    "score": None if found.diverged else list(map(float, found.score)),
                    "diverged": found.diverged,
                }
                for found in found_all
            ],
        }
        for key, found_all in study.scored.items()
    }


def write_study(study: Study, folder: Path) -> list[Path]:
    """study.json, sensitivity curves, and figure 5 with every agent at its best."""
    data = folder / "study.json"
    write_text(data, json.dumps(study_data(study), indent=2))
    title = "Figure 5 with every agent at its best (fresh seeds)"
    palette = palette_of([study.panel])
    best = draw_panels([study.panel], title, folder / "study-best", palette)
    return [data, *best, *_sensitivity(study, folder / "study-sensitivity", palette)]


def _sensitivity(study: Study, stem: Path, palette: Palette) -> list[Path]:
    """Best score over the other settings, for every value of each setting."""
    names = dict.fromkeys(name for found in study.scored.values() for name in found[0].settings)
    lines = [
        _line(key, setting, sensitivity(scored, setting))
        for setting in names
        for key, scored in study.scored.items()
        if setting in scored[0].settings
    ]
    title = "Parameter study: best over the other settings"
    return draw_sensitivity(lines, title, "mean return", stem, palette)


def _line(key: str, setting: str, points: list[tuple[Any, Scored]]) -> Sensitivity:
    envelope = np.array([[float(part) for part in found.score] for _, found in points])
    return Sensitivity(key, setting, [value for value, _ in points], envelope)
