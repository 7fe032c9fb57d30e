"""The page of a sweep: curves, sensitivity, trials, and the page in a browser."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
from browsing import Visit, needs_browser, opened_browser
from experiments.conftest import EVIL
from experiments.synthetic import config_text, write_sweep
from typer.testing import CliRunner

from expectant.analysis.selection import trial_intervals
from expectant.cli import app
from expectant.experiments.best import select_best
from expectant.experiments.metrics import METRICS
from expectant.experiments.sweep_report import (
    best_curves,
    report_sweep,
    sensitivity_chart,
    trial_table,
)
from expectant.experiments.sweep_results import Group, read_folder
from expectant.report import draw_chart
from expectant.report.palette import Palette

NAN = np.nan


def best_of(folder):
    return select_best(folder, METRICS["mean"], folder.values)


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


def test_every_agent_is_drawn_at_its_best_in_every_domain(folder):
    best = best_of(folder)
    plots = best_curves(best).chart.plots
    assert [plot.heading for plot in plots] == ["domain.slip=0", "domain.slip=0.1"]
    drawn = [(curve.key, curve.mean) for plot in plots for curve in plot.curves]
    assert [key for key, _ in drawn] == ["plain", "ahead"] * 2
    chosen = {(c.group.problem, c.group.agent): c.best for c in best.choices}
    expected = folder.curves(chosen["domain.slip=0", "ahead"]).mean(axis=0)
    np.testing.assert_allclose(drawn[1][1], expected)


def test_trials_are_listed_best_first(folder, monkeypatch):
    table = trial_table(best_of(folder))
    assert table.heading == "Trials" and len(table.rows) == 60
    assert table.heads == [
        "agent", "domain slip", "action step", "value step", "model step", "mean", "95 %",
        "diverged",
    ]  # fmt: skip
    means = [float(str(row[5]).replace("−", "-")) for row in table.rows if row[5] != "–"]
    assert means == sorted(means, reverse=True) and len(means) == 50
    assert {row[-1] for row in table.rows[50:]} == {"2"}
    monkeypatch.setattr("expectant.experiments.sweep_report.MOST_ROWS", 3)
    table = trial_table(best_of(folder))
    assert len(table.rows) == 3 and "57 more are in trials.parquet" in table.heading


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


def test_domains_that_are_probed_at_different_times_have_their_own_axes(tmp_path):
    text = config_text(runs=4, steps=(0.01, 0.1), model_steps=(0.01, 0.1), slips=(0.0,))
    text = text.replace("bin = 10", 'record = { probe = "value_error", every = 30 }\nbin = 10')
    text = text.replace("domain.slip", "domain.switch_every").replace("[0.0]", "[100, 70]")
    write_sweep(tmp_path, text.replace("switch_every = 100", "", 1))
    best = best_of(read_folder(tmp_path))
    chart = best_curves(best).chart
    assert [plot.x.size for plot in chart.plots] == [10, 11]  # 0, 30, 60, 70 | 70, … | 140, …
    assert chart.y_name == "error of the state values"
    assert best.title.endswith(", less is better")


@needs_browser
def test_the_page_works_in_a_browser(place, tmp_path):
    path = report_sweep(shutil.copytree(place, tmp_path / "sweep"))[-1]
    with opened_browser() as browser:
        visit = Visit(browser, path, 1200)
        visit.page.wait_for_selector("#figure-curves .line")
        assert visit.page.inner_text("h1") == EVIL
        assert visit.page.locator("#figure-curves .line").count() == 4
        assert visit.page.locator("#trials tbody tr").count() == 60
        width, window = visit.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= window
        assert visit.problems == [] and visit.requests == [path.as_uri()]
