"""The files of a parameter study that was made up."""

from __future__ import annotations

import json

import numpy as np

from expectant.analysis.curves import interval
from expectant.experiments.results import panels_of
from expectant.paper.figures import read
from expectant.paper.study import FRESH, Study, _best, _fresh, _score, count_no_worse
from expectant.paper.study_report import study_data, write_study


def made_up() -> Study:
    """Three steps of Q-learning: bad, good, and splendid but for one run that diverged."""
    template = next(c for c in read("5a", "text").cells() if c.agent_key == "q_learning")
    noise = np.random.default_rng(0).normal(0.0, 0.1, (6, 4))
    curves = [noise + 1.0, noise + 5.0, noise + 9.0]
    curves[2][3, 2:] = np.nan
    steps = (0.001, 0.01, 0.1)
    scored = [
        _score(template, {"action_step": step}, curve)
        for step, curve in zip(steps, curves, strict=True)
    ]
    best = scored[_best(scored)]
    again = _fresh(best.cell, template)
    assert (again.seed, again.episodes) == (template.seed + FRESH, template.episodes)
    (panel,) = panels_of([again], [noise + 4.5])
    fresh = interval((noise + 4.5).mean(axis=1))
    return Study({"q_learning": scored}, {"q_learning": best}, {"q_learning": fresh}, panel)


def test_the_data_of_a_study():
    study = made_up()
    assert [found.diverged for found in study.scored["q_learning"]] == [0, 0, 1]
    data = study_data(study)["q_learning"]
    assert data["best"] == {"action_step": 0.01}
    mean, low, high = data["when_chosen"]
    assert low < mean < high and abs(mean - 5.0) < 0.2
    assert abs(data["fresh_seeds"][0] - 4.5) < 0.2
    assert data["no_worse"] == count_no_worse(study.scored["q_learning"]) == 1
    assert [entry["diverged"] for entry in data["settings"]] == [0, 0, 1]
    assert data["settings"][2]["score"] is None


def test_the_files_of_a_study(tmp_path):
    study = made_up()
    names = [path.name for path in write_study(study, tmp_path)]
    assert names == [
        "study.json", "study-best.png", "study-best.svg", "study-sensitivity.png",
        "study-sensitivity.svg",
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert json.loads((tmp_path / "study.json").read_text()) == study_data(study)
