"""What is drawn, tabled and marked of a choice, with numbers worked by hand."""

from __future__ import annotations

import json
import shutil
from typing import Any

import numpy as np
import pytest

from expectant.analysis.selection import setting_intervals
from expectant.lab.choosing.choice_figures import heat_maps, sensitivities
from expectant.lab.choosing.choice_page import banded, cells_of, read_all
from expectant.lab.choosing.choice_table import _score
from expectant.lab.choosing.scores import curves_of_cell, values_of
from expectant.lab.choosing.stages import RunScore, choices, choices_as_data
from expectant.lab.choosing.sweep_folder import Group, read_folder
from expectant.lab.measures import measure_named
from expectant.show.sweep_sections import CellTable
from lab.choosing.synthetic import spec, write_sweep


def group_of(settings: dict[str, list[Any]]) -> Group:
    rows = np.arange(len(next(iter(settings.values()))))
    panel: Any = None
    return Group("one", "One", "", panel, rows, settings, np.array([], int))


# b matters most, then c, then a
THREE = group_of(
    {
        "agent.a": [1, 1, 1, 1, 2, 2, 2, 2],
        "agent.b": [1, 1, 2, 2, 1, 1, 2, 2],
        "agent.c": [1, 2, 1, 2, 1, 2, 1, 2],
    }
)
MEANS = np.array([0.0, 2.0, 10.0, 12.0, 1.0, 3.0, 11.0, 13.0])
VALUES = MEANS[:, None] + np.array([-0.5, 0.0, 0.5])


def test_the_map_has_the_two_settings_that_matter_most():
    (heat,) = heat_maps(THREE, VALUES)
    assert (heat.first, heat.second) == ("agent.b", "agent.c")
    assert heat.means.tolist() == [[1.0, 3.0], [11.0, 13.0]]  # with a at its best, 2
    assert not heat.diverged.any()
    lost = VALUES.copy()
    lost[[1, 5], 0] = np.nan  # b = 1, c = 2, whatever a is
    (heat,) = heat_maps(THREE, lost)
    assert heat.diverged.tolist() == [[False, True], [False, False]]
    assert heat_maps(group_of({"agent.a": [1, 2]}), VALUES[:2]) == []


def test_curves_of_a_setting_have_the_others_at_their_best_and_as_in_the_best():
    values = VALUES.copy()
    values[0] += 50.0  # a, b, c = 1, 1, 1 is the best of all
    found = {line.setting: line for line in sensitivities(THREE, values)}
    line = found["agent.b"]
    assert line.values == [1, 2]
    assert line.envelope[:, 0].tolist() == [50.0, 13.0]
    np.testing.assert_array_equal(line.envelope[:, 1:], setting_intervals(values)[[0, 7]])
    assert line.slice is not None and line.slice.tolist() == [50.0, 10.0]  # a and c stay at 1
    (alone,) = sensitivities(group_of({"agent.a": [1, 2]}), values[:2])
    assert alone.slice is None


def test_a_score_is_written_from_low_to_high():
    assert _score(RunScore(2.0, 1.25, 2.5, 4, 0)) == "2 (1.25 to 2.5)"
    assert _score(RunScore(np.nan, np.nan, np.nan, 4, 3)) == "3 diverged"
    assert _score(None) == "–"


def test_the_page_marks_the_settings_that_were_chosen(folder):
    cells = cells_of(folder)
    data = CellTable(cells).data("")
    assert data is not None
    for measure, values in zip(cells.measures, (folder.values, read_all(folder)[2]), strict=True):
        marked = [data["ids"][row] for row in cells.best(measure)]
        chosen = [folder.columns["cell"][found.best] for found in choices(folder, values)]
        assert marked == chosen
    assert data["groupOf"] == [
        next(place for place, group in enumerate(folder.groups) if row in group.rows)
        for row in range(60)
    ]


@pytest.mark.parametrize(("measure", "number"), [("mean", 0), ("final", 1)])
def test_what_was_confirmed_is_shown_for_the_measure_it_was_confirmed_by(
    folder, tmp_path, measure, number
):
    data = choices_as_data(folder, choices(folder, folder.values))
    stored = {
        "spec": folder.spec_hash, "cells": folder.cells_hash, "measure": measure,
        "choices": [{**data[0], "tried": 77}],
    }  # fmt: skip
    other = read_folder(shutil.copytree(folder.path, tmp_path / "sweep"))
    (other.path / "best.json").write_text(json.dumps(stored))
    tried = [measure.choices[0]["tried"] for measure in cells_of(other).measures]
    assert tried[number] == 77 and tried[1 - number] == 5


def test_points_of_a_thin_curve_share_the_bins_unevenly_where_they_must(folder, monkeypatch):
    monkeypatch.setattr("expectant.show.sweep_sections.points_for", lambda cells, bins: 3)
    curves, positions, _ = read_all(folder)
    assert positions.tolist() == [30.0, 95.0, 165.0]  # bins 0 to 5, 6 to 12, 13 to 19, of ten
    whole = curves_of_cell(folder, folder.columns["hash"][3])
    parts = [whole[:, :6], whole[:, 6:13], whole[:, 13:]]
    expected = banded(np.stack([part.mean(axis=1) for part in parts], axis=1))
    np.testing.assert_allclose(curves[3], expected, rtol=1e-5)


@pytest.mark.parametrize(("every", "first"), [(100, 10), (50, 5), (95, 10)])
def test_after_a_switch_begins_with_the_first_whole_bin_after_it(tmp_path, every, first):
    text = spec(steps=[0.1], model_steps=[0.1], slips=[0.0])
    write_sweep(tmp_path, text.replace("switch_every = 100", f"switch_every = {every}"))
    folder = read_folder(tmp_path)
    curves = np.arange(20.0)[None] ** 2
    found = values_of(folder, measure_named("after-switch"), 0, curves)
    assert found == pytest.approx(curves[:, first:].mean(axis=1))
    with pytest.raises(
        ValueError, match="--measure shortfall: compares with acting ε-greedily on q\\*"
    ):
        values_of(folder, measure_named("shortfall"), 0, curves)
