"""Learners' files that were damaged or edited: refused before compiled code sees them."""

from __future__ import annotations

import importlib
import io
import itertools
import json
import pkgutil
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outside_worlds import CELLS, HallEnv

import expectant as ex
from expectant.backups import replay as replay_module
from expectant.core import tree
from expectant.engine.code_hash import part_types
from expectant.engine.learner import saving
from expectant.engine.learner.learner_facts import states_of
from expectant.integrity import within

CELL_BOUNDS = [(0.0, CELLS - 1.0)]
PLAIN = ex.QLearning(0.1)


def planning(backups: Any, **options: Any) -> ex.Lookahead:
    return ex.Lookahead(0.1, 0.1, backups=backups, planning_steps=2, **options)


# Every part that a learner can have, in vectors of either kind where that makes a difference.
COMPOSITIONS: dict[str, tuple[Any, Any]] = {
    "replay": (ex.CachedPolicy(0.1, 0.1, 0.1, backups=ex.Replay(7)), ex.RandomBinary(5, 2)),
    "replay of weighted": (planning(ex.Replay(7), rollout=2), ex.Traces(ex.OneHot())),
    "recency": (planning(ex.RecencyReplay(7), maintained=True), ex.OneHot()),
    "trajectory": (planning(ex.Trajectory(3, 7)), ex.OneHot()),
    "current": (planning(ex.CurrentState(), model="episodic"), ex.OneHot()),
    "seen": (planning(ex.SeenStates(9)), ex.OneHot()),
    "seen, given up": (planning(ex.SeenStates(3)), ex.History(ex.OneHot(), 2, actions=True)),
    "all": (ex.CachedValues(0.1, 0.1, backups=ex.AllStates()), ex.RandomBinary(5, 2)),
    "all pairs": (ex.QPlanning(0.1, backups="all_pairs"), ex.OneHot()),
    "prioritized": (planning(ex.PrioritizedSweeping(4, links=2)), ex.OneHot()),
    "sampler": (planning(ex.StateSampler(3)), ex.Tiles(2, 3)),
    "distribution": (planning(ex.Replay(7), model=ex.Distribution(9, 3)), ex.OneHot()),
    "sample": (ex.QPlanning(0.1, model=ex.Sample(ex.Distribution(9, 3)), rollout=2), ex.Fourier(2)),
    "network": (planning(ex.Replay(7), model=ex.NetworkExpectation(3)), ex.OneHot()),
    "sparse": (planning(ex.Replay(7), model=ex.SparseExpectation(0.1, 2)), ex.RandomBinary(5, 2)),
    "two steps": (planning(ex.Replay(7), model=ex.NStepExpectation(2)), ex.RandomBinary(5, 2)),
    "network values": (planning(ex.Replay(7), value=ex.NetworkValues(3)), ex.OneHot()),
    "features": (planning("features"), ex.OneHot()),
    "pwma": (planning("pwma", model=ex.SparseExpectation(0.1, 2)), ex.RandomBinary(5, 2)),
    "mg": (planning("mg"), ex.OneHot()),
    "pairs": (ex.DynaQ(0.1, planning_steps=2, bonus=0.1), ex.OneHot()),
    "pairs, untried": (ex.QPlanning(0.1, backups=ex.SeenPairs(5, untried=True)), ex.OneHot()),
    "swept pairs": (ex.QPlanning(0.1, backups=ex.PrioritizedPairs(5, links=2)), ex.OneHot()),
    "curious": (planning(ex.Replay(7), bonus=0.1, planning_update="gradient"), ex.OneHot()),
    "plain gradient": (planning(ex.Replay(7), planning_update="gtd2"), ex.RandomBinary(5, 2)),
    "sarsa": (ex.Sarsa(0.1, trace=0.9), ex.OneHot()),
    "expected sarsa": (ex.ExpectedSarsa(0.1), ex.OneHot()),
    "relative values": (ex.RVIQLearning(0.1), ex.OneHot()),
    "interpolated": (PLAIN, ex.Interpolated(3)),
    "options": (planning(ex.Replay(7), options=[ex.RewardRespecting(1)]), ex.OneHot()),
    "lessons": (planning(ex.Replay(7), lessons=30), ex.OneHot()),
    "decaying": (ex.QLearning(ex.Decaying(0.1)), ex.OneHot()),
    "categories": (PLAIN, ex.Categorical((CELLS,))),
    "categories of vectors": (PLAIN, ex.Joined(ex.Categorical(), ex.Tiles(2, 3))),
    "joined": (PLAIN, ex.Joined(ex.OneHot(), ex.Traces(ex.OneHot()))),
    "identity": (PLAIN, ex.Joined(ex.Identity(), ex.Tiles(2, 3, dimensions=(0,)))),
    "hashed": (PLAIN, ex.Tiles(2, 9, hash_size=8, bias=True)),
    "wrapped": (PLAIN, ex.Tiles(4, 5, wrap=(0,))),
    "history of traces": (PLAIN, ex.History(ex.Traces(ex.Tiles(2, 3)), 2)),
}

# Parts that a learner never has: exact models need the world's own states.
ELSEWHERE = {
    "ExactPart", "ExactEpisodicPart", "TruePart", "Transition", "Collisions", "NoBackups",
}  # fmt: skip

# Whole numbers that may be any, and why.
HARMLESS = {
    "outcomes": "only a domain that relabels reads them; the world of a learner is not one",
    "place": "where states have no numbers; only exact models read it, which a learner never has",
    "places": "the same",
}


def put(facts: Any, place: str, value: Any) -> None:
    """Write a value into nested settings, where dots lead to it."""
    *above, last = place.split(".")
    for key in above:
        facts = facts[key]
    facts[last] = value


def harmless(name: str, facts: Any) -> bool:
    kind = name.rpartition(".")[2]
    return kind in HARMLESS and (kind == "outcomes" or facts["reading"]["states"] is None)


def learner_for(agent: Any, features: Any, **options: Any) -> Any:
    vectors = "Tiles" in repr(features) or "Fourier" in repr(features)
    world: Any = {"bounds": CELL_BOUNDS} if vectors else {"states": CELLS}
    return ex.Learner(agent, features, 2, compiled=False, progress=False, **world, **options)


def drive(learner: Any, steps: int = 60) -> None:
    """Through some episodes, into the middle of one."""
    env, action = HallEnv(), None
    see = (lambda cell: cell) if learner.reading.states else (lambda cell: [cell + 0.1])
    for _ in range(steps):
        if action is None:
            action = learner.start(see(env.reset()[0]))
        seen, reward, terminated, truncated, _ = env.step(action)
        action = learner.step(reward, see(seen), terminated, truncated)


def saved(path: Path, agent: Any, features: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
    """A learner's file; returns its facts and arrays."""
    learner = learner_for(agent, features, **options)
    drive(learner)
    learner.save(path)
    facts, entries = saving.read(path)
    return facts, dict(entries)


def rewrite(path: Path, facts: Any, arrays: dict[str, Any]) -> None:
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(path, **{"expectant": text, **arrays})


def owners(part: Any, names: str = "", types: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The name of every array of whole numbers, its field, its part's type and that around it."""
    for name, item in zip(part._fields, part, strict=True):
        path, chain = f"{names}.{name}".strip("."), (*types, type(part).__name__)
        if isinstance(item, np.ndarray) and item.dtype.kind in "iu" and item.size:
            yield path, (*chain[-2:], name)
        elif isinstance(item, tuple):
            yield from owners(item, path, chain)


def edited(array: np.ndarray) -> Iterator[np.ndarray]:
    """All entries huge; and one of them, in the middle, a little below what any may be."""
    yield np.full_like(array, np.iinfo(array.dtype).max)
    changed = array.copy()
    changed.reshape(-1)[array.size // 2] = -3
    yield changed


def test_every_whole_number_is_checked(tmp_path):
    path, known, seen = tmp_path / "saved.npz", set(), set()
    for agent, features in COMPOSITIONS.values():
        facts, arrays = saved(path, agent, features)
        run = ex.Learner.load(path, compiled=False)._run
        assert run is not None
        seen |= {found.__name__ for found in part_types(run)}
        for name, chain in owners(run):
            if name not in arrays or chain in known or harmless(name, facts):
                continue
            known.add(chain)
            for array in edited(arrays[name]):
                rewrite(path, facts, {**arrays, name: array})
                with pytest.raises(ValueError, match="does not fit its own settings"):
                    ex.Learner.load(path, compiled=False)
        rewrite(path, facts, arrays)
        ex.Learner.load(path, compiled=False)
    assert ours() - seen == ELSEWHERE
    assert len(known) > 60, len(known)


# What indices may be after eight steps in a hall of six cells with two actions.
BOUNDS = [
    ("replay", "features: active", 0, 4),  # five features
    ("replay", "state: active", 0, 4),
    ("replay", "table of states: active", 0, 4),
    ("replay", "table of states: place", -1, 5),  # or none
    ("replay", "replay: actions", 0, 1),
    ("replay", "replay: alive", 0, 1),
    ("replay", "replay: counters", 0, 7),  # as many as there is room for
    ("replay", "the observation", 0, 5),
    ("replay of weighted", "rollout: active", 0, 11),  # two traces of six features
    ("replay of weighted", "rollout: place", -1, 5),
    ("trajectory", "trajectory: slot", 0, 6),
    ("trajectory", "trajectory: steps left", 0, 2),  # one of the three has been taken
    ("seen", "distinct states: slots", -1, 8),
    ("seen, given up", "history: active", 0, 7),  # a cell or an action
    ("all", "the states of a sweep that are drawn", 0, 6),
    ("all pairs", "the pair of a sweep that comes next", 0, 11),
    ("prioritized", "heap: length", 0, 4),
    ("prioritized", "heap: order", 0, 3),
    ("prioritized", "heap: positions", -1, 3),
    ("prioritized", "sweeping: drawn", -1, 3),
    ("swept pairs", "heap: positions", -1, 9),  # five states with two actions
    ("swept pairs", "sweeping: drawn", -1, 9),
    ("swept pairs", "pairs: order", 0, 9),
    ("swept pairs", "pairs: positions", -1, 9),
    ("sparse", "columns: counts", 0, 2),  # the capacity
    ("sparse", "columns: indices", 0, 4),
    ("sparse", "columns: touched", 0, 4),
    ("sparse", "columns: owners", 0, 9),  # a column for each feature and action
    ("two steps", "n-step model: place", 0, 1),
    ("two steps", "n-step model: steps that wait", 0, 1),
    ("two steps", "n-step model: actions", 0, 1),
    ("mg", "swept features: the feature", 0, 5),
    ("curious", "curious model: tried", 0, 8),  # at the last step, or never
    ("sarsa", "sarsa: ahead", -1, 1),  # an action or none
    ("interpolated", "features: lower", 0, 1),  # three points have two gaps
    ("options", "the option that is followed", -1, 0),
    ("hashed", "hashed tiles: owners", -1, 19),  # two tilings of ten tiles
]


def test_indices_may_be_what_they_can_be_and_not_one_more(tmp_path, monkeypatch):
    allowed: dict[str, set[tuple[int, int]]] = {}

    def noted(what: str, array: np.ndarray, low: int, high: int) -> None:
        allowed.setdefault(what, set()).add((low, high))
        within(what, array, low, high)

    for module in list(sys.modules.values()):
        if getattr(module, "within", None) is within and module.__name__.startswith("expectant."):
            monkeypatch.setattr(module, "within", noted)
    for name, bounds in itertools.groupby(BOUNDS, lambda row: row[0]):
        allowed.clear()
        learner = learner_for(*COMPOSITIONS[name])
        drive(learner, 8)
        learner.save(tmp_path / "saved.npz")
        ex.Learner.load(tmp_path / "saved.npz", compiled=False)
        for _, what, low, high in bounds:
            assert allowed[what] == {(low, high)}, (name, what)


def ours() -> set[str]:
    """Every kind of part that is defined where learners' parts are."""
    found = set()
    for package in ("features", "backups", "models", "agents"):
        folder = importlib.import_module(f"expectant.{package}")
        for module in pkgutil.iter_modules(folder.__path__, f"expectant.{package}."):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, type) and hasattr(value, "_fields") and value.__module__ == module.name:  # fmt: skip
                    found.add(value.__name__)
    return found


def test_what_is_harmless_does_no_harm(tmp_path):
    """Plain Python would notice an index that is out of range."""
    path = tmp_path / "saved.npz"
    for agent, features in (COMPOSITIONS["replay"], COMPOSITIONS["sampler"]):
        facts, arrays = saved(path, agent, features)
        for name, array in arrays.items():
            if harmless(name, facts):
                arrays[name] = np.full_like(array, np.iinfo(array.dtype).max)
        rewrite(path, facts, arrays)
        drive(ex.Learner.load(path, compiled=False))


@pytest.mark.parametrize(("name", "field", "place", "value"), [
    ("replay", "agent.planner.backups.counters", 0, 6),  # not full, but next is another slot
    ("recency", "agent.planner.backups.mass", 0, np.nan),
    ("recency", "agent.planner.backups.mass", 0, 1e300),
    ("replay of weighted", "agent.planner.backups.states.values", 0, np.inf),
    ("replay of weighted", "features.traces", 0, np.nan),
    ("replay of weighted", "features.present.active", 0, CELLS),  # in range of the outer map only
    ("replay of weighted", "agent.planner.rollout.imagined.active", 1, 0),
    ("trajectory", "agent.planner.backups.walk", 1, 3),
    ("seen", "agent.planner.backups.distinct.slots", 0, 0),
    ("seen", "agent.planner.backups.total", 0, 3),
    ("seen", "agent.planner.backups.distinct.vectors.active", 1, 0),  # two states alike
    ("prioritized", "agent.planner.backups.heap.length", 0, 0),
    ("prioritized", "agent.planner.backups.tries", slice(None), 0),
    ("sampler", "agent.planner.backups.total", 0, 10**6),
    ("sampler", "agent.planner.backups.counts", 0, 10**6),
    ("distribution", "agent.planner.model.counts", slice(None), 1.0),
    ("distribution", "agent.planner.model.states.used", 0, 2),
    ("hashed", "features.counts", 0, 1),
    ("network", "agent.planner.model.units", 1, 2),
    ("sparse", "agent.planner.model.columns.headers", 1, 1),  # the chunk of another column
    ("sparse", "agent.planner.model.columns.values", -1, 1.0),  # of a chunk that is not in use
    ("sparse", "agent.planner.model.columns.values", 15, 1.0),  # beyond the first column's entries
    ("sparse", "agent.planner.model.columns.indices", slice(0, 2), 0),  # a feature twice
    ("sparse", "agent.planner.model.columns.tally", 1, 0),
    ("sparse", "agent.planner.model.columns.work", 0, 1.0),
    ("wrapped", "features.strides", 0, 2),
])  # fmt: skip
def test_numbers_in_range_that_do_not_agree(tmp_path, name, field, place, value):
    path = tmp_path / "saved.npz"
    facts, arrays = saved(path, *COMPOSITIONS[name])
    before = arrays[field].copy()
    arrays[field].reshape(-1)[place] = value
    assert not np.array_equal(before, arrays[field])
    rewrite(path, facts, arrays)
    with pytest.raises(ValueError, match=r"saved\.npz: does not fit its own settings"):
        ex.Learner.load(path, compiled=False)


def test_slots_that_lookups_would_not_find(tmp_path):
    path = tmp_path / "saved.npz"
    facts, arrays = saved(path, *COMPOSITIONS["seen"])
    name = "agent.planner.backups.distinct.slots"
    arrays[name] = np.roll(arrays[name], 7)
    rewrite(path, facts, arrays)
    with pytest.raises(ValueError, match="must be where their states are looked up"):
        ex.Learner.load(path, compiled=False)


# --------------------------------------------------------------------------- shapes and their order


@pytest.mark.parametrize(("change", "message"), [
    (np.asfortranarray, "has its entries in another order"),
    (lambda array: np.zeros((3, 8)), r"has the shape \(3, 8\), and not \(2, 8\)"),
    (lambda array: np.zeros((2, 16)), r"has the shape \(2, 16\), and not \(2, 8\)"),
    (lambda array: array.astype(">f8"), "is >f8 in 2 dimensions"),
    (lambda array: array.astype(np.float32), "is float32 in 2 dimensions"),
])  # fmt: skip
def test_arrays_of_another_make(tmp_path, change, message):
    path = tmp_path / "saved.npz"
    facts, arrays = saved(path, PLAIN, ex.OneHot())
    assert arrays["agent.weights"].shape == (2, 8)
    rewrite(path, facts, {**arrays, "agent.weights": change(arrays["agent.weights"])})
    with pytest.raises(ValueError, match=f"the array agent.weights {message}"):
        ex.Learner.load(path, compiled=False)


def test_an_array_is_not_made_before_its_size_is_known_to_be_right(tmp_path):
    """A few bytes that claim to be gigabytes."""
    path = tmp_path / "saved.npz"
    facts, arrays = saved(path, PLAIN, ex.OneHot())
    del arrays["agent.weights"]
    rewrite(path, facts, arrays)
    for shape, size in (((2, 10**9), 10_000_000), ((2, 8), 10_000_000), ((2, 8), 8)):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
            file.writestr("agent.weights.npy", header.getvalue() + bytes(size))
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"the array agent\.weights has the shape"):
            ex.Learner.load(path, compiled=False)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 3_000_000
        rewrite(path, facts, arrays)


def test_settings_that_never_end_are_not_read(tmp_path):
    path = tmp_path / "saved.npz"
    facts, arrays = saved(path, PLAIN, ex.OneHot())
    rewrite(path, {**facts, "more": " " * (saving.LONGEST_FACTS + 1)}, arrays)
    with pytest.raises(ValueError, match="is not a saved learner"):
        ex.Learner.load(path)


def test_only_a_memory_without_limit_may_have_grown(tmp_path, monkeypatch):
    monkeypatch.setattr(replay_module, "FIRST_ROOM", 16)
    path = tmp_path / "saved.npz"
    facts, arrays = saved(path, planning(ex.Replay(None)), ex.OneHot())
    held = [name for name in arrays if name.startswith("agent.planner.backups.")]
    assert arrays["agent.planner.backups.actions"].shape == (64,)
    drive(ex.Learner.load(path, compiled=False))
    longer = {
        name: np.concatenate([arrays[name]] * 2)
        for name in held
        if not name.endswith("counters")
    }  # fmt: skip
    for changed in (
        {name: array[:60] for name, array in arrays.items() if name in longer},
        {**longer, held[0]: arrays[held[0]]},
    ):
        rewrite(path, facts, {**arrays, **changed})
        with pytest.raises(ValueError, match="has the shape"):
            ex.Learner.load(path, compiled=False)
    facts["agent"]["backups"]["capacity"] = 32
    rewrite(path, facts, arrays)
    with pytest.raises(ValueError, match=r"has the shape \(64, 1\), and not \(32, 1\)"):
        ex.Learner.load(path, compiled=False)


# ----------------------------------------------------------------------------------- the settings


@pytest.mark.parametrize(("place", "value", "message"), [
    ("n_actions", 10**30, "n_actions must be"),
    ("n_actions", True, "n_actions must be"),
    ("n_actions", 3, "does not fit its own settings: the array agent.weights has the shape"),
    ("seed", -1, "seed must be"),
    ("seed", "0", "seed must be"),
    ("action", 2, r"action must be a whole number, -1 or more \(at most 1\), got 2"),
    ("action", -2, "action must be"),
    ("action", 1.0, "action must be"),
    ("action", 10**30, "action must be"),
    ("components", 2, "components must be"),
    ("components", 10**12, "components must be"),
    ("reading.states", 10**30, "states must be"),
    ("reading.states", 7, "states, bounds, counts and starts must agree"),
    ("reading.states", None, "must agree"),
    ("reading.counts", [3, 3], "must agree"),
    ("reading.counts", "66", "counts must be a list of whole numbers"),
    ("reading.starts", [10**30], "starts must be a list of whole numbers"),
    ("reading.bounds", [[0, 1]], "must agree"),
    ("reading", [], "is not a saved learner"),
    ("agent", "q_learning", "Agent: must be a table with a kind, got 'q_learning'"),
    ("agent.action_step", -1, "action_step must be"),
    ("agent.kind", ["q"], "is not a saved learner"),
    ("features.kind", "q_learning", "'q_learning' is not a Features"),
    ("streams", None, "streams must be world, acting, planning, building"),
    ("streams", {}, "streams must be world, acting, planning, building"),
    ("streams.world", None, "world must be the state of a PCG64"),
    ("streams.acting.bit_generator", "MT19937", "acting must be the state of a PCG64"),
    ("streams.planning.state.state", 2**128, "planning.state must be"),
    ("streams.world.state.inc", -1, "world.inc must be"),
    ("streams.acting.state.inc", 0.5, "acting.inc must be"),
    ("streams.building.has_uint32", 10**30, "building.has_uint32 must be"),
    ("ties.uinteger", 2**32, "ties.uinteger must be"),
    ("ties.state", 7, "is not a saved learner"),
])  # fmt: skip
def test_settings_are_checked(tmp_path, place, value, message):
    path = tmp_path / "saved.npz"
    facts, arrays = saved(path, PLAIN, ex.OneHot())
    put(facts, place, value)
    rewrite(path, facts, arrays)
    with pytest.raises(ValueError, match=rf"saved\.npz: .*{message}"):
        ex.Learner.load(path, compiled=False)


@pytest.mark.parametrize(("largest", "value"), [
    ("ties.uinteger", 2**32 - 1), ("ties.has_uint32", 1), ("ties.state.state", 2**128 - 1),
])  # fmt: skip
def test_a_generator_goes_on_from_the_largest_of_its_numbers(tmp_path, largest, value):
    path = tmp_path / "saved.npz"
    facts, arrays = saved(path, PLAIN, ex.OneHot())
    put(facts, largest, value)
    rewrite(path, facts, arrays)
    ex.Learner.load(path, compiled=False).save(path)
    assert saving.read(path)[0]["ties"] == facts["ties"]


def test_a_large_seed_goes_through_a_file(tmp_path):
    path = tmp_path / "saved.npz"
    saved(path, PLAIN, ex.OneHot(), seed=2**127)
    assert ex.Learner.load(path, compiled=False).seed == 2**127


# -------------------------------------------------------------------------------------- from runs


def test_learners_of_one_run_share_nothing():
    result = ex.run(
        ex.Corridor(cells=CELLS), ex.RandomBinary(5, 2),
        planning(ex.Replay(50), model=ex.Sample(ex.Distribution(9, 3))),
        episodes=5, runs=1, compiled=False, progress=False, keep_agents=True,
    )  # fmt: skip
    kept, streams = result.kept[0]
    before = {name: array.copy() for name, array in tree.arrays(kept)}
    state = states_of(streams)
    one, other = (ex.Learner.from_result(result, 0, compiled=False) for _ in range(2))
    drive(one)
    drive(one)
    for name, array in tree.arrays(kept):
        assert np.array_equal(array, before[name]), name
    assert states_of(streams) == state
    first: Any = one._run
    assert first.agent.planner.model.rng is one._streams.planning  # a run has only one
    drive(other)
    fresh = ex.Learner.from_result(result, 0, compiled=False)
    drive(fresh)
    for (name, array), (_, again) in zip(
        tree.arrays(other._run), tree.arrays(fresh._run), strict=True
    ):
        assert np.array_equal(array, again), name
    assert not np.array_equal(first.agent.weights, before["agent.weights"])


def test_settings_that_ask_for_too_much_build_nothing(tmp_path, monkeypatch):
    """A small file whose settings name many states: refused by what its headers say."""
    path = tmp_path / "learner.npz"
    facts, arrays = saved(path, PLAIN, ex.RandomBinary(5, 2))
    facts["reading"].update(states=20_000_000, counts=[20_000_000])
    rewrite(path, facts, arrays)
    monkeypatch.setattr(
        "expectant.engine.job.Job.prepare", lambda *_: pytest.fail("arrays were built")
    )
    with pytest.raises(ValueError, match=r"does not fit its own settings: these need .* GiB, and"):
        ex.Learner.load(path, compiled=False)
