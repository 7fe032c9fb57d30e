from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import expectant as ex
from expectant.experiments.cells import Cell, blocks, cell_hash
from expectant.experiments.compute import CellError, compute
from expectant.experiments.results import panels_of, read_curves, read_facts, write_curves
from expectant.experiments.store import Block, Span, Store, StoreError

CELL = Cell(
    "e", "", "text", "q", "Q", ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), 40, 25, 10, 0, 1000
)  # fmt: skip


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

    monkeypatch.setattr("expectant.experiments.on_threads.run_one", forbidden)
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


def test_what_is_missing_of_a_cell(tmp_path):
    store = Store(tmp_path)
    assert list(store.missing(CELL, [])) == [Span(0, 10), Span(10, 10), Span(20, 5)]
    assert list(store.missing(CELL, [Span(0, 10), Span(20, 3)])) == [Span(10, 10), Span(23, 2)]
    assert list(store.missing(CELL, [Span(0, 10), Span(10, 10), Span(20, 10)])) == []


def test_a_block_goes_through_its_file(tmp_path):
    store = Store(tmp_path, {"spec": "abc"})
    curves = np.random.default_rng(0).normal(size=(3, 4))
    curves[1, 2:] = np.nan
    block = Block(curves, np.array([False, True, False]), curves + 1.0)
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
