"""The parameter study as data and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from expectant.paper.reproduce import write_text
from expectant.paper.study import Study, sensitivity
from expectant.report.figures import draw_panels, line_look, marker_look


def study_data(study: Study) -> dict[str, Any]:
    """The best settings and every score, ready for JSON."""
    return {
        key: {
            "best": dict(study.best[key].settings),
            "when_chosen": list(map(float, study.best[key].score)),
            "fresh_seeds": list(map(float, study.fresh[key])),
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
    best = draw_panels([study.panel], title, folder / "study-best")
    return [data, *best, *_sensitivity(study, folder / "study-sensitivity")]


def _sensitivity(study: Study, stem: Path) -> list[Path]:
    """Best score over the other settings, for every value of each setting."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    settings = ("action_step", "value_step", "policy_step", "model_step", "planning_steps")
    figure, grid = plt.subplots(
        1, len(settings), figsize=(15, 3.6), sharey=True, layout="constrained"
    )
    lowest = min(float(best.score.mean) for best in study.best.values()) - 8.0
    for axes, setting in zip(grid, settings, strict=True):
        for key, scored in study.scored.items():
            if setting not in scored[0].settings:
                continue
            points = sensitivity(scored, setting)
            values = [value for value, _ in points]
            means = [found.score.mean for _, found in points]
            bars = [
                [found.score.mean - found.score.low for _, found in points],
                [found.score.high - found.score.mean for _, found in points],
            ]
            look = {**line_look(key), **marker_look(key)}
            label = study.best[key].cell.label
            axes.errorbar(values, means, bars, **look, label=label, markersize=6, capsize=2)
        axes.set(xscale="log", xlabel=setting.replace("_", " "))
        axes.set_ylim(bottom=lowest)
    grid[0].set_ylabel("mean return, 1,000 episodes")
    handles: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=5, frameon=False
    )
    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    figure.savefig(paths[0], dpi=150)
    with plt.rc_context({"svg.hashsalt": "expectant"}):
        figure.savefig(paths[1], metadata={"Date": None})
    plt.close(figure)
    return paths
