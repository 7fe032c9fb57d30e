# mypy: disable-error-code="arg-type"
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loading import module_at

import expectant as ex
from expectant.engine.compile.compiling import kernel_for
from expectant.engine.job import Job
from expectant.engine.loop import DONE, simulate
from expectant.features.basis import Fourier
from expectant.features.memory import History, Traces
from expectant.features.tiles import Tiles
from expectant.features.vector import empty_state
from features.plane import Plane, encode_all, vectors

EXAMPLE = Path(__file__).parents[2] / "examples" / "memory.py"
THREE = ex.Corridor(cells=3)
EVERYTHING = History(Traces(Tiles(4, 3, hash_size=40, bias=True), 0.7), 3, actions=True)


# ----------------------------------------------------------------------------------- by hand


def test_the_last_observations_side_by_side():
    found = vectors(History(ex.OneHot(), 3), THREE, [[0], [1], [1], [2]])
    assert found.tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 1, 0, 1, 0, 0],
        [0, 0, 1, 0, 1, 0, 0, 1, 0],
    ]


def test_with_the_actions_that_led_to_them():
    features = History(ex.OneHot(), 2, actions=True)
    assert features.shape(THREE) == ex.Shape(10, 4, weighted=True, remembers=True)
    found = vectors(features, THREE, [[0], [1], [2]], [-1, 1, 0])
    assert found.tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 0],  # no action led to the first
        [0, 1, 0, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 0, 1, 0, 0, 1],
    ]


def test_traces_fade():
    found = vectors(Traces(ex.OneHot(), 0.5), THREE, [[0], [1], [1], [2]])
    assert found.tolist() == [
        [1, 0, 0, 0.5, 0, 0],
        [0, 1, 0, 0.25, 0.5, 0],
        [0, 1, 0, 0.125, 0.75, 0],
        [0, 0, 1, 0.0625, 0.375, 0.5],
    ]


@pytest.mark.parametrize("features", [
    History(ex.OneHot(), 3, actions=True), Traces(ex.OneHot(), 0.5),
    History(Traces(ex.OneHot(), 0.5), 2), Traces(History(ex.OneHot(), 2), 0.5),
], ids=repr)  # fmt: skip
def test_an_episode_begins_with_an_empty_memory(features):
    found = vectors(features, THREE, [[0], [1], [2], [0], [1], [2]], [-1, 1, 1, -1, 1, 1])
    np.testing.assert_array_equal(found[:3], found[3:])
    assert not np.array_equal(found[2], vectors(features, THREE, [[2]])[0])  # it does remember


def test_one_step_of_history_is_no_memory():
    base = Tiles(4, 3)
    seen = np.random.default_rng(0).random((20, 2)) * (4.0, 2.0)
    np.testing.assert_array_equal(
        vectors(History(base, 1), Plane(), seen), vectors(base, Plane(), seen)
    )


def test_weighted_vectors_are_remembered_with_their_values():
    seen = np.random.default_rng(0).random((5, 2)) * (4.0, 2.0)
    plain = vectors(Fourier(2), Plane(), seen)
    found = vectors(History(Fourier(2), 2), Plane(), seen)
    np.testing.assert_array_equal(found[1:, :9], plain[1:])
    np.testing.assert_array_equal(found[1:, 9:], plain[:-1])
    traces = vectors(Traces(Fourier(2), 0.75), Plane(), seen)
    np.testing.assert_allclose(traces[1:, 9:], 0.75 * traces[:-1, 9:] + 0.25 * plain[1:])


# ------------------------------------------------------------------------- shapes and errors


def test_shapes():
    assert History(ex.RandomBinary(14, 5), 3).shape(THREE) == ex.Shape(42, 15, True, -1, True)
    assert Traces(ex.RandomBinary(14, 5)).shape(THREE) == ex.Shape(28, 19, True, -1, True)
    biased = Tiles(2, (4, 2), bias=True)
    for features in (History(biased, 2), Traces(biased)):
        assert features.shape(Plane()).bias == 30
        found = vectors(features, Plane(), [(1.0, 1.0), (2.0, 0.1), (3.0, 1.9)])
        np.testing.assert_array_equal(found[:, 30], 1.0)


def test_exact_models_refuse_features_that_remember():
    agent = ex.Lookahead(0.1, model="exact")
    with pytest.raises(ValueError, match="these remember earlier ones"):
        ex.run(THREE, Traces(ex.OneHot()), agent, episodes=1, runs=1, compiled=False)


def test_states_have_no_vectors_of_their_own_in_features_that_remember():
    with pytest.raises(ValueError, match="feature_matrix: features must depend on the present"):
        ex.exact.feature_matrix(THREE, History(ex.OneHot(), 2))


@pytest.mark.parametrize(("make", "message"), [
    (lambda: History(3, 2), r"History: base must be a feature map, such as OneHot\(\), got 3"),
    (lambda: Traces(ex.OneHot), "Traces: base must be a feature map"),
    (lambda: History(ex.OneHot(), 0), "steps must be a whole number, 1 or more, got 0"),
    (lambda: Traces(ex.OneHot(), 1), "Traces: decay must be less than 1, got 1.0"),
    (lambda: Traces(ex.OneHot(), 1.5), "Traces: decay must be a number from 0 to 1, got 1.5"),
    (lambda: History(ex.OneHot(), 2).shape(Plane()), "OneHot: needs a domain with numbered states"),
])  # fmt: skip
def test_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_round_trip_through_json():
    again = ex.Description.from_dict(json.loads(json.dumps(EVERYTHING.to_dict())))
    assert again == EVERYTHING and hash(again) == hash(EVERYTHING)


# --------------------------------------------------------------------- compiled and in plain


def test_compiled_cosines_have_the_same_bits():
    features, rng = History(Fourier(3), 2), np.random.default_rng(0)
    seen = rng.random((300, 2)) * (6.0, 3.0) - (1.0, 0.5)  # some of it beyond the bounds
    actions = np.where(rng.random(300) < 0.1, -1, rng.integers(0, 4, 300))
    results = []
    for compiled in (True, False):
        part, state = features.build(Plane(), rng), empty_state(features.shape(Plane()))
        values = np.zeros((300, state.active.shape[0]))
        call = kernel_for(part, encode_all) if compiled else encode_all
        call(part, np.zeros(2), seen, actions, state, values)
        results.append(values)
    np.testing.assert_array_equal(*results)
    assert results[0].std() > 0.5


def arrays(part: Any) -> list[np.ndarray]:
    """All arrays in a part, those of its parts included."""
    if isinstance(part, tuple):
        return [array for item in part for array in arrays(item)]
    return [part] if isinstance(part, np.ndarray) else []


def test_all_maps_together_are_the_same_after_a_compiled_and_a_plain_run():
    job = Job(Plane(), EVERYTHING, ex.QLearning(0.05), episodes=20)
    states = []
    for compiled in (True, False):
        prepared, rng = job.prepare(0)
        kernel = kernel_for(prepared) if compiled else simulate
        assert kernel(prepared, job.budget(), rng, np.zeros(1, np.int64)) == DONE
        states.append(arrays(prepared))
    for first, second in zip(*states, strict=True):
        np.testing.assert_array_equal(first, second)
    slots, looked_up, shared = prepared.features.base.base.counts
    assert 0 < slots <= 40 and looked_up > 400 and shared > 0


# ---------------------------------------------------------------------------- what it is for


@pytest.fixture(scope="module")
def example() -> Any:
    return module_at(EXAMPLE, "example_of_memory")


def late_return(example: Any, features: Any) -> float:
    """The mean return after 400 episodes in a short maze."""
    result = ex.run(
        example.Maze(passage=2), features, ex.QLearning(0.1, epsilon=0.1),
        episodes=800, runs=3, compiled=False,
    )  # fmt: skip
    return float(result.returns[:, 400:].mean())


def test_only_memory_finds_the_way(example):
    """The optimum of ε-greedy acting is 1 − ε = 0.9; without memory nobody does better than 0.

    A mean of 1200 returns of ±1 has a standard error of 0.029 around 0.
    """
    assert abs(late_return(example, History(ex.OneHot(), 1))) < 0.12
    assert abs(late_return(example, History(ex.OneHot(), 3))) < 0.12  # the sign is one further back
    assert late_return(example, History(ex.OneHot(), 4)) > 0.84
    assert late_return(example, Traces(ex.OneHot(), 0.6)) > 0.6
