from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from made_results import result_of
from matplotlib.figure import Figure

import expectant as ex
from expectant.report.wording import names_of

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
    assert legend_of(figure) == ["one", "two", "95 % bootstrap interval", optimum, "switch"]
    axes, found = figure.axes[0], [line.get_xydata() for line in lines_of(figure)]
    assert [(5.0, 0.0), (5.0, 1.0)] in [[tuple(p) for p in xy] for xy in found]  # the switch
    assert [text.get_text() for text in axes.texts] == ["13.92"]
    means = np.stack([np.arange(10) + 0.5, RETURNS.mean(axis=0)], axis=1)
    assert any(xy.shape == means.shape and np.array_equal(xy, means) for xy in found)
    assert len(axes.collections) == 3  # the bands and the optimum
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("episode", "return per episode")
    assert figure.get_suptitle() == "Corridor, 4 runs"
    assert axes.get_xlim() == (0.0, 10.0)


def test_steps_are_drawn_over_steps():
    figure = result_of(rewards=RETURNS, steps=95).plot()
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "reward per step")
    assert axes.get_xlim() == (0.0, 95.0)
    assert legend_of(figure) == ["QLearning", "95 % bootstrap interval"]


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
    first, *planners = names_of(agents)
    assert first == "QLearning"
    assert planners == [f"Lookahead (Algorithm 1, epsilon={step})" for step in (0.1, 0.3)]
    assert names_of([ex.QLearning.paper(0.1)] * 2) == ["QLearning", "QLearning no. 2"]
