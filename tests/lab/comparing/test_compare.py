from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest
from made_results import result_of

import expectant as ex
from expectant.lab.compare import Comparison, differences_between
from expectant.show.references import common_optimum

NAN = float("nan")
WRONG: Any = "q"
AGENTS = {"slow": ex.QLearning(0.01), "fast": ex.QLearning(0.3)}


def results_of(**means):
    """Results of one episode with these returns of every run."""
    return {name: result_of([[value] for value in values]) for name, values in means.items()}


def comparison_of(results, reference=None):
    optimum = common_optimum(list(results.values()))
    return Comparison(results, differences_between(results, reference), optimum)


def compare(*arguments, **options):
    options = {"episodes": 20, "runs": 3, "compiled": False, "progress": False, **options}
    return ex.compare(ex.Corridor(), ex.OneHot(), *arguments, **options)


# ---------------------------------------------------------------------------------- differences


def test_all_pairs_are_compared_the_later_with_the_earlier():
    found = differences_between(results_of(a=[1.0, 2.0], b=[4.0, 4.0], c=[0.0, 3.0]))
    assert [(one.name, one.reference, one.mean) for one in found] == [
        ("b", "a", 2.5),
        ("c", "a", 0.0),
        ("c", "b", -2.5),
    ]


def test_a_reference_is_compared_with_all_others():
    found = differences_between(results_of(a=[1.0, 2.0], b=[4.0, 4.0], c=[0.0, 3.0]), "b")
    assert [(one.name, one.reference, one.mean) for one in found] == [
        ("a", "b", -2.5),
        ("c", "b", -2.5),
    ]


def test_verdicts_come_after_holms_correction():
    """p = 0.033 alone, 0.067 as the larger of two."""
    runs = np.arange(8.0)
    noise = np.array([1.0, -1.0] * 4)
    alone = differences_between(results_of(a=runs, b=runs + noise + 1.0))
    assert alone[0].chance == pytest.approx(0.0331, abs=1e-4)
    assert alone[0].verdict == "better"
    three = results_of(a=runs, b=runs + noise + 1.0, c=runs - noise - 1.0)
    both = differences_between(three, "a")
    assert [one.chance for one in both] == pytest.approx([0.0662] * 2, abs=1e-4)
    assert [one.verdict for one in both] == ["unclear", "unclear"]


def test_a_diverged_run_counts_as_the_worst():
    good = np.arange(10.0)
    results = results_of(fine=good, broken=[NAN] * 9 + [100.0])
    (found,) = differences_between(results)
    assert (found.above, found.below) == (1, 9)
    assert found.chance == pytest.approx(2 * 11 / 1024)
    assert found.verdict == "worse"
    (turned,) = differences_between(results, "broken")
    assert (turned.above, turned.below, turned.verdict) == (9, 1, "better")
    text = str(comparison_of(results))
    assert "broken" in text and "above in 1, below in 9" in text
    assert "a diverged run counts as worse than any that has not diverged" in text


# --------------------------------------------------------------------------------------- tables


def test_the_text_by_hand():
    results = results_of(plain=[1.0, 2.0, 3.0], planner=[2.0, 4.0, 6.0])
    assert str(comparison_of(results)).splitlines() == [
        "Corridor, 3 runs of 1 episodes each",
        "",
        "agent    mean return  95 % interval  diverged",
        "plain           2.00  1.00 to 3.00          0",
        "planner         4.00  2.00 to 6.00          0",
        "epsilon-greedy on exact optimal values, epsilon 0.1: 13.92",
        "",
        "difference              mean  95 % interval   verdict",
        "planner against plain  +2.00  -0.48 to +4.48  unclear (p = 0.074)",
    ]


def test_the_table_has_a_row_for_every_agent():
    table = comparison_of(results_of(a=[1.0, 3.0], b=[1.0, NAN])).table()
    first, second = table.to_pylist()
    assert first == {
        "name": "a", "mean": 2.0, "low": 1.0, "high": 3.0, "diverged": 0, "seconds": 0.25,
    }  # fmt: skip
    assert second["diverged"] == 1 and np.isnan(second["mean"])


def test_a_notebook_shows_escaped_tables():
    html = comparison_of(results_of(**{"<b>": [1.0, 3.0], "c": [2.0, 2.0]}))._repr_html_()
    assert "<b>" not in html and "&lt;b&gt;" in html
    assert html.count("<table>") == 2 and "0.25 s" in html and "13.92" in html


def test_a_picture_has_all_curves():
    figure = comparison_of(results_of(a=[1.0, 3.0], b=[2.0, 2.0])).plot()
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["a", "b"]


# -------------------------------------------------------------------------------------- running


def test_agents_run_on_the_same_seeds_and_the_table_is_printed_once(capsys):
    found = compare(AGENTS, seed=3)
    assert capsys.readouterr().out == f"{found}\n"
    assert list(found.results) == ["slow", "fast"]
    for name, agent in AGENTS.items():
        alone = ex.run(
            ex.Corridor(), ex.OneHot(), agent, episodes=20, runs=3, seed=3, compiled=False,
            progress=False,
        )  # fmt: skip
        np.testing.assert_array_equal(found.results[name].returns, alone.returns)


def test_it_can_be_quiet_and_one_agent_is_enough(capsys):
    found = compare(AGENTS["slow"], quiet=True, steps=20, episodes=None)
    assert capsys.readouterr().out == ""
    assert list(found.results) == ["QLearning"] and found.differences == ()
    assert "mean reward" in str(found)


def test_the_text_can_be_printed_anywhere():
    """A terminal need not know Unicode."""
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="ascii")):
        compare(list(AGENTS.values()))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: compare({}), "compare: agents must be agents by name, at least one, got none"),
    (lambda: compare({"a": WRONG}), "at least one, got 'q'"),
    (lambda: compare(AGENTS, reference="slo"), "reference must be the name of an agent, got 'slo', did you mean 'slow'"),
    (lambda: compare(AGENTS, quiet=WRONG), "compare: quiet must be True or False, got 'q'"),
    (lambda: compare(AGENTS, steps=3), "give episodes or steps"),
])  # fmt: skip
def test_mistakes_are_told_before_anything_runs(call, message):
    with pytest.raises(ValueError, match=message):
        call()
