from __future__ import annotations

import errno
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow
import pytest
from faults import unreadable
from pyarrow import parquet
from typer.testing import CliRunner

import expectant as ex
from expectant.analysis.selection import halves
from expectant.cli import app
from expectant.lab.choosing import confirming
from expectant.lab.choosing.best_command import best
from expectant.lab.choosing.choice_page import _group_of, cells_of
from expectant.lab.choosing.scores import curves_of_cell, measured
from expectant.lab.choosing.stages import FRESH, HALVES, SAME, choices, choose_in_group, mean_score
from expectant.lab.choosing.sweep_folder import read_folder, written_cells
from expectant.lab.engines.compute import Shard
from expectant.lab.engines.tasks import Kernels
from expectant.lab.measures import MEASURES, measure_named
from expectant.lab.specs.spec import parse_spec
from expectant.lab.store.store import Store
from expectant.lab.sweep import run_sweep
from lab.choosing.synthetic import spec, write_sweep

run = CliRunner()

TINY = """
name = "tiny"
episodes = 20
runs = 5
bin = 5
[domain]
kind = "corridor"
cells = 3
[features]
kind = "one_hot"
[agents.plain]
kind = "q_learning"
grid = { action_step = [0.001, 0.5] }
"""


def test_groups_are_agents_in_domains(folder):
    assert [(group.agent, group.problem) for group in folder.groups] == [
        ("plain", "domain.slip=0"), ("plain", "domain.slip=0.1"),
        ("ahead", "domain.slip=0"), ("ahead", "domain.slip=0.1"),
    ]  # fmt: skip
    plain, _, ahead, _ = folder.groups
    assert list(plain.settings) == ["agent.action_step"]
    assert list(ahead.settings) == ["agent.value_step", "agent.model_step"]
    assert (len(plain.rows), len(ahead.rows)) == (5, 25)
    rows = np.concatenate([group.rows for group in folder.groups])
    assert sorted(rows) == list(range(60))


def test_a_problem_is_named_by_what_differs_in_it(folder):
    """Other panels may have other settings of the domain, which their own names tell."""
    same = folder.table.append_column("domain.cells", [[9] * folder.table.num_rows])
    problems = [group.problem for group in replace(folder, table=same).groups]
    assert problems == [group.problem for group in folder.groups]


def test_cells_know_their_names_in_the_spec(folder):
    columns = folder.columns
    assert {*columns["base_agent"]} == {"plain", "ahead"} == {g.agent for g in folder.groups}
    assert all(
        a.split(" ")[0] == b for a, b in zip(columns["agent"], columns["base_agent"], strict=True)
    )


def test_cells_that_are_not_in_the_spec_are_told(folder):
    other = replace(folder.experiment.panels[0], agents={"other": {"kind": "q_learning"}})
    changed = replace(folder, experiment=replace(folder.experiment, panels=(other,)))
    with pytest.raises(ValueError, match="is not in the spec beside it"):
        changed.groups  # noqa: B018


def test_measures_are_means_of_some_bins(folder):
    row = 7
    curves = curves_of_cell(folder, folder.columns["hash"][row])
    assert curves.shape == (8, 20)
    for name, first in (("mean", 0), ("final", 15), ("after-switch", 10)):
        found = measured(folder, MEASURES[name])
        np.testing.assert_allclose(found[row], curves[:, first:].mean(axis=1))
    with pytest.raises(ValueError, match=r"--measure: unknown 'finl', did you mean 'final'"):
        measure_named("finl", "--measure")


@pytest.mark.parametrize("switch", ["", "switch_every = 195"])
def test_after_switch_needs_a_goal_that_moves(tmp_path, switch):
    text = spec(steps=[0.1], model_steps=[0.1]).replace("switch_every = 100", switch)
    write_sweep(tmp_path, text)
    found = run.invoke(app, ["best", str(tmp_path), "--measure", "after-switch"])
    assert found.exit_code == 2
    assert re.search("the goal (never moves|does not move before the last bin)", found.stderr)


def test_halves_pick_and_report_with_different_runs(folder):
    """What the second half says cannot change the choice, only what is reported of it."""
    group = folder.groups[2]
    values = folder.values.copy()
    (before,) = (found for found in choices(folder, values) if found.group is group)
    assert before.stage == HALVES
    ids = folder.columns["cell"]
    assert ids[before.best] == "domain.slip=0/ahead model_step=0.1 value_step=0.1"
    values[before.best, 4:] -= 100.0
    after = choose_in_group(group, values)
    assert (after.best, after.picked) == (before.best, before.picked)
    assert before.reported is not None and after.reported is not None
    assert after.reported.mean == pytest.approx(before.reported.mean - 100.0)
    assert after.by_all != after.best
    assert len(after.no_worse) == 20  # all that did not diverge


def test_diverged_settings_are_counted_and_never_best(folder):
    group = folder.groups[2]
    values = folder.values.copy()
    wild = [
        row
        for row, step in zip(group.rows, group.settings["agent.value_step"], strict=True)
        if step == 1.0
    ]
    values[wild, 2:] = 1e6  # their other runs are splendid
    found = choose_in_group(group, values)
    assert (found.tried, found.diverged) == (25, 5)
    assert found.best not in wild and not set(wild) & set(found.no_worse)
    values[group.rows, 0] = np.nan
    nothing = choose_in_group(group, values)
    assert nothing.best is None and nothing.no_worse == () and nothing.diverged == 25


@pytest.mark.parametrize("lost", [0, 3, 4, 7])
def test_one_diverged_run_in_either_half_is_enough(folder, lost):
    """A setting that is splendid in all runs but one, whichever half that one is in."""
    group, values = folder.groups[0], folder.values.copy()
    splendid = int(group.rows[1])
    values[splendid] = 1e6
    assert (
        choose_in_group(group, values).best
        == choose_in_group(group, values, split=False).best
        == splendid
    )
    values[splendid, lost] = np.nan
    for split in (True, False):
        found = choose_in_group(group, values, split=split)
        assert splendid not in (found.best, found.by_all)
        assert splendid not in found.no_worse and found.diverged == 1
    values[splendid, lost] = np.inf
    assert choose_in_group(group, values).best != splendid


def test_a_score_by_hand(folder):
    found = mean_score(np.array([1.0, 2.0, 3.0, 6.0]))
    assert (found.mean, found.runs, found.diverged) == (3.0, 4, 0)
    assert 1.0 <= found.low < 3.0 < found.high <= 6.0
    assert found.as_data() == found._asdict()
    lost = mean_score(np.array([1.0, np.nan, np.inf]))
    assert (lost.runs, lost.diverged) == (3, 2)
    assert lost.as_data() == {"mean": None, "low": None, "high": None, "runs": 3, "diverged": 2}


def test_what_is_chosen_are_rows_of_the_table(folder):
    for group in folder.groups:
        found = choose_in_group(group, folder.values)
        assert found.best in found.no_worse and found.by_all in group.rows
        assert set(found.no_worse) <= set(group.rows.tolist())


def test_few_runs_pick_and_report_together(folder):
    found = choose_in_group(folder.groups[0], folder.values[:, :3])
    assert found.stage == SAME and found.picked == found.reported
    assert np.isnan(mean_score(np.array([1.0])).low)


def test_selection_is_too_optimistic_without_a_second_stage(tmp_path):
    """Many settings that are all the same: the best looks better than it is, its second half not."""
    text = spec(steps=[round(0.01 * n, 2) for n in range(1, 61)], model_steps=[0.1], slips=[0.0])
    write_sweep(tmp_path, text, value=lambda cell: 0.0, noise=1.0)
    folder = read_folder(tmp_path)
    truth = float(np.mean(folder.values))
    for found in choices(folder, folder.values):
        assert found.picked is not None and found.reported is not None
        assert found.picked.mean > truth + 0.5
        assert abs(found.reported.mean - truth) < 1.5
        assert len(found.no_worse) > 50


def test_unfinished_cells_are_left_out_and_counted(place, tmp_path):
    shutil.copytree(place, tmp_path / "part")
    table = parquet.read_table(tmp_path / "part" / "cells.parquet")
    columns = table.to_pydict()
    columns["runs"][2], columns["values"][2] = 4, columns["values"][2][:4]
    parquet.write_table(pyarrow.table(columns), tmp_path / "part" / "cells.parquet")
    folder = read_folder(tmp_path / "part")
    found = choices(folder, folder.values)[0]
    assert found.tried == 4 and found.group.unfinished.tolist() == [2]
    assert found.best != 2 and found.diverged == 0


def test_cells_belong_to_their_groups_whether_finished_or_not(folder):
    first, *others, last = folder.groups
    left_out = replace(last, rows=last.rows[1:], unfinished=last.rows[:1])
    folder.__dict__["groups"] = [first, *others, left_out]
    assert _group_of(folder)[last.rows[0]] == len(folder.groups) - 1
    assert [_group_of(folder).count(place) for place in range(len(folder.groups))] == [
        len(group.rows) + len(group.unfinished) for group in folder.groups
    ]


def test_the_command_prints_and_writes(place, tmp_path):
    found = run.invoke(app, ["best", str(place), "--out", str(tmp_path), "--measure", "final"])
    assert found.exit_code == 0, found.output
    assert "picked by the first half" in found.stdout.lower() and "Holm" in found.stdout
    data = json.loads((tmp_path / "best.json").read_text())
    assert data["measure"] == "final" and len(data["choices"]) == 4
    choice = data["choices"][2]
    assert choice["settings"] == {"agent.value_step": 0.1, "agent.model_step": 0.1}
    assert (
        choice["reported"]["runs"] == 4 and choice["reported"]["low"] < choice["reported"]["mean"]
    )
    assert choice["diverged"] == 5 and choice["best"] in choice["no_worse_cells"]
    names = {path.name for path in tmp_path.iterdir()}
    assert {"sensitivity-1-domain-slip-0.png", "heat-2-domain-slip-0-1.svg"} <= names
    assert run.invoke(app, ["best", str(tmp_path)]).exit_code == 2
    assert "confirm" in run.invoke(app, ["best", str(place), "--confirm", "0"]).stderr


def test_as_json(place, tmp_path, undrawn):
    found = run.invoke(app, ["best", str(place), "--out", str(tmp_path), "--json"])
    assert json.loads(found.stdout) == json.loads((tmp_path / "best.json").read_text())


@pytest.fixture
def slow(monkeypatch):
    """Fresh runs without compiling."""
    monkeypatch.setattr("expectant.lab.engines.compute.Kernels", lambda: Kernels(False))


def test_fresh_runs_come_after_those_of_the_sweep(tmp_path, slow, undrawn):
    run_sweep(parse_spec(TINY, "tiny.toml"), TINY, tmp_path, compiled=False)
    table = (tmp_path / "cells.parquet").read_bytes()
    found = best(tmp_path, confirm=7)
    (choice,) = found.choices
    assert choice.stage == FRESH and choice.picked is not None and choice.reported is not None
    assert choice.settings(choice.best) == {"agent.action_step": 0.5}
    direct = ex.run(
        ex.Corridor(cells=3), ex.OneHot(), ex.QLearning(0.5), episodes=20, runs=12, compiled=False, progress=False
    ).returns.mean(axis=1)  # fmt: skip
    assert choice.picked.mean == pytest.approx(direct[:5].mean())
    assert choice.reported.mean == pytest.approx(direct[5:].mean())
    assert choice.reported.runs == 7
    spans = Store(tmp_path).index()
    assert sorted(sum(span.size for span in some) for some in spans.values()) == [5, 12]

    # Asking again computes nothing, and the sweep itself is as it was.
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "blocks").iterdir()}
    assert best(tmp_path, confirm=7).choices[0].reported == choice.reported
    outcome = run_sweep(parse_spec(TINY, "tiny.toml"), TINY, tmp_path, compiled=False)
    assert outcome.computed == 0 and (tmp_path / "cells.parquet").read_bytes() == table
    assert before == {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "blocks").iterdir()
    }


def test_fresh_runs_need_the_code_of_the_sweep(place, folder, slow):
    """The made-up folder has names that no code has."""
    with pytest.raises(ValueError, match="has changed since"):
        confirming.cell_of(folder, 0, 9)
    found = run.invoke(app, ["best", str(place), "--confirm", "2"])
    assert found.exit_code == 2 and "run `expectant run` again" in found.stderr


def test_damaged_blocks_are_named(place, tmp_path):
    shutil.copytree(place, tmp_path / "bad")
    block = next((tmp_path / "bad" / "blocks").iterdir())
    block.write_bytes(block.read_bytes()[:100])
    found = run.invoke(app, ["best", str(tmp_path / "bad"), "--measure", "final"])
    assert found.exit_code == 2 and "missing or damaged" in found.stderr


def test_what_best_calls_damaged_is_repaired_by_sweep(tmp_path, undrawn):
    spoilt = tmp_path / "tiny"
    run_sweep(parse_spec(TINY, "tiny.toml"), TINY, spoilt, compiled=False)
    before = run.invoke(app, ["best", str(spoilt), "--measure", "final", "--json"]).stdout
    for path in (spoilt / "blocks").iterdir():
        content = bytearray(path.read_bytes())
        content[200] ^= 1  # a value, not the end of the file
        path.write_bytes(content)
    found = run.invoke(app, ["best", str(spoilt), "--measure", "final"])
    assert found.exit_code == 2 and "damaged; run `expectant run` again" in found.stderr
    assert run_sweep(parse_spec(TINY, "tiny.toml"), TINY, spoilt, compiled=False).computed == 2
    assert run.invoke(app, ["best", str(spoilt), "--measure", "final", "--json"]).stdout == before


def test_swapped_blocks_are_not_read(place, tmp_path):
    folder = shutil.copytree(place, tmp_path / "swapped")
    one, other = sorted((folder / "blocks").iterdir())[:2]
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    for command in (["best", str(folder), "--measure", "final"], ["report", str(folder)]):
        found = run.invoke(app, command)
        assert found.exit_code == 2 and "missing or damaged" in found.stderr


def test_a_block_that_cannot_be_read_is_an_error_of_the_disk(place, tmp_path, monkeypatch):
    folder = shutil.copytree(place, tmp_path / "locked")
    block = next((folder / "blocks").iterdir())
    with unreadable(monkeypatch, block, errno.EACCES):
        found = run.invoke(app, ["best", str(folder), "--measure", "final"])
    assert found.exit_code == 1 and f"{block.name}: Permission denied" in found.stderr
    assert block.exists()
    (folder / "best.json").write_text("{}")
    with unreadable(monkeypatch, folder / "best.json", errno.EIO):
        found = run.invoke(app, ["report", str(folder)])
    assert found.exit_code == 1 and "best.json: Input/output error" in found.stderr


def test_a_sweep_without_a_title_goes_by_its_name(place, tmp_path):
    folder = shutil.copytree(place, tmp_path / "mine")
    text = (folder / "spec.toml").read_text()
    without = "\n".join(line for line in text.splitlines() if not line.startswith("title"))
    (folder / "spec.toml").write_text(without)
    assert read_folder(folder).experiment.title == "made-up"
    (folder / "spec.toml").write_text(without.replace('name = "made-up"', ""))
    assert read_folder(folder).experiment.title == "mine"
    assert read_folder(folder).experiment.name == "mine"
    hidden = folder.rename(tmp_path / ".mine")  # which no results/NAME can be
    assert read_folder(hidden).experiment.name == "spec"


def finish(folder, text, **options):
    return run_sweep(parse_spec(text, "tiny.toml"), text, folder, compiled=False, **options)


def interrupted(folder, text, monkeypatch, blocks):
    """A sweep that was stopped after so many blocks."""
    save, left = Store.save, iter(range(blocks))

    def save_some(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return save(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "save", save_some)
        with pytest.raises(KeyboardInterrupt):
            finish(folder, text)


def chosen(folder):
    found = run.invoke(app, ["best", str(folder), "--json"])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["choices"][0]


LONGER = TINY.replace("episodes = 20", "episodes = 40")


def test_an_interrupted_sweep_of_another_spec_is_not_taken_for_the_earlier_one(
    tmp_path, undrawn, monkeypatch
):
    """Numbers of the earlier spec would pass for those of the new one."""
    folder, fresh = tmp_path / "tiny", tmp_path / "fresh"
    finish(folder, TINY)
    assert chosen(folder)["tried"] == 2
    for name in ("report.html", "sensitivity-1-a.png", "heat.svg", "my-notes.txt"):
        (folder / name).write_text("")
    interrupted(folder, LONGER, monkeypatch, 1)
    made = {"cells.parquet", "best.json", "report.html", "sensitivity-1-a.png", "heat.svg"}
    assert made < {path.name for path in (folder / "set-aside").iterdir()}
    left = {path.name for path in folder.iterdir()}
    assert not made & left and "my-notes.txt" in left
    finish(fresh, LONGER)
    second = [float(runs[halves(5)[1]].mean()) for runs in read_folder(fresh).values]
    found = chosen(folder)
    assert (found["tried"], found["unfinished"]) == (1, 1)
    assert found["reported"]["mean"] in second
    finish(folder, LONGER)  # beside the best.json of one cell
    assert cells_of(read_folder(folder)).measures[0].choices[0]["tried"] == 2


def test_a_table_that_a_shard_of_another_spec_finds_is_not_used(tmp_path, undrawn):
    """Shards leave the earlier blocks where they are, and the table beside them."""
    finish(tmp_path, TINY)
    finish(tmp_path, LONGER, shard=Shard(1, 2))
    assert (tmp_path / "cells.parquet").exists()
    found = chosen(tmp_path)
    assert (found["tried"], found["unfinished"]) == (1, 1)


def test_a_table_without_a_word_about_its_spec_goes_by_the_blocks(tmp_path, undrawn, monkeypatch):
    finish(tmp_path, TINY)
    table = parquet.read_table(tmp_path / "cells.parquet").replace_schema_metadata(None)
    parquet.write_table(table, tmp_path / "cells.parquet")
    earlier = (tmp_path / "cells.parquet").read_bytes()
    assert chosen(tmp_path)["tried"] == 2
    interrupted(tmp_path, LONGER, monkeypatch, 0)
    (tmp_path / "cells.parquet").write_bytes(earlier)
    assert chosen(tmp_path)["tried"] == 0


def test_blocks_by_other_code_make_a_table_old(tmp_path, undrawn):
    """Of a sweep whose shards go on after the code was changed."""
    finish(tmp_path, TINY)
    block = next((tmp_path / "blocks").iterdir())
    shutil.copy(block, block.with_name("0" * 20 + block.name[20:]))
    assert written_cells(tmp_path) is None
    shutil.rmtree(tmp_path / "blocks")
    assert written_cells(tmp_path).num_rows == 2  # blocks may be deleted


def test_nothing_finished_is_not_called_diverged(tmp_path, undrawn, monkeypatch):
    interrupted(tmp_path, TINY, monkeypatch, 0)
    found = run.invoke(app, ["best", str(tmp_path)], env={"COLUMNS": "200"})
    assert found.exit_code == 0 and "none finished yet" in found.stdout
    assert "every setting diverged" not in found.stdout
