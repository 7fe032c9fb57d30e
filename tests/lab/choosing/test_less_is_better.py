"""Sweeps of which less is better, by what they record or by the measure: errors, lengths, drops."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import expectant
from expectant.lab.choosing.best_command import best
from expectant.lab.choosing.choice_page import cells_of, report_sweep
from expectant.lab.choosing.choice_table import best_text
from expectant.lab.choosing.scores import measured
from expectant.lab.choosing.sweep_folder import read_folder
from expectant.lab.looks import LOOKS
from expectant.lab.measures import MEASURES
from expectant.lab.search import _rank
from expectant.lab.specs.spec import parse_spec
from lab.choosing.synthetic import level, spec, write_sweep

SMALL = spec(runs=4, steps=(0.01, 0.1), model_steps=(0.01, 0.1), slips=(0.0,))
LESS = {"diverged", "worsened", "shortfall", "regret", "drop", "recovery", "unsteadiness",
        "settling", "attainment"}  # fmt: skip
MORE = {"regret-falls", "learned-share", "adaptation"}
BAD_LOOKS = {"solving_updates", "largest_value", "value_error", "squared_error", "known_error",
             "outdated_actions", "value_change"}  # fmt: skip


def recording(what: str) -> str:
    return SMALL.replace("bin = 10", f"record = {what}\nbin = 10")


def of_look(name: str) -> str:
    return f'{{ look = "{name}", every = 30 }}'


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_says_which_way_is_better(name):
    expected = (True, True) if name in LESS else (False, False) if name in MORE else (False, True)
    assert (MEASURES[name].prefers_less(False), MEASURES[name].prefers_less(True)) == expected


@pytest.mark.parametrize("name", LOOKS)
def test_every_look_says_which_way_is_better(name):
    assert LOOKS[name].of_errors == (name in BAD_LOOKS)
    assert parse_spec(recording(of_look(name)), "x.toml").of_errors == (name in BAD_LOOKS)


@pytest.mark.parametrize(
    ("what", "less"),
    [('["return"]', False), ('["length"]', True), ('["return", "length"]', False)],
)
def test_shorter_episodes_are_better_where_those_are_the_curve(what, less):
    assert parse_spec(recording(what), "x.toml").of_errors == less


@pytest.mark.parametrize(
    ("what", "measure", "less"),
    [
        ('["return"]', "mean", False),
        ('["length"]', "mean", True),
        ('["length"]', "final", True),
        (of_look("value_error"), "mean", True),
        (of_look("value_error"), "last", True),
        (of_look("greedy_return"), "mean", False),
        (of_look("greedy_return"), "last", False),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_the_best_is_the_least_where_less_is_better(tmp_path, what, measure, less):
    """The curves rise to the same level whatever they are of; steps of 0.1 rise highest."""
    write_sweep(tmp_path, recording(what), noise=0.01)
    found = best(tmp_path, measure=measure)
    wanted = 0.01 if less else 0.1
    for choice in found.choices:
        assert set(choice.settings(choice.best).values()) == {wanted}
        assert choice.by_all == choice.best and choice.no_worse == (choice.best,)
        assert choice.reported is not None and abs(choice.reported.mean) > 0.0
    assert json.loads((tmp_path / "best.json").read_text())["less_is_better"] == less
    assert ("less is better" in str(best_text(found)[0].title)) == less


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("measure", ["drop", "recovery", "unsteadiness"])
def test_measures_of_returns_of_which_less_is_better(tmp_path, measure):
    """Curves of random numbers: whatever the measure makes of them, the least is chosen."""
    rng, text = np.random.default_rng(1), SMALL
    write_sweep(tmp_path, text, value=lambda cell: level(cell) + float(rng.normal()))
    found = best(tmp_path, measure=measure)
    values = measured(found.folder, MEASURES[measure])
    for choice in found.choices:
        means = values[choice.group.rows][:, :2].mean(axis=1)
        assert choice.best == choice.group.rows[np.argmin(means)]


def test_the_page_of_looks(tmp_path):
    """Looks stand where they were taken, are called what they are, and the least is ringed."""
    text = recording(of_look("value_error"))
    cells = write_sweep(tmp_path, text, noise=0.01)
    folder = read_folder(tmp_path)
    found = cells_of(folder)
    assert found.curves.shape[2] == cells[0].firsts.size == 10
    np.testing.assert_array_equal(found.positions, cells[0].firsts)
    assert found.curve_name == found.quantity == "error of the state values"
    mean = found.measures[0]
    assert mean.meaning.endswith(", less is better")
    ahead = next(n for n, group in enumerate(found.groups) if group.agent == "ahead")
    (heat,) = mean.maps[ahead]
    assert heat.best == heat.lowest == np.nanmin(heat.means)
    lines = mean.lines[found.groups[0].problem]
    assert all(line.best[0] == line.envelope[:, 0].min() for line in lines)
    page = report_sweep(tmp_path)
    assert "error of the state values" in page.read_text()
    assert "return per episode" not in page.read_text()


def test_the_page_of_domains_that_are_looked_at_at_different_times(tmp_path):
    text = recording(of_look("value_error")).replace("domain.slip", "domain.switch_every")
    text = text.replace("[0.0]", "[100, 70]").replace("switch_every = 100", "", 1)
    write_sweep(tmp_path, text)
    found = cells_of(read_folder(tmp_path))
    assert (
        found.positions.size == found.curves.shape[2] == 11
    )  # after 0, 30, 60, 70 | 70, … | 140, …
    assert np.isfinite(found.curves).all()


def test_the_packaged_study_of_a_local_change_has_a_page(tmp_path):
    """43 looks in 100,000 steps that would make 100 bins."""
    studies = Path(expectant.__file__).parent / "studies"
    text = (studies / "backup-distributions/loca-grid-tuning.toml").read_text()
    write_sweep(tmp_path, text, value=lambda cell: 1.0)
    cells = cells_of(read_folder(tmp_path))
    assert cells.curves.shape[2] == cells.positions.size == 43


def test_trials_are_ranked_by_what_is_better():
    assert sorted([3.0, None, 1.0], key=lambda v: -_rank(v, less=True)) == [1.0, 3.0, None]
    assert sorted([3.0, None, 1.0], key=lambda v: -_rank(v, less=False)) == [3.0, 1.0, None]
