"""Recordings worked out by hand on five cells in plain Python, and the files drawn from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.core.interfaces import Drawing, Exit
from expectant.engine.progress import Silent
from expectant.engine.setup import Setup
from expectant.report.animation import (
    Frame,
    Layout,
    Recording,
    draw_recording,
    layout_of,
    moments,
    record,
    watch,
    write_animation,
)
from expectant.report.figure import use_style

FIVE = ex.Corridor(cells=5, slip=0.0)
EXACT = ex.Lookahead.paper(1.0, model="exact", planning_steps=10, epsilon=0.3)


def record_plain(domain, features, agent, frames=2, **length):
    return record(Setup(domain, features, agent, bins=200, **length), frames, False, Silent())


def check(frame, values, actions):
    np.testing.assert_allclose(frame.values, values, atol=1e-9)
    np.testing.assert_array_equal(frame.actions, actions)


@pytest.mark.parametrize("agent", [EXACT, EXACT.replace(model="expectation", model_step=1.0)])
def test_with_an_exact_or_perfectly_learned_model_everything_is_known(agent):
    frame = record_plain(FIVE, ex.OneHot(), agent, episodes=200).frames[-1]
    check(frame, [16, 17, 18, 19, 20], [1] * 5)


def test_nothing_is_known_at_first_and_the_goal_moves():
    domain = FIVE.replace(switch_every=40)
    recording = record_plain(domain, ex.OneHot(), EXACT, frames=9, episodes=80)
    assert recording.changes == (40,)
    by_time = {frame.time: frame for frame in recording.frames}
    assert (by_time[0].values == 0).all()
    check(by_time[40], [16, 17, 18, 19, 20], [1] * 5)
    check(by_time[80], [20, 19, 18, 17, 16], [0] * 5)
    assert by_time[40].caption.endswith("goal on the right")
    assert by_time[80].caption.endswith("goal on the left")


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
    recording = record_plain(domain, features, agent, frames=5, episodes=4)
    alone = ex.run(domain, features, agent, episodes=4, runs=1, compiled=False, progress=False)
    np.testing.assert_array_equal(recording.curve, alone.returns[0])
    assert len(recording.frames) == 5


def test_steps_can_be_counted_instead():
    domain = ex.domains.LocaGrid(rows=2, columns=3, phase_steps=(100, 50, 50))
    agent = ex.Lookahead.paper(0.5, model="exact", discount=0.9)
    recording = record_plain(domain, ex.OneHot(), agent, frames=10, steps=210)
    alone = ex.run(
        domain, ex.OneHot(), agent, steps=210, bins=200, runs=1, compiled=False, progress=False
    )
    np.testing.assert_array_equal(recording.curve, alone.rewards[0])
    assert recording.changes == (100, 150)
    assert {100, 150, 210} <= {frame.time for frame in recording.frames}
    assert recording.frames[-1].phase == 2


def test_a_run_that_diverges_ends_there():
    with np.errstate(all="ignore"):  # plain Python warns of overflows
        agent = ex.Lookahead.paper(1e9, 1e9)
        recording = record_plain(FIVE, ex.OneHot(), agent, frames=20, episodes=500)
    assert recording.frames[-1].caption.endswith("diverged")
    assert recording.frames[-1].time < 500 and len(recording.curve) < 500


def test_changes_are_among_the_moments_if_they_fit():
    assert moments(100, 6, (50,)) == [0, 25, 50, 75, 100]
    assert moments(3, 80, ()) == [0, 1, 2, 3]
    assert moments(100, 3, (20, 40, 60)) == [0, 50, 100]


def test_layouts_follow_the_drawing_of_the_domain():
    row = layout_of(ex.Corridor(cells=3))
    np.testing.assert_array_equal(row.points, [[0, 0], [1, 0], [2, 0]])
    grid = layout_of(ex.domains.LocaGrid(rows=2, columns=3))
    np.testing.assert_array_equal(grid.points[4], [1, 1])  # second row, second column
    np.testing.assert_array_equal(grid.image(np.arange(6)), [[0, 1, 2], [3, 4, 5]])
    maze = layout_of(ex.domains.DynaMaze())
    picture = maze.image(np.arange(len(maze.points), dtype=float))
    assert picture.shape == (6, 9) and np.isnan(picture).sum() == 54 - len(maze.points)
    plane = layout_of(ex.MountainCar())
    np.testing.assert_allclose(plane.observations[[0, 1, 40]], [
        [-1.1775, -0.06825], [-1.1325, -0.06825], [-1.1775, -0.06475],
    ])  # fmt: skip


def made_up(rows: int = 1, columns: int = 4, *, plane: bool = False) -> Recording:
    """Values n · time, with a change after ten of twenty episodes."""
    drawing = Drawing(
        ("x", "y"), ("left", "right"), None, None if plane else ((-1.0, 0.0), (1.0, 0.0)),
        (Exit(-1.0, 0.0, (0.0, 2.0)), Exit(float(columns), 0.0, (2.0, 0.0))), ("one", "two"),
    )  # fmt: skip
    states = rows * columns
    across, along = np.arange(float(columns)), np.arange(float(rows))
    layout = Layout(
        across, along, np.arange(states), np.zeros((states, 1)), drawing, is_plane=plane
    )
    frames = []
    for time in (0, 5, 10, 15, 20):
        values, actions = np.arange(states) * float(time), np.arange(states) % 3 - 1
        frames.append(Frame(time, f"time {time}", int(time > 10), values, actions))
    setup = Setup(FIVE, ex.OneHot(), ex.Lookahead(), episodes=20)
    curve = np.linspace(-3.0, 4.0, 20)
    return Recording(setup, layout, tuple(frames), np.arange(1, 21), curve, (10,))


@pytest.mark.parametrize(
    "recording",
    [made_up(), made_up(2, 13), made_up(40, 40, plane=True)],
    ids=["row", "grid", "plane"],
)
def test_every_layout_is_drawn(recording):
    with use_style():
        figure, update = draw_recording(recording)
        pictures = []
        for frame in (recording.frames[0], recording.frames[-1]):
            update(frame)
            figure.canvas.draw()
            pictures.append(np.asarray(figure.canvas.buffer_rgba()).copy())
    assert (pictures[0] != pictures[1]).any()
    assert figure.get_suptitle().endswith("time 20")
    drawn = np.ravel(figure.axes[0].images[0].get_array())
    np.testing.assert_array_equal(drawn, recording.frames[-1].values)
    assert [text.get_text() for text in figure.axes[0].texts] == ["★\n2", "0"]


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


def test_mistakes_are_found_before_anything_is_run():
    arguments = (ex.Corridor(), ex.OneHot(), ex.Lookahead.paper(0.1))
    with pytest.raises(ValueError, match=r"path must end in .*, got 'a\.png'"):
        watch(*arguments, "a.png", episodes=10**9)


def test_the_command_writes_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["watch", "--episodes", "8", "--frames", "3"])
    assert done.exit_code == 0 and done.stdout.split() == ["results/watch.gif"], done.output
    assert Path("results/watch.gif").exists()


@pytest.mark.parametrize("words", [["--domain", "two_roms"], ["--agent", "q_lerning"]])
def test_unknown_names_get_a_suggestion(words):
    done = CliRunner().invoke(app, ["watch", *words])
    assert done.exit_code == 2 and "did you mean" in done.stderr
