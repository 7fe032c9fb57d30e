"""Learner files: learning goes on to the same bits, damage ends in one sentence, no code runs."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import per_feature
from hall_env import CELLS, HallEnv

import expectant as ex
from expectant.backups import replay as replay_module
from expectant.core import tree
from expectant.engine import checkpoint as saving

PLAIN = ex.QLearning.paper(0.1)
CURIOUS = ex.models.ExplorationBonus(ex.models.LinearExpectation(per_feature(0.1)), 0.1)


def planning(backups: Any, **options: Any) -> ex.Lookahead:
    return ex.Lookahead.paper(0.1, planning_steps=2, **options, backups=backups)


# Every part that a learner can have, in vectors of either kind where that makes a difference.
COMPOSITIONS: dict[str, tuple[Any, Any]] = {
    "replay": (
        ex.CachedPolicy.paper(0.1, 0.1, 0.1, backups=ex.backups.Replay(7)),
        ex.RandomBinary(5, 2),
    ),
    "replay of weighted": (
        planning(ex.backups.Rollout(2, ex.backups.Replay(7))),
        ex.features.Traces(ex.OneHot()),
    ),
    "recency": (planning(ex.backups.RecencyReplay(7), model="cached_lookahead"), ex.OneHot()),
    "trajectory": (planning(ex.backups.Trajectory(3, 7)), ex.OneHot()),
    "current": (planning(ex.backups.CurrentState(), model="episodic"), ex.OneHot()),
    "seen": (planning(ex.backups.SeenStates(9)), ex.OneHot()),
    "seen, given up": (
        planning(ex.backups.SeenStates(3)),
        ex.features.History(ex.OneHot(), 2, actions=True),
    ),
    "all": (ex.CachedValues.paper(0.1, 0.1, backups=ex.backups.AllStates()), ex.RandomBinary(5, 2)),
    "all pairs": (ex.QPlanning.paper(0.1, backups="all_pairs"), ex.OneHot()),
    "prioritized": (planning(ex.backups.PrioritizedSweeping(4, links=2)), ex.OneHot()),
    "sampler": (planning(ex.backups.StateSampler(3)), ex.Tiles(2, 3)),
    "distribution": (
        planning(ex.backups.Replay(7), model=ex.models.Distribution(9, 3)),
        ex.OneHot(),
    ),
    "sample": (
        ex.QPlanning.paper(
            0.1, model=ex.models.Sample(ex.models.Distribution(9, 3)), backups=ex.backups.Rollout(2)
        ),
        ex.Fourier(2),
    ),
    "network": (planning(ex.backups.Replay(7), model=ex.models.NetworkExpectation(3)), ex.OneHot()),
    "sparse": (
        planning(ex.backups.Replay(7), model=ex.models.SparseExpectation(per_feature(0.1), 2)),
        ex.RandomBinary(5, 2),
    ),
    "two steps": (
        planning(ex.backups.Replay(7), model=ex.models.NStepExpectation(2)),
        ex.RandomBinary(5, 2),
    ),
    "network values": (
        planning(ex.backups.Replay(7), values=ex.agents.NetworkValues(3)),
        ex.OneHot(),
    ),
    "features": (planning("features"), ex.OneHot()),
    "pwma": (
        planning("pwma", model=ex.models.SparseExpectation(per_feature(0.1), 2)),
        ex.RandomBinary(5, 2),
    ),
    "mg": (planning("mg"), ex.OneHot()),
    "pairs": (ex.DynaQ(per_feature(0.1), planning_steps=2, bonus=0.1, discount=1.0), ex.OneHot()),
    "pairs, untried": (
        ex.QPlanning.paper(0.1, backups=ex.backups.SeenPairs(5, untried=True)),
        ex.OneHot(),
    ),
    "swept pairs": (
        ex.QPlanning.paper(0.1, backups=ex.backups.PrioritizedPairs(5, links=2)),
        ex.OneHot(),
    ),
    "curious": (
        planning(ex.backups.Replay(7), model=CURIOUS, planning_update="gradient"),
        ex.OneHot(),
    ),
    "plain gradient": (
        planning(ex.backups.Replay(7), planning_update="gtd2"),
        ex.RandomBinary(5, 2),
    ),
    "sarsa": (ex.Sarsa(per_feature(0.1), trace=0.9, discount=1.0), ex.OneHot()),
    "expected sarsa": (ex.ExpectedSarsa(per_feature(0.1), discount=1.0), ex.OneHot()),
    "relative values": (ex.RVIQLearning(per_feature(0.1)), ex.OneHot()),
    "interpolated": (PLAIN, ex.features.Interpolated(3)),
    "options": (
        planning(ex.backups.Replay(7), options=[ex.options.RewardRespecting(1)]),
        ex.OneHot(),
    ),
    "frozen": (ex.agents.FreezeAfter(planning(ex.backups.Replay(7)), 30), ex.OneHot()),
    "decaying": (
        ex.QLearning.paper(ex.step_sizes.Decaying(0.1, per="feature", bounded=False)),
        ex.OneHot(),
    ),
    "categories": (PLAIN, ex.features.Categorical((CELLS,))),
    "categories of vectors": (PLAIN, ex.features.Joined(ex.features.Categorical(), ex.Tiles(2, 3))),
    "joined": (PLAIN, ex.features.Joined(ex.OneHot(), ex.features.Traces(ex.OneHot()))),
    "identity": (
        PLAIN,
        ex.features.Joined(ex.features.Identity(), ex.Tiles(2, 3, dimensions=(0,))),
    ),
    "hashed": (PLAIN, ex.Tiles(2, 9, hash_size=8, bias=True)),
    "wrapped": (PLAIN, ex.Tiles(4, 5, wrap=(0,))),
    "history of traces": (PLAIN, ex.features.History(ex.features.Traces(ex.Tiles(2, 3)), 2)),
}


def learner_for(agent: Any, features: Any, **options: Any) -> Any:
    vectors = "Tiles" in repr(features) or "Fourier" in repr(features)
    world: Any = {"bounds": [(0.0, CELLS - 1.0)]} if vectors else {"states": CELLS}
    return ex.Learner(agent, features, 2, compiled=False, progress=False, **world, **options)


def drive(learner: Any, steps: int = 60, env: Any = None, action: Any = None) -> Any:
    """Through some episodes, into the middle of one; returns (environment, next action)."""
    env = env or HallEnv()
    see = (lambda cell: cell) if learner.observation_spec.states else (lambda cell: [cell + 0.1])
    for _ in range(steps):
        if action is None:
            action = learner.start(see(env.reset()[0]))
        seen, reward, terminated, truncated, _ = env.step(action)
        action = learner.step(reward, see(seen), terminated, truncated)
    return env, action


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_learning_goes_on_to_the_same_bits_after_a_reload(name, tmp_path):
    first = learner_for(*COMPOSITIONS[name])
    env, action = drive(first, 47)
    first.save(tmp_path / "saved.npz")
    second, copied = ex.Learner.load(tmp_path / "saved.npz", compiled=False), HallEnv()
    copied.episode, copied.cell = env.episode, env.cell
    assert drive(first, 60, env, action)[1] == drive(second, 60, copied, action)[1]
    pairs = zip(tree.arrays(first._run), tree.arrays(second._run), strict=True)
    for (path, one), (_, other) in pairs:
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    learner = learner_for(PLAIN, ex.OneHot())
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
    learner = learner_for(planning(ex.backups.Replay(None)), ex.OneHot())
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
