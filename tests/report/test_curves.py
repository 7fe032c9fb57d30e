"""Static figures are written whole, the same every time, whatever the curves hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from expectant.report import draw_panels


def test_png_and_svg_are_written(make_panel: Any, tmp_path: Path) -> None:
    panels = [make_panel(panel=name) for name in ("slip 0", "slip 0.1", "slip 0.3")]
    written = draw_panels(panels, "Figure 4a", tmp_path / "new" / "figure-4.a")
    assert [path.name for path in written] == ["figure-4.a.png", "figure-4.a.svg"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [p.name for p in written]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    assert written[1].read_text().rstrip().endswith("</svg>")


def test_svg_is_deterministic_under_any_settings(make_panel: Any, tmp_path: Path) -> None:
    import matplotlib

    first = draw_panels([make_panel()], "Figure 5a", tmp_path / "first")
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "another"}):
        second = draw_panels([make_panel()], "Figure 5a", tmp_path / "second")
        assert matplotlib.rcParams["font.size"] == 20
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert b"<dc:date>" not in first[1].read_bytes()


@pytest.mark.parametrize("diverged", [1, 30])
def test_diverged_runs_do_not_matter(make_panel: Any, tmp_path: Path, diverged: int) -> None:
    panel = make_panel(diverged=diverged)
    panel.curves["q_learning"][:] = np.nan
    assert len(draw_panels([panel], "diverged", tmp_path / "figure")) == 2


def test_one_run_and_one_bin(make_panel: Any, tmp_path: Path) -> None:
    panel = make_panel(shape=(1, 50, 50), switch_every=None)
    assert len(draw_panels([panel], "one", tmp_path / "figure")) == 2
