from __future__ import annotations

import numpy as np
import pytest
from made_results import result_of

import expectant as ex
from expectant.engine.setup import Setup

NAN = float("nan")


def run(**options):
    return ex.run(
        ex.Corridor(),
        ex.OneHot(),
        ex.QLearning.paper(0.1),
        compiled=False,
        progress=False,
        **options,
    )


def test_the_table_of_episodes():
    result = run(episodes=3, runs=2, first_run=5)
    table = result.table()
    assert table.column_names == ["run", "episode", "return", "length"]
    assert table["run"].to_pylist() == [5, 5, 5, 6, 6, 6]
    assert table["episode"].to_pylist() == [0, 1, 2, 0, 1, 2]
    assert table["return"].to_pylist() == result.returns.ravel().tolist()
    assert table["length"].to_pylist() == result.lengths.ravel().tolist()


def test_the_table_of_steps():
    result = run(steps=10, bins=4, runs=2)  # bins of 3, 3, 3 and 1
    table = result.table()
    assert table.column_names == ["run", "bin", "return", "length", "reward"]
    assert table["bin"].to_pylist() == [0, 1, 2, 3] * 2
    assert table["length"].to_pylist() == [3, 3, 3, 1] * 2
    assert table["reward"].to_pylist() == result.rewards.ravel().tolist()
    earned = table["reward"].to_numpy() * table["length"].to_numpy()
    assert table["return"].to_pylist() == earned.tolist()


@pytest.mark.parametrize("steps", [1, 7, 10, 99, 100, 101, 12_345])
@pytest.mark.parametrize("bins", [1, 3, 10, 100])
def test_the_size_of_a_bin_is_known_from_their_number(steps, bins):
    setup = Setup(ex.Corridor(), ex.OneHot(), ex.QLearning.paper(0.1), steps=steps, bins=bins)
    result = result_of(rewards=np.zeros((1, -(-steps // setup.bin))), steps=steps)
    assert result.bin == setup.bin


def test_means_of_runs():
    np.testing.assert_array_equal(result_of([[1.0, 3.0], [5.0, NAN]]).means, [2.0, NAN])
    assert result_of(rewards=[[1.0, 2.0, 4.0]], steps=5).means.tolist() == [2.0]  # 2, 2 and 1 steps
