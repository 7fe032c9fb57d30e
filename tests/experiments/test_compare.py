from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_results import result_of

import expectant as ex
from expectant.exact.reference_return import common_optimum
from expectant.experiments.compare import Comparison, differences_between

NAN = float("nan")
AGENTS = {"slow": ex.QLearning.paper(0.01), "fast": ex.QLearning.paper(0.3)}


def results_of(**means):
    """Results of one episode with these returns of every run."""
    return {name: result_of([[value] for value in values]) for name, values in means.items()}


def differences_of(results, reference=None):
    return differences_between({name: each.means for name, each in results.items()}, reference)


def comparison_of(results, reference=None):
    optimum = common_optimum(list(results.values()))
    return Comparison(results, differences_of(results, reference), optimum)


# ---------------------------------------------------------------------------------- differences


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (None, [("b", "a", 2.5), ("c", "a", 0.0), ("c", "b", -2.5)]),
        ("b", [("a", "b", -2.5), ("c", "b", -2.5)]),
    ],
)
def test_all_pairs_are_compared_or_all_with_the_reference(reference, expected):
    found = differences_of(results_of(a=[1.0, 2.0], b=[4.0, 4.0], c=[0.0, 3.0]), reference)
    assert [(one.name, one.reference, one.mean) for one in found] == expected


def test_verdicts_come_after_holms_correction():
    """p = 0.033 alone, 0.067 as the larger of two."""
    runs = np.arange(8.0)
    noise = np.array([1.0, -1.0] * 4)
    alone = differences_of(results_of(a=runs, b=runs + noise + 1.0))
    assert alone[0].p_value == pytest.approx(0.0331, abs=1e-4)
    assert alone[0].verdict == "better"
    three = results_of(a=runs, b=runs + noise + 1.0, c=runs - noise - 1.0)
    both = differences_of(three, "a")
    assert [one.p_value for one in both] == pytest.approx([0.0662] * 2, abs=1e-4)
    assert [one.verdict for one in both] == ["unclear", "unclear"]


def test_a_diverged_run_counts_as_the_worst():
    good = np.arange(10.0)
    results = results_of(fine=good, broken=[NAN] * 9 + [100.0])
    (found,) = differences_of(results)
    assert (found.above, found.below) == (1, 9)
    assert found.p_value == pytest.approx(2 * 11 / 1024)
    assert found.verdict == "worse"
    (turned,) = differences_of(results, "broken")
    assert (turned.above, turned.below, turned.verdict) == (9, 1, "better")
    text = str(comparison_of(results))
    assert "broken" in text and "above in 1, below in 9" in text
    assert "a diverged run counts as worse than any that has not diverged" in text


# -------------------------------------------------------------------------------------- running


def test_agents_run_on_the_same_seeds_and_the_table_is_printed_once(capsys):
    options: Any = {"episodes": 20, "runs": 3, "seed": 3, "compiled": False, "progress": False}
    found = ex.compare(ex.Corridor(), ex.OneHot(), AGENTS, **options)
    assert capsys.readouterr().out == f"{found}\n"
    assert list(found.results) == ["slow", "fast"]
    for name, agent in AGENTS.items():
        alone = ex.run(ex.Corridor(), ex.OneHot(), agent, **options)
        np.testing.assert_array_equal(found.results[name].returns, alone.returns)
