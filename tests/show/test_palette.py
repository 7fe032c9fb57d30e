"""Every agent has one look on a page, and looks differ without colour."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

from expectant.show.palette import AGENTS, BACKUPS, Palette


def _grey(colour: str) -> float:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_agents_differ_in_colour_and_in_dash() -> None:
    for first, second in combinations(AGENTS.values(), 2):
        assert first.colour != second.colour
        assert first.dash != second.dash


def test_agents_drawn_together_differ_in_marker() -> None:
    for together in (
        ("q_learning", "q_planning_expectation", "q_planning_true"),
        ("q_learning", "q_planning_true_1", "q_planning_true_5", "q_planning_true_20"),
        ("q_learning", "lookahead", "q_planning_expectation", "cached_values", "cached_policy"),
    ):
        assert len({AGENTS[agent].marker for agent in together}) == len(together)


def test_more_planning_is_darker() -> None:
    greys = [_grey(AGENTS[f"q_planning_true_{steps}"].colour) for steps in (1, 5, 20)]
    assert greys == sorted(greys, reverse=True)


def test_no_line_is_too_light_to_see() -> None:
    assert all(_grey(look.colour) < 190 for look in (*AGENTS.values(), *BACKUPS.values()))


def test_known_agents_look_the_same_on_every_page_whoever_else_is_there() -> None:
    first = Palette({"mine": "Mine", "q_learning": "Q"})
    second = Palette({"q_learning": "Q", "yours": "Yours"})
    assert first["q_learning"] == second["q_learning"]
    assert first["q_learning"].colour == "#000000"
    assert first["mine"].name == "Mine"


def test_a_palette_knows_nothing_of_another() -> None:
    alone = Palette({"mine": "Mine"})["mine"]
    Palette({f"agent {n}": "" for n in range(20)})
    assert Palette({"mine": "Mine"})["mine"] == alone


def test_unknown_agents_are_given_what_nobody_has() -> None:
    names = {"q_learning": "", **{f"lookahead backups={n}": "" for n in range(5)}}
    styles = list(Palette(names).values())
    for part in ("colour", "dash", "marker"):
        assert len({getattr(style, part) for style in styles}) == 6


def test_many_unknown_agents_still_differ() -> None:
    styles = Palette({str(n): "" for n in range(40)}).values()
    assert len({(style.colour, style.dash, style.marker) for style in styles}) == 40


def test_backups_have_looks_of_their_own() -> None:
    palette = Palette({"all": "all", "none": "no planning"})
    assert palette["all"].colour == "#0072B2"
    assert palette["none"].name == "no planning"
    assert list(palette) == ["all", "none"]
    both = Palette({"lookahead": "Look-ahead", "all": "all", "seen": "seen"})
    assert both["lookahead"].colour == "#0072B2"  # agents first
    assert both["all"].colour not in ("#0072B2", both["seen"].colour)
    assert both["seen"].colour == "#56B4E9"


def test_importing_the_report_is_light() -> None:
    code = (
        "import sys, expectant.show\n"
        "print([name for name in ('matplotlib', 'plotly', 'jinja2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_colours_are_given_out_in_order_and_looks_repeat_late() -> None:
    palette = Palette({f"agent {n}": f"Agent {n}" for n in range(35)})
    looks = [palette[f"agent {n}"] for n in range(35)]
    assert len({(look.colour, look.dash, look.marker) for look in looks[:9]}) == 9
    assert looks[7].colour == looks[0].colour and looks[9].marker == looks[0].marker
    assert (
        looks[0].dashes(2.0) == "5px,2px"
        and Palette({"q_learning": ""})["q_learning"].dashes(2.0) == "solid"
    )
    assert [look.colour for look in looks[:3]] == ["#332288", "#44AA99", "#882255"]
