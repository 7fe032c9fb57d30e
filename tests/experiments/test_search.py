from __future__ import annotations

import importlib.util
import json

import pytest
from experiments.sweeping import config_text, results

from expectant.experiments.config_file import parse_config
from expectant.experiments.sweep import create_study, run_sweep

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="needs the extra 'optuna'"
)

RANGED = (
    config_text([0.1])
    .replace("[0.1]", "{ low = 0.001, high = 1.5, log = true }")
    .replace("22", "4")
    + "agents.plain.epsilon = [0.05, 0.3]\ndomain.slip = [0.0, 0.2]\n"
)


def search(folder, text=RANGED, trials=9):
    return run_sweep(parse_config(text, "tiny.toml"), text, folder, trials=trials, compiled=False)


def test_a_search_finds_good_settings_and_goes_on_where_it_was(tmp_path):
    first = search(tmp_path)
    assert first.failed == {} and first.computed == len(first.search) <= 18
    best = first.search[0]
    assert best["panel"] == "domain.slip=0" and best["value"] == max(
        t["value"] for t in first.search
    )
    assert json.loads((tmp_path / "search.json").read_text()) == first.search
    for entry in first.search:
        step = float(entry["trial"].split("action_step=")[1].split(" ")[0])
        assert 0.001 <= step <= 1.5 and len(f"{step:g}") <= 9
    before = results(tmp_path)
    again = search(tmp_path)
    assert again.computed == 0 and again.search == first.search
    assert results(tmp_path) == before
    for path in sorted((tmp_path / "runs").iterdir())[::2]:
        path.unlink()  # as if it had been killed
    search(tmp_path)
    assert results(tmp_path) == before


def test_a_search_for_short_episodes_minimizes(tmp_path):
    text = RANGED.replace("bin =", 'record = ["length"]\nbin =', 1)
    found = search(tmp_path, text, trials=5).search
    values = [trial["value"] for trial in found if trial["panel"] == "domain.slip=0"]
    assert values == sorted(values)
    assert create_study(0, minimize=True).direction.name == "MINIMIZE"
    assert create_study(0).direction.name == "MAXIMIZE"
