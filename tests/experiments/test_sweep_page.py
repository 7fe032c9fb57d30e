from __future__ import annotations

import base64
import json
import re
import shutil

import numpy as np
from browsing import Visit, needs_browser, opened_browser
from experiments.conftest import EVIL
from experiments.synthetic import config_text, write_sweep
from scipy import stats
from typer.testing import CliRunner

from expectant.analysis.selection import trial_intervals
from expectant.cli import app
from expectant.experiments.best import best
from expectant.experiments.metrics import METRICS
from expectant.experiments.sweep_report import (
    mean_band,
    report_sweep,
    summarise_curves,
    sweep_section,
)
from expectant.experiments.sweep_results import read_folder

run = CliRunner()


def unpack(text, *shape):
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(shape)


def test_bands_are_t_intervals():
    runs = np.random.default_rng(0).normal(size=(7, 3))
    runs[2, 2] = np.nan
    mean, low, high = mean_band(runs)
    expected = stats.t.interval(0.95, 6, runs[:, 0].mean(), stats.sem(runs[:, 0]))
    np.testing.assert_allclose([low[0], high[0]], expected)
    assert np.isnan([mean[2], low[2], high[2]]).all()
    assert np.isnan(mean_band(runs[:1])[1:]).all()


def test_many_curves_are_thinned_to_means_of_bins(folder, monkeypatch):
    monkeypatch.setattr("expectant.experiments.sweep_report.MOST_POINTS", 3)
    curves, positions, values = summarise_curves(folder, METRICS["mean"])
    assert positions.tolist() == [30.0, 95.0, 165.0]  # bins 0 to 5, 6 to 12, 13 to 19, of ten
    whole = folder.curves(3)
    parts = [whole[:, :6], whole[:, 6:13], whole[:, 13:]]
    expected = mean_band(np.stack([part.mean(axis=1) for part in parts], axis=1))
    np.testing.assert_allclose(curves[3], expected, rtol=1e-5)
    np.testing.assert_allclose(values, folder.values)


def test_the_data_are_those_of_the_folder(folder):
    section, _ = sweep_section(folder)
    data = section.data("")
    assert data is not None and data["ids"] == folder.columns["trial"]
    assert [column["name"] for column in data["columns"]] == [
        "domain.slip", "agent.action_step", "agent.value_step", "agent.model_step", "runs",
        "diverged",
    ]  # fmt: skip
    scores = unpack(data["scores"], -1, 3)
    np.testing.assert_allclose(scores[:, 0], folder.values.mean(axis=1), rtol=1e-6)
    known = np.isfinite(folder.values).all(axis=1)
    np.testing.assert_allclose(scores[known, 1:], trial_intervals(folder.values)[known], rtol=1e-6)
    curves = unpack(data["curves"], 60, 3, 20)
    expected = mean_band(folder.curves(3))
    np.testing.assert_allclose(curves[3], expected, rtol=1e-5)
    wild = folder.columns["diverged"].index(2)
    assert np.isnan(curves[wild, 0, -1]) and not np.isnan(curves[wild, 0, 0])
    best_trials = [data["ids"][row] for row in data["best"]]
    assert best_trials == [choice["best"] for choice in section.choices] and len(best_trials) == 4
    assert len(section.map_names) == len(data["maps"]) == 2  # of look-ahead in two domains
    assert len(data["lines"]) == len(section.problems) == 2


def test_no_text_of_a_spec_can_become_code(place, tmp_path):
    text = report_sweep(shutil.copytree(place, tmp_path / "sweep")).read_text()
    assert EVIL not in text
    assert "<img" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert EVIL in json.loads(data)["palette"]["plain"]["name"]


def test_choices_of_best_are_shown_if_they_are_of_this_spec(place, tmp_path):
    folder = shutil.copytree(place, tmp_path / "sweep")
    best(folder, metric="final")
    stored = json.loads((folder / "best.json").read_text())
    stored["choices"][0].update(
        stage="fresh runs", reported={**stored["choices"][0]["reported"], "mean": 77.25}
    )
    (folder / "best.json").write_text(json.dumps(stored))
    text = report_sweep(folder).read_text()
    assert "77.25" in text and "By final: " in text
    (folder / "best.json").write_text(json.dumps({**stored, "config": "another"}))
    text = report_sweep(folder).read_text()
    assert "77.25" not in text and "By mean: " in text


def test_figures_and_page_again(place, tmp_path):
    folder = shutil.copytree(place, tmp_path / "sweep")
    found = run.invoke(app, ["report", str(folder)])
    assert found.exit_code == 0 and len(found.stdout.split()) == 5
    (folder / "trials.parquet").unlink()  # as if the sweep had been interrupted
    found = run.invoke(app, ["report", str(folder)])
    assert found.exit_code == 0 and "the sweep is not finished" in found.stderr


def test_domains_that_are_looked_at_at_different_times_share_an_axis(tmp_path):
    text = config_text(runs=4, steps=(0.01, 0.1), model_steps=(0.01, 0.1), slips=(0.0,))
    text = text.replace("bin = 10", 'record = { probe = "value_error", every = 30 }\nbin = 10')
    text = text.replace("domain.slip", "domain.switch_every").replace("[0.0]", "[100, 70]")
    write_sweep(tmp_path, text.replace("switch_every = 100", "", 1))
    section, _ = sweep_section(read_folder(tmp_path))
    assert section.positions.size == section.curves.shape[2] == 11  # 0, 30, 60, 70 | 70, … | 140, …
    assert np.isfinite(section.curves).all() and section.y_name == "error of the state values"
    assert section.metric.endswith(", less is better")


@needs_browser
def test_the_page_works_in_a_browser(place, tmp_path):
    path = report_sweep(shutil.copytree(place, tmp_path / "sweep"))
    with opened_browser() as browser:
        visit = Visit(browser, path, 1200)
        rows = visit.page.locator("#trial-table tbody tr")
        lines = "document.getElementById('curve-plot').data.filter(t => t.meta.part === 'line')"
        assert visit.page.inner_text("h1") == EVIL and rows.count() == 60
        assert visit.page.evaluate(f"{lines}.length") == 4  # the best of every agent and domain
        visit.page.fill("#search", "AHEAD domain.slip=0.1")
        assert visit.page.inner_text("#count") == "25 of 60 trials"
        visit.page.locator("#trial-table th button", has_text="value").last.click()
        shown = [row.split("\t")[-3].replace("−", "-") for row in rows.all_inner_texts()]
        known = [float(text) for text in shown if text != "–"]
        assert known == sorted(known, reverse=True) and len(known) == 20
        rows.nth(3).click()
        assert visit.page.evaluate(f"{lines}.length") == 5
        visit.page.select_option("#problem", "1")
        visit.page.select_option("#map", "1")
        width, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= window
        assert visit.problems == [] and visit.requests == [path.as_uri()]
