from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from expectant.analysis.curves import interval
from expectant.analysis.panel import Level
from expectant.report import Palette, draw_panels
from expectant.report.chart_data import Chart, Plot, chart_of, curve_of, palette_of
from expectant.report.figure import chart_figure


def test_png_svg_and_pdf_are_written(make_panel: Any, tmp_path: Path) -> None:
    panels = [make_panel(panel=name) for name in ("slip 0", "slip 0.1", "slip 0.3")]
    written = draw_panels(panels, "", tmp_path / "new" / "figure-4.a")
    assert [path.name for path in written] == [
        f"figure-4.a.{kind}" for kind in ("png", "svg", "pdf")
    ]
    assert {path.name for path in (tmp_path / "new").iterdir()} == {p.name for p in written}
    assert written[0].read_bytes().startswith(b"\x89PNG")
    assert written[1].read_text().rstrip().endswith("</svg>")
    assert written[2].read_bytes().startswith(b"%PDF")


def test_files_are_deterministic_under_any_settings(make_panel: Any, tmp_path: Path) -> None:
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
    assert len(draw_panels([panel], "diverged", tmp_path / "figure")) == 3


def test_a_panel_shows_means_and_whole_bands(make_panel: Any) -> None:
    panel = make_panel(shape=(8, 400, 20), switch_every=200)
    chart = chart_of([panel])
    (axes,) = chart_figure(chart, "Figure", palette_of([panel])).axes
    (plot,) = chart.plots
    for curve in plot.curves:
        mean, low, high = interval(panel.curves[curve.key])
        np.testing.assert_array_equal(curve.mean, mean)
        assert any(np.array_equal(line.get_ydata(), mean) for line in axes.lines)
        np.testing.assert_array_equal([curve.low, curve.high], [low, high])


def test_a_cross_stands_where_a_curve_ends() -> None:
    runs = np.array([[1.0, 2.0, np.nan, np.nan], [3.0, 4.0, 5.0, 6.0]])
    levels = [Level(0, 40, 2.5, "optimum"), Level(0, 20, 1.5, "other")]
    plot = Plot("One", np.array([5, 15, 25, 35]), 40, [curve_of("all", runs)], [], levels)
    figure: Any = chart_figure(Chart([plot], 1), "", Palette({"all": "all"}))
    (axes,) = figure.axes
    (cross,) = (line for line in axes.lines if line.get_marker() == "x")
    assert (list(cross.get_xdata()), list(cross.get_ydata())) == ([15], [3.0])
    assert [text.get_text() for text in axes.texts] == ["2.5"]  # of the level that reaches the end
    assert (plot.curves[0].runs, plot.curves[0].diverged) == (2, 1)
