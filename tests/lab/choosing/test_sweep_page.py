from __future__ import annotations

import base64
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from expectant.analysis.selection import setting_intervals
from expectant.cli import app
from expectant.lab.choosing.best_command import best
from expectant.lab.choosing.choice_figures import all_heat_maps
from expectant.lab.choosing.choice_page import banded, cells_of, read_all, sections_of, thinned
from expectant.lab.choosing.scores import curves_of_cell
from expectant.show import Header
from expectant.show.page import page
from expectant.show.sweep_sections import BestSettings, CellCurves, CellTable, packed, points_for
from expectant.show.wording import shown_number
from lab.choosing.conftest import EVIL

run = CliRunner()


def page_of(folder):
    cells = cells_of(folder)
    return page(sections_of(folder, cells), cells.palette)


def test_curves_fit_the_budget_whatever_their_number():
    assert points_for(60, 20) == 20
    assert points_for(1, 5000) == 400
    assert points_for(10_000, 5000) == 150
    for cells in (1, 100, 10_000, 100_000):
        assert cells * points_for(cells, 10_000) * 16 <= 24e6


def test_numbers_are_packed_row_by_row():
    values = np.array([[1.5, np.nan], [3.0, -2.0]])
    found = np.frombuffer(base64.b64decode(packed(values)), "<f4")
    np.testing.assert_array_equal(found, [1.5, np.nan, 3.0, -2.0])


def test_bands_are_t_intervals():
    runs = np.random.default_rng(0).normal(size=(7, 3))
    runs[2, 2] = np.nan
    mean, low, high = banded(runs)
    expected = stats.t.interval(0.95, 6, runs[:, 0].mean(), stats.sem(runs[:, 0]))
    np.testing.assert_allclose([low[0], high[0]], expected)
    assert np.isnan([mean[2], low[2], high[2]]).all()
    assert np.isnan(banded(runs[:1])[1:]).all()
    two = banded(np.array([[1.0], [3.0]]))  # their mean is off by 1 in the usual case: t is 12.7
    np.testing.assert_allclose(two[:, 0], [2.0, 2.0 - 12.706, 2.0 + 12.706], atol=1e-3)


def test_thin_curves_are_means_of_bins(folder, monkeypatch):
    assert thinned(7, 3).tolist() == [0, 2, 4]
    monkeypatch.setattr("expectant.show.sweep_sections.points_for", lambda cells, bins: 4)
    curves, positions, _ = read_all(folder)
    assert curves.shape == (60, 3, 4) and positions.tolist() == [25.0, 75.0, 125.0, 175.0]
    whole = curves_of_cell(folder, folder.columns["hash"][3])
    np.testing.assert_allclose(
        curves[3, 0], whole.mean(axis=0).reshape(4, 5).mean(axis=1), rtol=1e-5
    )


def test_the_data_are_those_of_the_folder(folder):
    cells = cells_of(folder)
    data = CellTable(cells).data("")
    assert data is not None
    assert data["ids"] == folder.columns["cell"]
    assert [column["name"] for column in data["columns"]] == [
        "domain.slip", "agent.action_step", "agent.value_step", "agent.model_step",
    ]  # fmt: skip
    scores = np.frombuffer(base64.b64decode(data["scores"][0]), "<f4").reshape(-1, 3)
    np.testing.assert_allclose(scores[:, 0], folder.values.mean(axis=1), rtol=1e-6)
    known = np.isfinite(folder.values).all(axis=1)
    intervals = setting_intervals(folder.values)
    np.testing.assert_allclose(scores[known, 1:], intervals[known], rtol=1e-6)
    assert (scores[known, 1] < scores[known, 0]).all()
    assert (scores[known, 0] < scores[known, 2]).all()
    mean, low, high = banded(curves_of_cell(folder, folder.columns["hash"][3]))
    np.testing.assert_allclose(cells.curves[3], [mean, low, high], rtol=1e-5)
    assert [measure.name for measure in cells.measures] == ["mean", "final"]
    assert len(cells.best(cells.measures[0])) == 4
    assert data["diverged"].count(2) == 10
    wild = data["diverged"].index(2)
    assert np.isnan(cells.curves[wild, 0, -1]) and not np.isnan(cells.curves[wild, 0, 0])


def test_an_interval_that_begins_at_zero_is_shown():
    score = {"mean": 0.5, "low": 0.0, "high": 1.25, "runs": 8, "diverged": 0}
    assert BestSettings.score(score) == "0.5 (0 to 1.25), 8 runs"
    assert BestSettings.score(score | {"low": None, "high": None}) == "0.5, 8 runs"
    assert BestSettings.score(score | {"diverged": 2}) == "2 of 8 runs diverged"
    assert BestSettings.score(None) == "–"


def test_a_best_value_at_the_end_of_its_grid_is_marked(folder):
    """As by `expectant best`, with what it means below the table; nothing where none is."""
    cells = cells_of(folder)
    measure, note = cells.measures[0], "a better one may lie beyond, so widen the grid"
    some = next(choice for choice in measure.choices if choice["best"] is not None)
    name, *_ = some["settings"]
    edges = [{**some, "at_edge": [name]}], [{**some, "at_edge": []}]
    pages = []
    for choices in edges:
        shown = replace(cells, measures=[replace(measure, choices=choices)])
        pages.append(page([Header("a sweep"), BestSettings(shown, ())], cells.palette))
    marked = f"{name.removeprefix('agent.')} {shown_number(some['settings'][name])} (edge)"
    assert [marked in text for text in pages] == [True, False]
    assert [note in text for text in pages] == [True, False]


def test_a_cell_far_below_the_best_is_marked_and_does_not_stretch_the_axis(folder):
    cells = cells_of(folder)
    cells.curves[7, :, 5:] = -500.0
    data = CellCurves(cells).data("")
    assert data is not None
    assert data["marks"] == {7: [[5, "−500"]]}
    low, _ = data["extents"]
    np.testing.assert_allclose(low[3], np.nanmin(cells.curves[3]), rtol=1e-4)
    np.testing.assert_allclose(low[7], np.nanmin(cells.curves[7, :, :5]), rtol=1e-4)
    cells.curves[7] = -500.0
    data = CellCurves(cells).data("")
    assert data is not None
    assert np.isnan([ends[7] for ends in data["extents"]]).all()


def test_maps_of_any_two_settings_know_their_cells(folder):
    plain, _, ahead, _ = folder.groups
    assert all_heat_maps(plain, folder.values) == []  # one setting only
    (found,) = all_heat_maps(ahead, folder.values)
    assert found.cells is not None
    assert (found.first, found.second) == ("agent.value_step", "agent.model_step")
    for i, first in enumerate(found.first_values):
        for j, second in enumerate(found.second_values):
            cell = found.cells[i, j]
            assert folder.columns["agent.value_step"][cell] == first
            assert folder.columns["agent.model_step"][cell] == second
            np.testing.assert_equal(found.means[i, j], folder.values[cell].mean())


def test_a_map_of_too_many_fields_is_left_out(folder, monkeypatch):
    monkeypatch.setattr("expectant.lab.choosing.choice_figures.MOST_FIELDS", 24)
    assert all_heat_maps(folder.groups[2], folder.values) == []


def test_no_text_of_a_spec_can_become_code(folder):
    text = page_of(folder)
    assert EVIL not in text
    assert "<img" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert EVIL in json.loads(data)["palette"]["plain"]["name"]
    assert page_of(folder) == text


def test_confirmed_choices_are_shown_if_they_are_of_this_spec(place, tmp_path, undrawn):
    folder = shutil.copytree(place, tmp_path / "sweep")
    best(folder)
    stored = json.loads((folder / "best.json").read_text())
    stored["choices"][0].update(
        stage="fresh runs", reported={**stored["choices"][0]["reported"], "mean": 77.25}
    )
    (folder / "best.json").write_text(json.dumps(stored))
    found = run.invoke(app, ["report", str(folder)])
    assert found.exit_code == 0, found.output
    assert "77.25" in (folder / "report.html").read_text()
    (folder / "best.json").write_text(json.dumps({**stored, "spec": "another"}))
    run.invoke(app, ["report", str(folder)])
    assert "77.25" not in (folder / "report.html").read_text()


def test_figures_again(place, tmp_path):
    folder = shutil.copytree(place, tmp_path / "sweep")
    found = run.invoke(app, ["report", str(folder)])
    assert found.exit_code == 0, found.output
    assert len(found.stdout.split()) == 9
    (folder / "cells.parquet").unlink()  # as if the sweep had been interrupted
    found = run.invoke(app, ["report", str(folder)])
    assert found.exit_code == 0 and "the sweep is not finished" in found.stderr
    (folder / "spec.toml").unlink()
    for command in ("report", "best"):
        found = run.invoke(app, [command, str(folder)])
        assert found.exit_code == 2 and "sweep: is no folder of results" in found.stderr


@pytest.mark.parametrize("runs", [1, 2])
def test_few_runs_have_a_page_too(tmp_path, runs):
    from expectant.lab.choosing.sweep_folder import read_folder
    from lab.choosing.synthetic import spec, write_sweep

    write_sweep(tmp_path, spec(runs=runs, steps=[0.1], model_steps=[0.1], slips=[0.0]))
    assert "no part in the choice" not in page_of(read_folder(tmp_path))
