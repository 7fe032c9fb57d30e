"""Drawing of recordings that were made up, without any agent."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from expectant.show.animation.drawing import durations, gif, pictures, stage
from expectant.show.animation.frames import GRID, PLANE, ROW, Exit, Frame, Layout, Recording
from expectant.show.animation.marks import draw_image
from expectant.show.animation.panels import frames_to_scale_for, scale_of
from expectant.show.page import page as whole_page
from expectant.show.palette import Palette
from expectant.show.sections import Animation, Header, Parameters

CANDIDATES = (os.environ.get("CHROMIUM", ""), "/usr/bin/chromium", "/usr/bin/chromium-browser")
CHROMIUM = next((place for place in CANDIDATES if place and Path(place).is_file()), None)
COLOUR = "#0072B2"
EVIL = "</script><script>alert(1)</script><b>bold</b>"


def layout(kind: str) -> Layout:
    rows, columns = {ROW: (1, 4), GRID: (2, 13), PLANE: (5, 5)}[kind]
    directions = np.array([[-1.0, 0.0], [1.0, 0.0]]) if kind == GRID else None
    return Layout(
        kind, np.arange(columns, dtype=float), np.arange(rows, dtype=float), ("x", "y"),
        np.zeros((rows * columns, 1)), ("left", "right"), directions,
        (Exit(-1.0, 0.0, (0.0, 2.0)), Exit(float(columns), 0.0, (2.0, 0.0))),
        ("goal on the right", "goal on the left"),
    )  # fmt: skip


def made_up(kind: str = ROW, *, model: bool = True, title: str = "Made up") -> Recording:
    """Values n · time, with the change after ten of twenty episodes."""
    place, frames = layout(kind), []
    states = len(place.points)
    for time in (0, 5, 10, 15, 20):
        known = np.full(states, time / 20 if model else np.nan)
        actions = np.arange(states) % 3 - 1
        moves = np.repeat(known[:, None], place.points.shape[1], axis=1)
        phase = int(time > 10)
        values = np.arange(states) * float(time)
        frames.append(Frame(time, 7 * time, phase, values, actions, known, moves))
    curve = np.linspace(-3.0, 4.0, 20)
    return Recording(
        title, place, tuple(frames), "episode", 20, np.arange(1, 21), curve, "return", (10,), False
    )


def silent(fraction: float) -> None:
    """Nobody is told."""


def axes_of(recording: Recording) -> Any:
    with stage(recording, COLOUR) as (figure, update):
        update(recording.frames[-1])
        return figure


@pytest.mark.parametrize(
    ("kind", "model"), [(ROW, True), (GRID, True), (PLANE, True), (PLANE, False)]
)
def test_every_layout_is_drawn(kind, model):
    recording = made_up(kind, model=model)
    told: list[float] = []
    drawn = pictures(recording, COLOUR, told.append)
    assert told == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert len({image.size for image in drawn}) == 1
    contents = {image.tobytes() for image in drawn}
    assert len(contents) == 5  # every frame looks different
    titles = [axes.get_title() for axes in axes_of(recording).axes]
    assert any("values" in title for title in titles)
    assert any("model" in title for title in titles) == model
    *panels, curve = axes_of(recording).axes
    names = {axes.get_xlabel() for axes in panels if axes.get_title()}
    assert names == {"x"} and curve.get_xlabel() == "episode" and curve.get_ylabel() == "return"
    shapes = {ROW: (2, 2), GRID: (3, 1), PLANE: (2, 3) if model else (2, 2)}
    assert panels[0].get_gridspec().get_geometry() == shapes[kind]


def test_bars_and_title_show_the_frame():
    figure = axes_of(made_up())
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == [0.0, 20.0, 40.0, 60.0]
    assert figure.get_suptitle() == "Made up\nepisode 20 · step 140 · goal on the left"
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "★\n2" in texts and "0" in texts
    assert texts.index("★\n2") < texts.index("0")  # the goal is the left one by then


def test_actions_without_directions_are_numbers_and_no_preference_is_a_dot():
    texts = [text.get_text() for text in axes_of(made_up()).axes[0].texts]
    assert [text for text in texts if text in ("·", "0", "1")][-4:] == ["·", "0", "1", "·"]


@pytest.mark.parametrize(
    ("kind", "extent"), [(GRID, (1.5, 4.5, 12.5, 9.5)), (PLANE, (1.5, 4.5, 9.5, 12.5))]
)
def test_colours_fill_the_cells_around_their_states(kind, extent):
    place = dataclasses.replace(layout(kind), across=np.array([2.0, 3.0, 4.0]), exits=())
    place = dataclasses.replace(place, along=np.array([10.0, 11.0, 12.0]))
    axes = Figure().subplots()
    assert tuple(draw_image(axes, place, (0.0, 1.0), "viridis").get_extent()) == extent
    wide = dataclasses.replace(place, across=np.array([2.0, 5.0]), along=np.array([7.0]))
    drawn = draw_image(axes, wide, (0.0, 1.0), "viridis").get_extent()
    assert tuple(drawn)[:2] == (0.5, 6.5) and sorted(drawn[2:]) == [6.5, 7.5]


def arrows_in(axes):
    """(across, along) of every arrow."""
    (arrows,) = (found for found in axes.collections if hasattr(found, "set_UVC"))
    return [(float(u), float(v)) for u, v in zip(arrows.U, arrows.V, strict=True)]


def test_arrows_point_where_actions_and_the_model_lead():
    recording = made_up(GRID)
    last = recording.frames[-1]
    moves = last.moves.copy()
    moves[0], moves[1], moves[2] = (0.4, -0.8), (9.0, 0.0), (np.nan, 0.4)
    moves[3], moves[4] = (np.inf, 0.4), (0.4, -np.inf)
    changed = dataclasses.replace(
        recording, frames=(*recording.frames[:-1], last._replace(moves=moves))
    )
    figure = axes_of(changed)
    choices, model = arrows_in(figure.axes[0]), arrows_in(figure.axes[1])
    assert choices[:3] == [(0.0, 0.0), (-0.75, 0.0), (0.75, 0.0)]  # no preference, left, right
    assert model[0] == pytest.approx((0.3, -0.6))
    assert model[1][0] == 1.5  # as long as an arrow may be
    assert model[2] == model[3] == pytest.approx((0.0, 0.3))
    assert model[4] == pytest.approx((0.3, 0.0))


def test_the_curve_is_drawn_as_far_as_the_frame_has_come():
    recording = made_up()
    with stage(recording, COLOUR) as (figure, update):
        update(recording.frames[2])
        faint, past = (line for line in figure.axes[-1].lines if len(line.get_xdata()) > 2)
        assert list(past.get_xdata()) == list(range(1, 11))
        np.testing.assert_allclose(past.get_ydata(), recording.curve[:10])
        np.testing.assert_allclose(faint.get_ydata(), recording.curve)


def test_scales_are_made_for_settled_frames_and_stay_the_same():
    recording = made_up(GRID)
    assert [frame.episode for frame in frames_to_scale_for(recording)] == [10, 20]
    with stage(recording, COLOUR) as (figure, update):
        seen = set()
        for frame in recording.frames:
            update(frame)
            seen.add(figure.axes[0].images[0].get_clim())
    assert len(seen) == 1
    low, high = seen.pop()
    assert low == pytest.approx(0.0, abs=3.0) and 470 < high <= 500


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([np.array([np.nan, np.inf])], (0.0, 1.0)),
        ([np.array([2.0]), np.array([2.0])], (1.5, 2.5)),
        ([np.array([0.0, np.inf]), np.array([1.0, np.nan])], (0.005, 0.995)),
    ],
)
def test_scales_pass_over_what_is_not_finite(numbers, expected):
    assert scale_of(numbers) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [ROW, PLANE])
def test_a_diverged_run_can_be_drawn(kind):
    recording = made_up(kind)
    wild = recording.frames[-1]
    count = wild.values.size
    wild = wild._replace(
        values=np.resize([np.inf, np.nan, -1e300, 1e300], count),
        rewards=np.full(count, np.inf),
        moves=np.full_like(wild.moves, -np.inf),
    )
    broken = dataclasses.replace(recording, frames=(*recording.frames[:-1], wild), diverged=True)
    assert len(pictures(broken, COLOUR, silent)) == 5
    assert broken.caption(wild).endswith("diverged")


def test_a_gif_has_all_frames_and_rests_before_a_change_and_at_the_end():
    recording = made_up()
    shown = durations(recording)
    assert shown == [120, 120, 700, 120, 2500]
    content = gif(pictures(recording, COLOUR, silent), shown)
    with Image.open(io.BytesIO(content)) as image:
        assert image.format == "GIF" and image.info["loop"] == 0
        lasted = []
        for number in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(number)
            image.load()
            lasted.append(image.info["duration"])
    assert lasted == shown


def page(recording: Recording) -> str:
    drawn = pictures(recording, COLOUR, silent)
    sections = [
        Header(recording.title),
        Animation(recording, drawn),
        Parameters([("", [("agent", EVIL), ("seed", 0)])]),
    ]
    return whole_page(sections, Palette({}))


def test_the_page_has_all_frames_and_escapes_all_text():
    named = dataclasses.replace(layout(ROW), phases=("goal on the right", EVIL))
    text = page(dataclasses.replace(made_up(title=EVIL), layout=named))
    assert "<b>bold" not in text and text.count("<script") == 2
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found is not None
    (data,) = json.loads(found[1])["sections"]
    assert len(data["frames"]) == 5 and data["changes"] == [2]
    assert data["captions"][2] == "episode 10 · step 70 · goal on the right"
    with Image.open(io.BytesIO(base64.b64decode(data["frames"][0]))) as image:
        assert image.format == "PNG"
    assert "http:" not in text and "https:" not in text


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_the_player_plays(tmp_path):
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = tmp_path / "watch.html"
    path.write_text(page(made_up(title=EVIL)), encoding="utf-8")
    flags = ["--no-sandbox", "--headless", "--disable-gpu"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        visit = browser.new_page()
        problems: list[str] = []
        visit.on("console", lambda message: problems.append(message.text))
        visit.on("pageerror", lambda error: problems.append(str(error)))
        visit.goto(path.as_uri())
        caption = visit.locator("#caption")
        assert caption.text_content().startswith("episode 0 ")
        visit.click("[data-change='0']")
        assert caption.text_content().startswith("episode 10 ")
        visit.locator("#slider").fill("3")
        assert caption.text_content().startswith("episode 15 ")
        visit.select_option("#speed", "4")
        visit.click("#play")
        api.expect(caption).to_contain_text("episode 20 ")
        api.expect(visit.locator("#play")).to_have_text("▶ play")
        assert visit.evaluate("document.getElementById('picture').naturalWidth") > 500
        browser.close()
    assert problems == []
