"""Every agent has one look, and looks differ without colour."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

from expectant.report.style import _STYLES, SYMBOLS, style_of


def _grey(colour: str) -> float:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_agents_differ_in_colour_and_in_dash() -> None:
    for first, second in combinations(_STYLES.values(), 2):
        assert first.colour != second.colour
        assert first.dash != second.dash


def test_agents_drawn_together_differ_in_marker() -> None:
    for together in (
        ("q_learning", "q_planning_expectation", "q_planning_true"),
        ("q_learning", "q_planning_true_1", "q_planning_true_5", "q_planning_true_20"),
        ("q_learning", "lookahead", "q_planning_expectation", "cached_values", "cached_policy"),
    ):
        assert len({style_of(agent).marker for agent in together}) == len(together)


def test_more_planning_is_darker() -> None:
    greys = [_grey(style_of(f"q_planning_true_{steps}").colour) for steps in (1, 5, 20)]
    assert greys == sorted(greys, reverse=True)


def test_no_line_is_too_light_to_see() -> None:
    assert all(_grey(style.colour) < 190 for style in _STYLES.values())


def test_unknown_agents_get_a_stable_style() -> None:
    code = "from expectant.report.style import style_of; print(style_of('my_agent'))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert printed == {repr(style_of("my_agent"))}
    assert style_of("my_agent").marker in SYMBOLS


def test_importing_the_report_is_light() -> None:
    code = (
        "import sys, expectant.report\n"
        "print([name for name in ('matplotlib', 'plotly') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_agents_of_one_figure_are_told_apart():
    from expectant.report.style import tell_apart

    names = [f"lookahead backups={n}" for n in range(7)]
    tell_apart(["q_learning", *names])
    styles = [style_of(name) for name in names]
    assert len({style.colour for style in styles}) == 7
    assert style_of("q_learning").colour == "#000000"
    tell_apart([])
