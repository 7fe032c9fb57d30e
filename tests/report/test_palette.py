"""Every agent has one look on a page, and looks differ without colour."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

from expectant.report.palette import AGENTS, Palette


def test_agents_differ_in_colour_and_in_dash() -> None:
    for first, second in combinations(AGENTS.values(), 2):
        assert first.colour != second.colour
        assert first.dash != second.dash


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
        "import sys, expectant.report\n"
        "print([name for name in ('matplotlib', 'jinja2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
