"""The page of a sweep: bands, thinned curves, sensitivity, and the page in a browser."""

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
from expectant.experiments.best import select_best
from expectant.experiments.metrics import METRICS
from expectant.experiments.sweep_report import (
    SweepSection,
    mean_band,
    report_sweep,
    sensitivity_chart,
    summarise_curves,
)
from expectant.experiments.sweep_results import Group, read_folder
from expectant.report import draw_chart
from expectant.report.palette import Palette

NAN = np.nan


def unpack(text, *shape):
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(shape)


def section_of(folder):
    best = select_best(folder, METRICS["mean"], folder.values)
    return SweepSection(best, *summarise_curves(folder))


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
    curves, positions = summarise_curves(folder)
    assert positions.tolist() == [30.0, 95.0, 165.0]  # bins 0 to 5, 6 to 12, 13 to 19, of ten
    whole = folder.curves(3)
    parts = [whole[:, :6], whole[:, 6:13], whole[:, 13:]]
    expected = mean_band(np.stack([part.mean(axis=1) for part in parts], axis=1))
    np.testing.assert_allclose(curves[3], expected, rtol=1e-5)


# ------------------------------------------------------------------------------------- sensitivity


def group_of(agent, settings):
    rows = np.arange(len(next(iter(settings.values()))))
    return Group(agent, agent.title(), "", rows, settings, np.array([], int))


# a, b, c = 1, 1, 1 is the best of all
THREE = group_of(
    "one",
    {
        "agent.a": [1, 1, 1, 1, 2, 2, 2, 2],
        "agent.b": [1, 1, 2, 2, 1, 1, 2, 2],
        "agent.c": [1, 2, 1, 2, 1, 2, 1, 2],
    },
)
VALUES = np.array([50.0, 2.0, 10.0, 12.0, 1.0, 3.0, 11.0, 13.0])[:, None] + [-0.5, 0.0, 0.5]


def test_curves_of_a_setting_have_the_others_at_their_best():
    first, second, _ = sensitivity_chart([THREE], VALUES, "mean").plots
    assert (first.x_name, second.x_name) == ("a", "b")
    (curve,) = second.curves
    assert second.x_of(curve).tolist() == [1, 2] and curve.mean.tolist() == [50.0, 13.0]
    intervals = trial_intervals(VALUES)[[0, 7]]
    np.testing.assert_array_equal(np.column_stack([curve.low, curve.high]), intervals)
    (least,) = sensitivity_chart([THREE], VALUES, "mean", less=True).plots[1].curves
    assert least.mean.tolist() == [1.0, 10.0]


def test_agents_share_the_plot_of_a_setting_and_words_are_ticks(tmp_path):
    groups = [
        group_of("one", {"agent.step": [0.01, 0.1, 1.0]}),
        group_of("two", {"agent.step": [0.1, 1.0], "agent.model.kind": ["linear", None]}),
    ]
    values = np.array([[1.0, 2.0], [3.0, 4.0], [NAN, 1.0]])
    chart = sensitivity_chart(groups, values, "mean")
    assert [(plot.x_name, plot.scale, list(plot.ticks)) for plot in chart.plots] == [
        ("step", "log", []), ("model kind", "linear", ["linear", "–"]),
    ]  # fmt: skip
    first, second = chart.plots[0].curves
    assert chart.plots[0].x_of(second).tolist() == [0.1, 1.0]
    np.testing.assert_array_equal(first.mean, [1.5, 3.5, NAN])
    palette = Palette({"one": "One $5", "two": "Two"})
    drawn = [draw_chart(chart, "Title", tmp_path / name, palette) for name in "ab"]
    assert [path.suffix for path in drawn[0]] == [".png", ".svg", ".pdf"]
    assert len({tuple(path.read_bytes() for path in paths) for paths in drawn}) == 1
    assert sensitivity_chart(groups, np.full((3, 2), NAN), "mean").plots == []


def test_the_best_point_of_an_agent_is_never_cut():
    """The other agent's best is far below."""
    groups = [group_of("one", {"agent.a": [1, 2]}), group_of("two", {"agent.b": [1, 2]})]
    groups[1] = Group("two", "Two", "", np.array([2, 3]), groups[1].settings, np.array([], int))
    values = np.array([[13.86, 13.88], [13.89, 13.91], [-99.0, -98.0], [12.5, 12.9]])
    covered = sensitivity_chart(groups, values, "mean").range
    assert -98.0 < covered.low < 12.5 and covered.floor <= 12.5 and covered.high > 13.91


# -------------------------------------------------------------------------------------------- page


def test_the_data_are_those_of_the_folder(folder):
    section = section_of(folder)
    data = section.data("")
    assert data["ids"] == folder.columns["trial"]
    assert [column["name"] for column in data["columns"]] == [
        "domain.slip", "agent.action_step", "agent.value_step", "agent.model_step", "runs",
        "diverged",
    ]  # fmt: skip
    scores = unpack(data["scores"], -1, 3)
    np.testing.assert_allclose(scores[:, 0], folder.values.mean(axis=1), rtol=1e-6)
    known = np.isfinite(folder.values).all(axis=1)
    np.testing.assert_allclose(scores[known, 1:], trial_intervals(folder.values)[known], rtol=1e-6)
    curves = unpack(data["curves"], 60, 3, 20)
    np.testing.assert_allclose(curves[3], mean_band(folder.curves(3)), rtol=1e-5)
    wild = folder.columns["diverged"].index(2)
    assert np.isnan(curves[wild, 0, -1]) and not np.isnan(curves[wild, 0, 0])
    assert data["best"] == [choice.best for choice in section.best.choices]
    assert len(data["lines"]) == len(section.problems) == 2


def test_no_text_of_a_spec_can_become_code(place, tmp_path):
    text = report_sweep(shutil.copytree(place, tmp_path / "sweep"))[-1].read_text()
    assert EVIL not in text
    assert "<img" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert EVIL in json.loads(data)["palette"]["plain"]["name"]


def test_figures_and_page_again(place, tmp_path):
    folder, run = shutil.copytree(place, tmp_path / "sweep"), CliRunner()
    found = run.invoke(app, ["report", str(folder)])
    assert found.exit_code == 0 and len(found.stdout.split()) == 7
    (folder / "trials.parquet").unlink()  # as if the sweep had been interrupted
    found = run.invoke(app, ["report", str(folder)])
    assert found.exit_code == 0 and "the sweep is not finished" in found.stderr


def test_domains_that_are_looked_at_at_different_times_share_an_axis(tmp_path):
    text = config_text(runs=4, steps=(0.01, 0.1), model_steps=(0.01, 0.1), slips=(0.0,))
    text = text.replace("bin = 10", 'record = { probe = "value_error", every = 30 }\nbin = 10')
    text = text.replace("domain.slip", "domain.switch_every").replace("[0.0]", "[100, 70]")
    write_sweep(tmp_path, text.replace("switch_every = 100", "", 1))
    section = section_of(read_folder(tmp_path))
    assert section.positions.size == section.curves.shape[2] == 11  # 0, 30, 60, 70 | 70, … | 140, …
    assert np.isfinite(section.curves).all()
    assert section.data("")["yName"] == "error of the state values"
    assert section.best.title.endswith(", less is better")


@needs_browser
def test_the_page_works_in_a_browser(place, tmp_path):
    path = report_sweep(shutil.copytree(place, tmp_path / "sweep"))[-1]
    with opened_browser() as browser:
        visit = Visit(browser, path, 1200)
        rows = visit.page.locator("#trial-table tbody tr")
        lines = visit.page.locator("#curve-plot .line")
        assert visit.page.inner_text("h1") == EVIL and rows.count() == 60
        visit.page.wait_for_selector("#curve-plot .line")
        assert lines.count() == 4  # the best of every agent and domain
        visit.page.fill("#search", "AHEAD domain.slip=0.1")
        assert visit.page.inner_text("#count") == "25 of 60 trials"
        visit.page.locator("#trial-table th button", has_text="value").last.click()
        shown = [row.split("\t")[-3].replace("−", "-") for row in rows.all_inner_texts()]
        known = [float(text) for text in shown if text != "–"]
        assert known == sorted(known, reverse=True) and len(known) == 20
        rows.nth(3).click()
        assert lines.count() == 5
        visit.page.select_option("#problem", "1")
        width, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= window
        assert visit.problems == [] and visit.requests == [path.as_uri()]
