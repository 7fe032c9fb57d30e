from __future__ import annotations

import errno
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from faults import unreadable
from pyarrow import parquet

import expectant as ex
from expectant.agents.q_learning import QLearningPart
from expectant.lab.cells import Cell, blocks, cell_hash
from expectant.lab.engines.compute import CellError, compute
from expectant.lab.store.block import facts_about, table_of
from expectant.lab.store.results import panels_of, read_curves, read_facts, write_curves
from expectant.lab.store.sealed_tables import write_table
from expectant.lab.store.store import Block, Span, Store, StoreError, index_of
from expectant.verbs import learn

CELL = Cell(
    experiment="e",
    panel="",
    reading="text",
    agent_key="q",
    label="Q",
    domain=ex.Corridor(),
    features=ex.OneHot(),
    agent=ex.QLearning(0.1),
    episodes=40,
    runs=25,
    bin=10,
    seed=0,
    step_limit=1000,
)


def test_blocks_cover_all_runs_once():
    assert list(blocks(25)) == [(0, 10), (10, 10), (20, 5)]


def test_the_hash_follows_what_decides_the_numbers():
    same = replace(
        CELL, experiment="f", panel="p", reading="code", agent_key="k", label="l", runs=3
    )
    assert cell_hash(same) == cell_hash(CELL)
    for changes in (
        {"agent": ex.QLearning(0.2)}, {"domain": ex.Corridor(slip=0.2)}, {"episodes": 41},
        {"features": ex.RandomBinary(9, 1)}, {"seed": 1}, {"bin": 5}, {"step_limit": 10},
        {"lengths": True}, {"episodes": 0, "steps": 40},
    ):  # fmt: skip
        assert cell_hash(replace(CELL, **changes)) != cell_hash(CELL)
    own = replace(CELL, step_limit=None)  # the corridor has none of its own, so it is 10,000
    assert cell_hash(own) == cell_hash(replace(CELL, step_limit=10_000)) != cell_hash(CELL)


def test_computed_once_and_then_loaded(tmp_path, monkeypatch):
    store = Store(tmp_path)
    (first,) = compute([CELL], store)
    assert first.shape == (25, 4)
    direct = ex.run(CELL.domain, CELL.features, CELL.agent, episodes=40, runs=25, step_limit=1000)
    np.testing.assert_array_equal(first, ex.analysis.learning_curve(direct.returns, 10))

    def forbidden(*arguments, **keywords):
        raise AssertionError("computed again")

    monkeypatch.setattr("expectant.lab.engines.on_threads.run_one", forbidden)
    again, fewer = compute([CELL, replace(CELL, runs=20, label="other")], store)
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(fewer, first[:20])
    with pytest.raises(CellError, match="text/q: AssertionError: computed again"):
        compute([replace(CELL, runs=30)], store)


def test_broken_files_are_computed_again(tmp_path):
    store = Store(tmp_path)
    (first,) = compute([CELL], store)
    files = sorted(store.folder.iterdir())
    assert len(files) == 3
    files[0].write_bytes(files[0].read_bytes()[:50])
    files[1].write_bytes(b"something else")
    content = bytearray(files[2].read_bytes())
    content[100:140] = bytes(40)  # its end, which says what is in it, is whole
    files[2].write_bytes(content)
    (again,) = compute([CELL], store)
    np.testing.assert_array_equal(again, first)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write results to"):
        Store(tmp_path / "file").save("x", 0, Block(np.zeros((1, 1)), np.zeros(1, bool)), CELL)


def test_curves_go_through_the_file(tmp_path):
    curve = np.random.default_rng(0).normal(size=(25, 4))
    curve[3, 2:] = np.nan
    panels = panels_of([CELL], [curve])
    assert panels[0].optimum == pytest.approx(13.924, abs=1e-3)
    write_curves(tmp_path / "c.parquet", panels, {"seed": 7})
    (again,) = read_curves(tmp_path / "c.parquet", [CELL])
    facts = read_facts(tmp_path / "c.parquet")
    np.testing.assert_array_equal(again, curve)
    assert facts == {"seed": 7}
    with pytest.raises(ValueError, match="holds no curve of 'other'"):
        read_curves(tmp_path / "c.parquet", [replace(CELL, agent_key="other")])


def test_curves_of_every_place_are_told_apart_and_counted_in_what_they_are_of(tmp_path):
    """Figures, panels, readings and agents; bins of episodes or of steps, of all runs."""
    cells = [
        replace(CELL, experiment=e, panel=p, reading=r, agent_key=a)
        for e, p, r, a in ("eprq", "fprq", "eqrq", "epsq", "eprp")
    ]
    curves = [np.arange(8.0).reshape(2, 4) + 10 * number for number in range(len(cells))]
    panels = panels_of(cells, curves)
    panels = [replace(panels[0], unit="step"), *panels[1:]]
    path = tmp_path / "c.parquet"
    write_curves(path, panels, {})
    for curve, again in zip(curves, read_curves(path, cells), strict=True):
        np.testing.assert_array_equal(again, curve)
    table = parquet.read_table(path).to_pylist()
    first = [row for row in table if (row["figure"], row["panel"], row["reading"]) == (*"epr",)]
    others = [row for row in table if row not in first]
    assert len(first) == 2 * 8 and len(others) == 3 * 8
    assert [row["run"] for row in first[:8]] == [0] * 4 + [1] * 4
    assert [row["bin"] for row in first[:8]] == [0, 1, 2, 3] * 2
    assert [row["first_step"] for row in first[:4]] == [0, 10, 20, 30]
    assert {row["first_episode"] for row in first} == {None}
    assert [row["first_episode"] for row in others[:4]] == [0, 10, 20, 30]
    assert {row["first_step"] for row in others} == {None}


def test_what_is_missing_of_a_cell(tmp_path):
    store = Store(tmp_path)
    assert list(store.missing(CELL, [])) == [Span(0, 10), Span(10, 10), Span(20, 5)]
    assert list(store.missing(CELL, [Span(0, 10), Span(20, 3)])) == [Span(10, 10), Span(23, 2)]
    assert list(store.missing(CELL, [Span(0, 10), Span(10, 10), Span(20, 10)])) == []


def test_what_is_not_named_like_a_block_is_none(tmp_path):
    for name in ("abc-0-10", "abc-10-5", "abc-first-10", "abc-0-last", "of-another-3-1", "abc-1"):
        (tmp_path / f"{name}.parquet").touch()
    (tmp_path / "abc-20-5.txt").touch()
    assert index_of(tmp_path) == {"abc": [Span(0, 10), Span(10, 5)], "of-another": [Span(3, 1)]}


def test_a_block_goes_through_its_file(tmp_path):
    store = Store(tmp_path, {"spec": "abc"})
    curves = np.random.default_rng(0).normal(size=(3, 4))
    curves[1, 2:] = np.nan
    reasons = ["", "planning is diverging: ε", ""]
    block = Block(curves, np.array([False, True, False]), curves + 1.0, [0, 3, 10**12], reasons)
    store.save("name", 5, block, CELL)
    found = store.load("name", Span(5, 3))
    assert found is not None
    for one, other in zip(found, block, strict=True):
        np.testing.assert_array_equal(one, other)
    facts = store.facts_of("name", Span(5, 3))
    assert facts is not None and facts.cell == "text/q" and facts.diverged == [False, True, False]
    np.testing.assert_array_equal(facts.means, curves.mean(axis=1))
    assert store.index() == {"name": [Span(5, 3)]}
    assert store.load("name", Span(0, 3)) is None and store.facts_of("name", Span(0, 3)) is None


# ------------------------------------------------------------------- what is not what it seems


@pytest.fixture
def stored(tmp_path):
    """A store with one block of three runs, and the block."""
    store = Store(tmp_path)
    block = Block(np.random.default_rng(0).normal(size=(3, 4)), np.array([False, True, False]))
    store.save("name", 0, block, CELL)
    return store, block


def test_no_byte_of_a_block_can_change_unnoticed(stored):
    store, _ = stored
    path = store.path("name", 0, 3)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(bytes([*content[:place], content[place] ^ 16, *content[place + 1 :]]))
        assert store.facts_of("name", Span(0, 3)) is None
        assert store.load("name", Span(0, 3)) is None
        assert store.curves("name", [Span(0, 3)], 3) is None
    path.write_bytes(content)
    assert store.facts_of("name", Span(0, 3)) is not None


def test_a_block_under_the_name_of_another_is_not_taken_for_it(stored):
    store, block = stored
    content = store.path("name", 0, 3).read_bytes()
    store.path("other", 0, 3).write_bytes(content)
    store.path("name", 3, 3).write_bytes(content)
    for name, first in (("other", 0), ("name", 3)):
        assert store.facts_of(name, Span(first, 3)) is None
        assert store.load(name, Span(first, 3)) is None
        assert store.curves(name, [Span(first, 3)], 3) is None
    store.path("name", 0, 2).write_bytes(content)  # of the same first run, but of more than two
    assert store.facts_of("name", Span(0, 2)) is None
    found = store.curves("name", [Span(0, 3)], 3)
    np.testing.assert_array_equal(found, block.curves)
    assert store.curves("name", [Span(0, 3)], 4) is None  # a run is missing


def test_a_block_has_as_many_rows_as_it_says(stored):
    store, block = stored
    facts = facts_about("name", 0, block, CELL, {})
    table, path = table_of(block, CELL, facts), store.path("name", 0, 3)
    write_table(table, path)
    assert store.facts_of("name", Span(0, 3)) is not None
    write_table(table.slice(0, 8), path)  # sealed, but of two runs
    assert store.facts_of("name", Span(0, 3)) is None


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_a_block_that_cannot_be_read_is_no_damaged_one(tmp_path, monkeypatch, number):
    store = Store(tmp_path)
    compute([CELL], store)
    before = {path.name: path.read_bytes() for path in store.folder.iterdir()}
    path = store.path(cell_hash(CELL), 10, 10)
    with unreadable(monkeypatch, path, number), pytest.raises(StoreError, match=rf"cannot read .*{path.name}: {os.strerror(number)}"):  # fmt: skip
        compute([CELL], store)
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == before


def test_settings_that_are_not_the_cells_are_not_used(tmp_path, capsys):
    """As after a change by hand, with a new seal."""
    store = Store(tmp_path)
    (first,) = compute([CELL], store)
    other = replace(CELL, agent=ex.QLearning(0.2))
    store.save(cell_hash(CELL), 0, Block(np.zeros((10, 4)), np.zeros(10, bool)), other)
    (again,) = compute([CELL], store)
    np.testing.assert_array_equal(again, first)
    assert capsys.readouterr().err.count("1 blocks in") == 1


def test_blocks_of_an_earlier_version_are_computed_again(tmp_path, capsys):
    store = Store(tmp_path)
    (first,) = compute([CELL], store)
    for path in store.folder.iterdir():
        table = parquet.read_table(path)
        parquet.write_table(table.replace_schema_metadata({b"expectant": b"{}"}), path)
    (again,) = compute([CELL], store)
    np.testing.assert_array_equal(again, first)
    said = capsys.readouterr().err
    assert said.count("3 blocks in") == 1 and "damaged, or of an earlier version" in said


def test_a_disk_that_damages_everything_is_not_tried_for_ever(tmp_path, monkeypatch):
    store = Store(tmp_path)
    compute([CELL], store)
    monkeypatch.setattr(Store, "curves", lambda *_: None)
    with pytest.raises(StoreError, match="damaged while they are read; check the disk"):
        compute([CELL], store)


@pytest.mark.parametrize("place", [60, -60])
def test_damaged_curves_are_named(tmp_path, place):
    path = tmp_path / "c.parquet"
    write_curves(path, panels_of([CELL], [np.zeros((25, 4))]), {})
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    for read in (lambda: read_curves(path, [CELL]), lambda: read_facts(path)):
        with pytest.raises(ValueError, match=r"c\.parquet: is damaged; run the command that wrote"):
            read()


# -------------------------------------------------------------------------- the code in the hash


def test_changed_code_gives_another_name():
    known: Any = learn.implementations[QLearningPart]
    before = cell_hash(CELL)

    @learn.register(QLearningPart)
    def _(agent, transition, rng):
        return known(agent, transition, rng) + 0.0

    try:
        assert cell_hash(CELL) != before
    finally:
        learn.register(QLearningPart)(known)
    assert cell_hash(CELL) == before


def test_first_steps_beyond_32_bits(tmp_path):
    """A curve of fewer points than that can be of more steps."""
    path = tmp_path / "curves.parquet"
    cell = replace(CELL, episodes=0, steps=2**33, bins=4)
    write_curves(path, panels_of([cell], [np.zeros((2, 4))]), {})
    found = parquet.read_table(path)["first_step"].to_pylist()
    assert found == [0, 2**31, 2**32, 3 * 2**31] * 2
