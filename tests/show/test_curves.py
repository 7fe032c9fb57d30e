"""Static figures are written whole, the same every time, whatever the curves hold."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from expectant.show import Palette, chart_of, draw_panels, palette_of
from expectant.show.canvas import add_legend, write_figure
from expectant.show.static_curves import chart_figure


def test_png_and_svg_are_written(make_panel: Any, tmp_path: Path) -> None:
    panels = [make_panel(panel=name) for name in ("slip 0", "slip 0.1", "slip 0.3")]
    written = draw_panels(panels, "Figure 4a", tmp_path / "new" / "figure-4.a")
    assert [path.name for path in written] == ["figure-4.a.png", "figure-4.a.svg"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [p.name for p in written]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    assert written[1].read_text().rstrip().endswith("</svg>")


def test_png_is_six_inches_wide_at_200_dpi_and_not_blank(make_panel: Any, tmp_path: Path) -> None:
    from matplotlib.image import imread

    pixels = imread(draw_panels([make_panel()], "Figure 5a", tmp_path / "figure")[0])
    assert pixels.shape[1] == 1200
    assert len(np.unique(pixels[..., :3].reshape(-1, 3), axis=0)) > 100


def test_svg_is_deterministic_under_any_settings(make_panel: Any, tmp_path: Path) -> None:
    import matplotlib

    first = draw_panels([make_panel()], "Figure 5a", tmp_path / "first")
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "another"}):
        second = draw_panels([make_panel()], "Figure 5a", tmp_path / "second")
        assert matplotlib.rcParams["font.size"] == 20
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert b"<dc:date>" not in first[1].read_bytes()


def test_what_a_figure_says(make_panel: Any) -> None:
    panels = [make_panel(), make_panel(reading="code", diverged=2)]
    figure = chart_figure(chart_of(panels), "Figure 5a", palette_of(panels))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        "Q-learning",
        "Q-planning, expectation model",
        "Look-ahead (Algorithm 1)\n(runs diverged, by panel: 0/30, 2/30)",
        "95 % bootstrap interval",
        "exact, ε-greedy on q*",
        "goal moves",
    ]
    for axes in figure.axes:
        assert axes.get_xlabel() == "episode"
        assert [text.get_text() for text in axes.texts] == ["13.92"]
        assert len(axes.collections) == 4  # the optimum and three bands
        verticals = [np.asarray(line.get_xdata()).tolist() for line in axes.lines[:3]]
        assert verticals == [[switch, switch] for switch in (500, 1000, 1500)]
    assert figure.axes[0].get_ylabel() == "return per episode"


@pytest.mark.parametrize(
    ("title", "episodes", "columns"),
    [("short", 2000, 3), ("a heading as long as that", 2000, 3), ("x" * 27, 2000, 2),
     ("short", 100_000, 2), ("short", 99_960, 3)],
)  # fmt: skip
def test_three_stand_side_by_side_where_there_is_room(make_panel, title, episodes, columns):
    panels = [make_panel(panel=f"{n}") for n in range(5)]
    bins = panels[0].curves["q_learning"].shape[1]
    wide = [
        dataclasses.replace(each, title=title, bin=episodes // bins, switch_every=None)
        for each in panels
    ]
    figure = chart_figure(chart_of(wide), "Figure", palette_of(wide))
    place = figure.axes[0].get_subplotspec()
    assert place is not None
    assert place.get_gridspec().ncols == columns


def test_a_long_name_of_the_upright_axis_is_broken(make_panel):
    panels = [
        dataclasses.replace(make_panel(), quantity="expected return of the greedy policy " * 2)
    ]
    figure = chart_figure(chart_of(panels), "Figure", palette_of(panels))
    assert figure.axes[0].get_ylabel().count("\n") == 1


@pytest.mark.parametrize("diverged", [1, 30])
def test_diverged_runs_do_not_matter(make_panel: Any, tmp_path: Path, diverged: int) -> None:
    panel = make_panel(diverged=diverged)
    panel.curves["q_learning"][:] = np.nan
    assert len(draw_panels([panel], "diverged", tmp_path / "figure")) == 2


def test_odd_numbers_of_panels_and_odd_names(make_panel: Any, tmp_path: Path) -> None:
    panels = [make_panel(panel=f"${n} & <{n}>", optimum=np.nan) for n in range(5)]
    for panel in panels:
        panel.labels["lookahead"] = "<script>alert(1)</script> $"
    svg = draw_panels(panels, "five $", tmp_path / "figure")[1].read_text()
    assert "<script" not in svg


def test_one_run_and_one_bin(make_panel: Any, tmp_path: Path) -> None:
    panel = make_panel(shape=(1, 50, 50), switch_every=None)
    assert len(draw_panels([panel], "one", tmp_path / "figure")) == 2


def test_no_panels_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="draw_panels: panels must have at least one"):
        draw_panels([], "none", tmp_path / "figure")
    assert not list(tmp_path.iterdir())


def test_a_curve_that_leaves_the_axis_is_marked_at_the_edge(make_panel: Any) -> None:
    panel = make_panel()
    panel.curves["q_learning"][:, 20:] = -200.0
    panel.curves["q_learning"][:, 30] = -250.0
    figure = chart_figure(chart_of([panel]), "falls", palette_of([panel]))
    (axes,) = figure.axes
    assert -40 < axes.get_ylim()[0] < 0
    (mark,) = [line for line in axes.lines if line.get_marker() == "v"]
    assert np.asarray(mark.get_xdata()).tolist() == [30.5 * 50]
    assert mark.get_color() == "#000000"
    assert np.asarray(mark.get_ydata()).tolist() == [0.0]  # in parts of the axis: its lower end
    assert mark.get_transform() == axes.get_xaxis_transform()
    assert [text.get_text() for text in axes.texts] == ["13.92", "−250"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[-1] == "below the axis, down to this value"


def test_numbers_of_two_curves_that_leave_stand_above_each_other(make_panel: Any) -> None:
    agents = ("q_learning", "lookahead", "one", "two", "three")
    panel = make_panel(agents=agents)
    for agent in agents[:2]:
        panel.curves[agent][:, 20:] = -200.0
    figure = chart_figure(chart_of([panel]), "falls", palette_of([panel]))
    heights = [text.xyann[1] for text in figure.axes[0].texts[1:]]  # type: ignore[attr-defined]
    assert heights == [4.0, 11.5]


def test_colours_are_those_of_the_palette(make_panel: Any) -> None:
    panel = make_panel(agents=("mine",))
    palette = Palette({"yours": "Yours", "mine": "My own"})
    figure = chart_figure(chart_of([panel]), "", palette)
    assert figure.legends[0].get_texts()[0].get_text() == "My own"
    assert figure.axes[0].lines[-1].get_color() == palette["mine"].colour


@pytest.mark.parametrize(("letters", "rows"), [(1, 1), (40, 3)])
def test_a_legend_has_as_many_columns_as_its_names_leave_room_for(letters, rows):
    """Six inches hold six short names in a row, or two of forty letters."""
    figure = Figure(figsize=(6.0, 3.0))
    add_legend(figure, [Line2D([], [], label=str(n) * letters) for n in range(6)])
    assert figure.get_figheight() == pytest.approx(3.0 + 0.17 * rows)


def test_parts_of_a_written_figure_have_found_their_places(make_panel: Any, tmp_path: Path) -> None:
    made: list[Figure] = []

    def make() -> Figure:
        panels = [make_panel()]
        made.append(chart_figure(chart_of(panels), "Figure 5a", palette_of(panels)))
        return made[0]

    write_figure(make, tmp_path / "figure")
    legend, axes = made[0].legends[0].get_window_extent(), made[0].axes[0].get_window_extent()
    assert 0 < legend.y0 < legend.y1 < axes.y0 < axes.y1 < made[0].bbox.y1
