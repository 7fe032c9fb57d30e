"""Learner files: learning goes on to the same bits, damage ends in one sentence, no code runs."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hall_env import CELLS, HallEnv

import expectant as ex
from expectant.backups import replay as replay_module
from expectant.engine import learner_file as saving

PLAIN = ex.QLearning.paper(0.1)


def learner_for(agent: Any) -> Any:
    return ex.Learner(agent, ex.OneHot(), 2, states=CELLS, compiled=False, progress=False)


def drive(learner: Any) -> None:
    """Through some episodes, into the middle of one."""
    env, action = HallEnv(), None
    for _ in range(60):
        if action is None:
            action = learner.start(env.reset()[0])
        seen, reward, terminated, truncated, _ = env.step(action)
        action = learner.step(reward, seen, terminated, truncated)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    learner = learner_for(PLAIN)
    drive(learner)
    learner.save(tmp_path / "saved.npz")
    return tmp_path / "saved.npz"


def refused(path: Path, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^[^\n]*saved\.npz: [^\n]*{message}[^\n]*$"):
        ex.Learner.load(path, compiled=False)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file(saved, share):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    refused(saved, "is not a saved learner")


def test_a_flipped_bit_of_content(saved):
    """Not of the archive's time stamps and other fields, which mean nothing here."""
    whole, rng = saved.read_bytes(), np.random.default_rng(0)
    with zipfile.ZipFile(saved) as file:
        entry = file.getinfo("metadata.npy")
    first = entry.header_offset + 60 + len(entry.filename)
    for place in rng.integers(first, first + entry.compress_size - 60, 20):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8)
        saved.write_bytes(changed)
        refused(saved, "is not a saved learner, or is damaged")


def test_objects_are_not_unpickled(saved):
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("code was run",)

    np.savez(saved, metadata=np.array([Bomb()], dtype=object), checksum=np.zeros(32, np.uint8))
    refused(saved, "is not a saved learner")


def test_what_a_file_names_is_not_imported(saved, tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text("raise SystemExit('code was run')")
    monkeypatch.syspath_prepend(tmp_path)
    facts, arrays = saving.read(saved)
    saving.write_arrays(saved, {**facts, "agent": {"kind": "planted:Agent"}}, arrays)
    refused(saved, "which would be imported and run; pass trust=True")


@pytest.mark.parametrize(("place", "value", "message"), [
    ("format", 99, "has format 99, this version reads format 4"),
    ("n_actions", 10**30, "n_actions must be"),
    ("n_actions", 3, r"the array agent.weights is float64 \(2, 8\), and not float64 \(3, 8\)"),
    ("action", 2, "action must be"),
    ("components", 2, "the array domain.received"),
    ("observation_spec", {"states": 7, "bounds": None, "counts": [CELLS], "starts": [0]}, "must agree"),
    ("observation_spec", {"states": 10**9, "bounds": None, "counts": [10**9], "starts": [0]}, "are free"),
    ("agent", "q_learning", "must be a table with a kind"),
    ("streams", {}, "KeyError..world"),
    ("ties", {"bit_generator": "MT19937"}, "is not a saved learner|PCG64"),
])  # fmt: skip
def test_settings_that_the_arrays_do_not_fit(saved, place, value, message):
    facts, arrays = saving.read(saved)
    saving.write_arrays(saved, {**facts, place: value}, arrays)
    refused(saved, message)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, np.int64), "the array agent.weights is int64"),
        (np.zeros((2, 16)), "the array agent.weights is float64"),
        (np.asfortranarray(np.zeros((2, 8))), "layout"),
        (None, "the array agent.weights is missing"),
    ],
)
def test_arrays_of_another_make(saved, array, message):
    facts, arrays = saving.read(saved)
    arrays = {name: kept for name, kept in arrays.items() if name != "agent.weights"}
    saving.write_arrays(
        saved, facts, arrays if array is None else {**arrays, "agent.weights": array}
    )
    refused(saved, message)


def test_a_replay_without_limit_may_have_grown(tmp_path, monkeypatch):
    monkeypatch.setattr(replay_module, "INITIAL_CAPACITY", 16)
    learner = learner_for(
        ex.Lookahead.paper(0.1, planning_steps=2, backups=ex.backups.Replay(None))
    )
    drive(learner)
    learner.save(tmp_path / "saved.npz")
    facts, arrays = saving.read(tmp_path / "saved.npz")
    assert arrays["agent.planner.backups.actions"].shape == (64,)
    drive(ex.Learner.load(tmp_path / "saved.npz", compiled=False))
    facts["agent"]["backups"]["capacity"] = 32
    saving.write_arrays(tmp_path / "saved.npz", facts, arrays)
    refused(tmp_path / "saved.npz", r"\(64, 1\), and not int8 \(32, 1\)")


def test_a_write_that_fails_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*args, **arrays):
        raise OSError("No space left on device")

    learner = ex.Learner.load(saved, compiled=False)
    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        learner.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]
