from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from made_results import result_of
from matplotlib.figure import Figure

import expectant as ex
from expectant.report.chart_data import Curve
from expectant.report.formatting import agent_names
from expectant.report.plot import bin_size, common_switches, curves_of, style_keys  # fmt: skip

INTERVAL = "mean of 4 runs, 95 % bootstrap interval"
RETURNS = np.arange(40.0).reshape(4, 10)
SWITCHING = ex.Corridor(switch_every=5)
WRONG: Any = 5


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def lines_of(figure: Figure) -> list[Any]:
    return figure.axes[0].get_lines()


def test_lines_bands_switches_and_the_optimum_are_drawn():
    figure = ex.plot(
        {
            "one": result_of(RETURNS, domain=SWITCHING),
            "two": result_of(RETURNS + 1, domain=SWITCHING),
        }
    )
    optimum = "exact, ε-greedy on q*, ε = 0.1"
    assert legend_of(figure) == ["one", "two", INTERVAL, optimum, "switch"]
    axes, found = figure.axes[0], [line.get_xydata() for line in lines_of(figure)]
    assert [(5.0, 0.0), (5.0, 1.0)] in [[tuple(p) for p in xy] for xy in found]  # the switch
    assert [text.get_text() for text in axes.texts] == ["13.92"]
    means = np.stack([np.arange(10) + 0.5, RETURNS.mean(axis=0)], axis=1)
    assert any(xy.shape == means.shape and np.array_equal(xy, means) for xy in found)
    assert len(axes.collections) == 2  # the bands
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("episode", "return per episode")
    assert figure.get_suptitle() == "Corridor"
    assert axes.get_xlim() == (0.0, 10.0)


def test_steps_are_drawn_over_steps():
    figure = result_of(rewards=RETURNS, steps=95).plot()
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "reward per step")
    assert axes.get_xlim() == (0.0, 95.0)
    assert legend_of(figure) == ["QLearning", INTERVAL]


@pytest.mark.parametrize("known", [6, 1])
def test_a_divergence_is_marked_and_told(known):
    diverged = RETURNS.copy()
    diverged[1, known:] = np.nan
    figure = result_of(diverged).plot()
    assert legend_of(figure)[0] == "QLearning\n(1 of 4 runs diverged)"
    crosses = [line for line in lines_of(figure) if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[known - 0.5]]


@pytest.mark.parametrize(
    ("suffix", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")]
)
def test_files_are_written_by_their_suffix_and_always_the_same(suffix, begins, tmp_path):
    paths = [tmp_path / "new" / f"{name}.{suffix}" for name in ("first", "second")]
    for path in paths:
        result_of(RETURNS).plot(str(path))
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(begins)
    assert first == second
    assert len(list(tmp_path.rglob("*"))) == 3  # nothing else is left behind


def test_a_notebook_shows_the_figure_and_pyplot_is_left_alone():
    code = (
        "import sys, expectant as ex\n"
        "result = ex.run(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=3, runs=2,\n"
        "                compiled=False, progress=False)\n"
        "import matplotlib; matplotlib.rcParams['font.size'] = 33\n"
        "assert result.plot()._repr_png_().startswith(b'\\x89PNG')\n"
        "assert matplotlib.rcParams['font.size'] == 33\n"
        "print([m for m in ('matplotlib.pyplot', 'numba') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ex.plot(WRONG), "plot: results must be results of ex.run, at least one, got 5"),
    (lambda: ex.plot({}), "at least one, got none"),
    (lambda: ex.plot({"a": WRONG}), "got 5"),
    (lambda: result_of(RETURNS).plot("figure.gif"), "plot: path must end in .png, .svg or .pdf, got 'figure.gif'"),
    (lambda: ex.plot({"a": result_of(RETURNS), "b": result_of(rewards=RETURNS, steps=9)}), "all over steps, got both"),
])  # fmt: skip
def test_mistakes_are_told(call, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        call()


def test_agents_are_named_by_what_they_differ_in():
    agents = [
        ex.QLearning.paper(0.1),
        ex.Lookahead.paper(0.1, 0.2),
        ex.Lookahead.paper(0.1, 0.2, epsilon=0.3),
    ]
    first, *planners = agent_names(agents)
    assert first == "QLearning"
    assert planners == [f"Lookahead (Algorithm 1, epsilon={step})" for step in (0.1, 0.3)]
    assert agent_names([ex.QLearning.paper(0.1)] * 2) == ["QLearning", "QLearning no. 2"]


def places(curve: Curve) -> np.ndarray:
    assert curve.x is not None
    return curve.x


@pytest.mark.parametrize(
    ("episodes", "size"),
    [(1, 1), (80, 1), (81, 2), (160, 2), (161, 5), (2_000, 50), (4_001, 100), (25_000, 500)],
)
def test_bins_are_round_and_not_too_many(episodes, size):
    assert bin_size(episodes) == size


def test_a_curve_over_episodes_by_hand():
    returns = [[1.0] * 81 + [5.0], [3.0] * 81 + [5.0]]  # 82 episodes, two by two
    (curve,) = curves_of({"a": result_of(returns)})
    assert places(curve)[:2].tolist() == [1.0, 3.0] and places(curve).size == 41
    assert curve.mean[:2].tolist() == [2.0, 2.0]
    assert curve.mean[-1] == (3.0 + 4.0) / 2  # (1 + 5) / 2 and (3 + 5) / 2
    assert (curve.low[0], curve.high[0]) == (1.0, 3.0)
    assert (curve.runs, curve.diverged) == (2, 0)


def test_a_curve_over_steps_weighs_bins_by_their_steps():
    rewards = np.arange(150.0)[None]  # of two steps each, the last of one
    (curve,) = curves_of({"a": result_of(rewards=rewards, steps=299)})
    assert curve.mean.size == 75
    assert curve.mean[0] == 0.5 and places(curve)[0] == 2.0
    assert curve.mean[-1] == pytest.approx((2 * 148 + 149) / 3)
    assert places(curve)[-1] == 299 - 1.5
    assert np.isnan(curve.low).all()  # one run says nothing of others


def test_results_of_different_lengths_share_their_bins():
    long, short = result_of(np.zeros((2, 400))), result_of(np.zeros((2, 37)))
    one, other = curves_of({"long": long, "short": short})
    assert places(other)[:-1].tolist() == places(one)[:7].tolist()
    assert places(other)[-1] == 36.0  # of episodes 35 and 36


def test_known_agents_look_as_they_do_on_pages_unless_two_are_alike():
    plain, ahead = result_of([[1.0]]), result_of([[1.0]], agent=ex.Lookahead.paper(0.1))
    assert style_keys({"a": plain, "b": ahead}) == {"a": "q_learning", "b": "lookahead"}
    assert [*style_keys({"a": plain, "lookahead": plain, "x": ahead}).values()] == [
        "a", "lookahead", "x",
    ]  # fmt: skip


def results(*changes):
    return [result_of([[1.0]], **change) for change in changes]


def test_switches_are_those_of_all_unless_phases_are_shorter_than_a_bin():
    both = results({"domain": SWITCHING}, {"domain": SWITCHING})
    assert common_switches(both, 16) == [5, 10, 15] and common_switches(both, 2_000) == []
    assert common_switches(results({"domain": SWITCHING}, {"domain": ex.Corridor()}), 16) == []
    assert common_switches(results({"domain": ex.MountainCar()}), 16) == []
    over_steps = result_of(rewards=[[1.0]], steps=10, domain=SWITCHING)
    assert common_switches([over_steps], 16) == []
