from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from expectant.analysis.curves import interval
from expectant.report import terminal_tables as tables
from expectant.report.formatting import format_estimate


def cells(table: str) -> list[list[str]]:
    """Return the cells of all lines below the heads."""
    lines = table.rsplit("\n\n", maxsplit=1)[-1].splitlines()[1:]
    return [re.split(" {2,}", line.strip()) for line in lines]


def test_verdicts_fit_100_columns_and_stand_in_the_order_of_claims():
    def verdict(number: int, interpretation: str, outcome: str) -> Any:
        claim = f"claim {number} " + 20 * "which is long "
        return SimpleNamespace(
            id=number, interpretation=interpretation, claim=claim, verdict=outcome,
            short="short" * (number == 7), ours=number == 7,
        )  # fmt: skip

    table = tables.verdict_table([
        verdict(7, "text", "holds"), verdict(2, "text", "unclear"), verdict(2, "authors", "equal"),
    ])  # fmt: skip
    first, second = cells(table)
    assert (first[0], first[2:]) == ("2", ["unclear", "equal"]) and first[1].endswith(" …")
    assert second == ["7", "short (ours)", "holds"]
    assert max(map(len, table.splitlines())) <= 100


def test_rows_of_the_adaptation_test():
    row = {
        "agent": "one", "backups": "all", "P1": 0.96, "adaptation": 0.5, "adaptation_low": 0.25,
        "adaptation_high": 0.75, "phase2": [1.0, 2.0], "adapted_seeds": 1, "verdict": "undecided",
        "why": "in part",
    }  # fmt: skip
    diverged = row | {"adaptation": None, "why": ""}
    assert cells(tables.adaptation_table([row, diverged])) == [
        ["one", "all", "undecided (in part)", "0.96", "0.50", "0.25 to 0.75", "1 of 2"],
        ["one", "all", "undecided", "0.96", "–", "0.25 to 0.75", "1 of 2"],
    ]


def test_curves_have_means_over_all_episodes_and_the_last_quarter(make_panel: Any):
    panel = make_panel(shape=(6, 80, 10), switch_every=None, optimum=9.5, diverged=1)
    first, _, last = cells(tables.curve_table([panel]))
    returns = panel.curves["q_learning"]
    estimates = []
    for part in (returns, returns[:, -2:]):
        estimates.append("{} ({})".format(*format_estimate(*interval(part.mean(axis=1)))))
    assert first == [panel.labels["q_learning"], "6", "0", *estimates, "9.5"]
    assert last[2:5] == ["1", "diverged", "diverged"]
