"""Recordings worked out by hand on five cells in plain Python, and the files drawn from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import Visit, needs_browser, opened_browser
from matplotlib.animation import FFMpegWriter
from PIL import Image
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.core.interfaces import Drawing, Exit
from expectant.report.figure import use_style
from expectant.report.watch import make_scene, watch, write_animation
from expectant.report.watch_panels import draw_recording
from expectant.report.watch_recording import (
    GRID,
    PLANE,
    ROW,
    Frame,
    Layout,
    Recording,
    changes_of,
    layout_of,
    moments,
    record,
)

FIVE = ex.Corridor(cells=5, slip=0.0)
QUICK: dict[str, Any] = {"compiled": False, "progress": False}
EXACT = ex.Lookahead.paper(1.0, model="exact", planning_steps=10, epsilon=0.3)


def last(domain, features, agent, **options):
    recording = record(domain, features, agent, frames=2, **{**QUICK, "episodes": 40, **options})
    return recording.frames[-1]


def check(frame, values, actions, rewards, moves):
    np.testing.assert_allclose(frame.values, values, atol=1e-9)
    np.testing.assert_array_equal(frame.actions, actions)
    np.testing.assert_allclose(frame.rewards, rewards, atol=1e-9)
    np.testing.assert_allclose(frame.moves[:, 0], moves, atol=1e-9)


@pytest.mark.parametrize("agent", [EXACT, EXACT.replace(model="expectation", model_step=1.0)])
def test_with_an_exact_or_perfectly_learned_model_everything_is_known(agent):
    frame = last(FIVE, ex.OneHot(), agent, episodes=200)
    check(frame, [16, 17, 18, 19, 20], [1] * 5, [-1, -1, -1, -1, 20], [1, 1, 1, 1, 0])


def test_displacements_do_not_depend_on_the_features():
    frame = last(FIVE, ex.RandomBinary(12, 3), EXACT.replace(value_step=0.1), episodes=80, seed=1)
    right = frame.actions == 1
    expected = np.where(right, [1, 1, 1, 1, 0], [0, -1, -1, -1, -1])
    np.testing.assert_allclose(frame.moves[:, 0], expected, atol=1e-6)


def test_nothing_is_known_at_first_and_the_goal_moves():
    recording = record(
        FIVE.replace(switch_every=40), ex.OneHot(), EXACT, episodes=80, frames=9, **QUICK
    )
    assert recording.changes == (40,)
    by_time = {recording.time(frame): frame for frame in recording.frames}
    assert (by_time[0].values == 0).all()
    check(by_time[40], [16, 17, 18, 19, 20], [1] * 5, [-1, -1, -1, -1, 20], [1, 1, 1, 1, 0])
    check(by_time[80], [20, 19, 18, 17, 16], [0] * 5, [20, -1, -1, -1, -1], [0, -1, -1, -1, -1])
    assert recording.caption(by_time[40]).endswith("goal on the right")
    assert recording.caption(by_time[80]).endswith("goal on the left")


@pytest.mark.parametrize(
    ("domain", "features", "agent"),
    [
        (FIVE.replace(slip=0.2), ex.OneHot(), ex.Lookahead.paper(0.2, model="true_sample")),
        (ex.MountainCar(step_limit=30), ex.Tiles(2, 4, hash_size=20), ex.Lookahead.paper(0.1, 0.1)),
        (ex.Gym("MountainCar-v0", max_episode_steps=20), ex.Tiles(2, 4), ex.QLearning.paper(0.1)),
    ],
    ids=["a model that draws", "hashed tiles", "Gymnasium"],
)
def test_looking_does_not_change_the_run(domain, features, agent):
    recording = record(domain, features, agent, episodes=4, frames=5, **QUICK)
    alone = ex.run(domain, features, agent, episodes=4, runs=1, **QUICK)
    np.testing.assert_array_equal(recording.curve, alone.returns[0])
    assert len(recording.frames) == 5


def test_steps_can_be_counted_instead():
    domain = ex.domains.LocaGrid(rows=2, columns=3, phase_steps=(100, 50, 50))
    agent = ex.Lookahead.paper(0.5, model="exact", discount=0.9)
    recording = record(domain, ex.OneHot(), agent, steps=210, frames=10, **QUICK)
    alone = ex.run(domain, ex.OneHot(), agent, steps=210, bins=200, runs=1, **QUICK)
    np.testing.assert_array_equal(recording.curve, alone.rewards[0])
    assert (recording.changes, recording.unit) == ((100, 150), "step")
    assert {100, 150, 210} <= {frame.step for frame in recording.frames}
    assert recording.frames[-1].phase == 2 and recording.frames[-1].moves.shape == (6, 2)


def test_a_run_that_diverges_ends_there():
    with np.errstate(all="ignore"):  # plain Python warns of overflows
        recording = record(
            FIVE, ex.OneHot(), ex.Lookahead.paper(1e9, 1e9), episodes=500, frames=20, **QUICK
        )
    assert recording.diverged and recording.caption(recording.frames[-1]).endswith("diverged")
    assert recording.frames[-1].episode < 500 and len(recording.curve) < 500


def test_moments_are_dense_after_every_change():
    assert moments(100, 11, (50,)) == [0, 2, 8, 18, 32, 50, 52, 58, 68, 82, 100]
    assert moments(3, 80, ()) == [0, 1, 2, 3]
    assert moments(100, 3, (20, 40, 60)) == [0, 50, 100]  # too few to show every change
    assert changes_of(FIVE.replace(switch_every=40), "episode", 100) == (40, 80)
    assert changes_of(FIVE.replace(switch_every=40), "step", 100) == ()


def test_a_corridor_is_a_row_between_its_ends():
    layout = layout_of(ex.Corridor(cells=3, switch_every=5))
    assert (layout.kind, layout.drawing.names[0], layout.drawing.actions) == (
        ROW,
        "cell",
        ("left", "right"),
    )
    np.testing.assert_array_equal(layout.points, [[0], [1], [2]])
    assert layout.drawing.exits == (Exit(-1.0, 0.0, (0.0, 20.0)), Exit(3.0, 0.0, (20.0, 0.0)))
    assert layout.drawing.phases == ("goal on the right", "goal on the left")


def test_a_grid_has_rows_and_a_maze_has_walls():
    layout = layout_of(ex.domains.LocaGrid(rows=2, columns=3))
    assert layout.kind == GRID
    np.testing.assert_array_equal(layout.points[4], [1, 1])  # second row, second column
    np.testing.assert_array_equal(layout.image(np.arange(6)), [[0, 1, 2], [3, 4, 5]])
    maze = layout_of(ex.domains.DynaMaze())
    picture = maze.image(np.arange(len(maze.points), dtype=float))
    assert picture.shape == (6, 9) and np.isnan(picture).sum() == 54 - len(maze.points)


def test_a_plane_is_looked_at_in_the_middles_of_equal_cells():
    layout = layout_of(ex.MountainCar(min_position=-1.0, max_position=1.0, max_speed=0.5))
    assert (layout.kind, layout.drawing.names) == (PLANE, ("position", "speed"))
    np.testing.assert_allclose(layout.observations[[0, 1, 40]], [
        [-0.975, -0.4875], [-0.925, -0.4875], [-0.975, -0.4625],
    ])  # fmt: skip


def made_up(kind: str = ROW, *, model: bool = True, title: str = "Made up") -> Recording:
    """Values n · time, with a change after ten of twenty episodes."""
    rows, columns = {ROW: (1, 4), GRID: (2, 13), PLANE: (5, 5)}[kind]
    drawing = Drawing(
        ("x", "y"), ("left", "right"), None, ((-1.0, 0.0), (1.0, 0.0)) if kind == GRID else None,
        (Exit(-1.0, 0.0, (0.0, 2.0)), Exit(float(columns), 0.0, (2.0, 0.0))), ("one", "two"),
    )  # fmt: skip
    across, along = np.arange(float(columns)), np.arange(float(rows))
    layout = Layout(kind, across, along, np.zeros((rows * columns, 1)), drawing)
    states, frames = len(layout.points), []
    for time in (0, 5, 10, 15, 20):
        known = np.full(states, time / 20 if model else np.nan)
        moves = np.repeat(known[:, None], layout.points.shape[1], axis=1)
        values, actions = np.arange(states) * float(time), np.arange(states) % 3 - 1
        frames.append(Frame(time, 7 * time, int(time > 10), values, actions, known, moves))
    curve = np.linspace(-3.0, 4.0, 20)
    return Recording(
        title, layout, tuple(frames), "episode", 20, np.arange(1, 21), curve, "return", (10,),
        False, title,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "model", "shape"),
    [(ROW, True, (2, 2)), (GRID, True, (3, 1)), (PLANE, True, (2, 3)), (PLANE, False, (2, 2))],
)
def test_every_layout_is_drawn(kind, model, shape):
    recording = made_up(kind, model=model)
    with use_style():
        figure, update = draw_recording(recording)
        update(recording.frames[0])
        first = np.asarray(figure.canvas.buffer_rgba()).copy() if figure.canvas.draw() else None
        update(recording.frames[-1])
        figure.canvas.draw()
    assert first is None or (first != np.asarray(figure.canvas.buffer_rgba())).any()
    assert figure.axes[0].get_gridspec().get_geometry() == shape
    assert figure.get_suptitle() == "Made up\nepisode 20 · step 140 · two"
    if kind == ROW:
        assert [bar.get_height() for bar in figure.axes[0].patches] == [0.0, 20.0, 40.0, 60.0]
        texts = [text.get_text() for text in figure.axes[0].texts]
        assert texts == ["·", "0", "1", "·", "★\n2", "0"]  # greedy actions, then exits


def test_a_gif_has_every_frame_and_pauses(tmp_path):
    told: list[float] = []
    path = write_animation(made_up(), tmp_path / "deep" / "a.gif", told.append)
    assert told == sorted(told) and told[-1] == 1.0
    assert list(path.parent.iterdir()) == [path]  # nothing half-written is left
    with Image.open(path) as image:
        assert image.n_frames == 5  # type: ignore[attr-defined]
        shown = []
        for number in range(5):
            image.seek(number)
            shown.append(image.info["duration"])
    assert shown[0] == shown[1] < shown[2] < shown[4]


@needs_browser
def test_a_page_plays_without_a_network(tmp_path):
    evil = "</script><b>bold</b>"
    path = write_animation(made_up(title=evil), tmp_path / "a.html", lambda _: None)
    with opened_browser() as browser:
        visit = Visit(browser, path, 900)
        assert visit.page.title() == evil and visit.page.locator("b").count() == 0
        visit.page.wait_for_function("document.querySelector('.animation img').src.length > 1000")
        first = visit.page.get_attribute(".animation img", "src")
        visit.page.click('[title="Last frame"]')
        assert visit.page.get_attribute(".animation img", "src") != first
        assert visit.problems == []
        assert not [url for url in visit.requests if url.startswith("http")]


@pytest.mark.parametrize("domain", ["corridor", "two_rooms", "loca_mountain_car"])
def test_any_domain_and_agent_can_be_named(domain):
    world, _, agent = make_scene(domain, "q_learning")
    assert agent == ex.QLearning() and layout_of(world)
    with pytest.raises(ValueError, match="unknown 'q_lerning', did you mean 'q_learning'"):
        make_scene(domain, "q_lerning")


def test_mistakes_are_found_before_anything_is_run(tmp_path, monkeypatch):
    arguments = (ex.Corridor(), ex.OneHot(), ex.Lookahead.paper(0.1))
    with pytest.raises(ValueError, match=r"path must end in .*, got 'a\.png'"):
        watch(*arguments, "a.png", episodes=10**9)
    monkeypatch.setattr(FFMpegWriter, "isAvailable", lambda: False)
    with pytest.raises(ValueError, match=r"\.mp4 needs the program ffmpeg"):
        watch(*arguments, tmp_path / "a.mp4", episodes=10**9)
    assert not list(tmp_path.iterdir())


def test_the_command_writes_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["watch", "--episodes", "8", "--frames", "3"])
    assert done.exit_code == 0 and done.stdout.split() == ["results/watch.gif"], done.output
    assert Path("results/watch.gif").exists()
