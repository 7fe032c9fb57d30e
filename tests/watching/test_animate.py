"""From descriptions to files, in Python and on the command line."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.watching.animate import check_path, watch
from expectant.watching.presets import PRESETS, scene

SPEC = """
name = "two"
episodes = 12
runs = 2
step_limit = 50

[domain]
kind = "corridor"
cells = 4
switch_every = 6

[features]
kind = "one_hot"

[agents.first]
kind = "lookahead"
value_step = 0.1

[agents.second]
kind = "q_learning"
action_step = 0.1
"""


def test_a_gif_and_its_page(tmp_path):
    paths = watch(
        ex.Corridor(cells=4), ex.OneHot(), ex.Lookahead(0.1), tmp_path / "deep" / "a.gif",
        episodes=10, frames=4, page=True, compiled=False, progress=False,
    )  # fmt: skip
    assert paths == [tmp_path / "deep" / "a.gif", tmp_path / "deep" / "a.html"]
    with Image.open(paths[0]) as image:
        assert image.n_frames == 4  # type: ignore[attr-defined]
    assert "Corridor(cells=4" in paths[1].read_text()
    assert sorted(paths[0].parent.iterdir()) == paths  # nothing half-written is left


def test_a_page_has_no_other_page_beside_it():
    assert check_path(Path("a.html"), page=True) == [Path("a.html")]
    assert check_path(Path("a.gif"), page=True) == [Path("a.gif"), Path("a.html")]
    assert check_path(Path("a.gif"), page=False) == [Path("a.gif")]


def test_of_a_spec_the_first_setting_of_an_agent_is_shown(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(SPEC + "[grid]\nagents.second.epsilon = [0.3, 0.4]\ndomain.slip = [0.5, 0.6]\n")
    found = scene(str(path), "second epsilon=0.4")
    assert (vars(found.domain)["slip"], found.agent.epsilon) == (0.5, 0.4)
    assert (found.episodes, found.steps, found.step_limit) == (12, None, 50)
    assert scene(str(path), None).agent == ex.Lookahead(0.1)


def test_mistakes_are_found_before_anything_is_run(tmp_path, monkeypatch):
    arguments = (ex.Corridor(), ex.OneHot(), ex.Lookahead(0.1))
    with pytest.raises(
        ValueError, match=r"path must end in \.gif or \.mp4 or \.html, got 'a\.png'"
    ):
        watch(*arguments, "a.png", episodes=10**9)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ValueError, match=r"\.mp4 needs the program ffmpeg.*; \.gif does not"):
        watch(*arguments, tmp_path / "a.mp4", episodes=10**9)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("domain", PRESETS)
def test_presets_have_one_length_and_know_their_agents(domain):
    found = scene(domain, None)
    assert type(found.agent) is ex.Lookahead
    assert type(scene(domain, "q_learning").agent) is ex.QLearning
    assert (found.episodes is None) != (found.steps is None)
    with pytest.raises(ValueError, match="--agent: unknown 'lookahed', did you mean 'lookahead'"):
        scene(domain, "lookahed")


@pytest.mark.parametrize(
    "agent", ["lookahead", "cached_values", "cached_policy", "q_learning", "q_planning"]
)
def test_nothing_that_is_watched_in_the_corridor_overshoots(agent):
    """With one feature a state, a step above 1 goes beyond its target."""
    described = scene("corridor", agent).agent
    names = [field.name for field in dataclasses.fields(described) if field.name.endswith("_step")]
    steps = [step for name in names if isinstance(step := getattr(described, name), float)]
    assert steps and all(0.0 < step <= 1.0 for step in steps)


def test_a_spec_can_be_watched(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(SPEC)
    first, second = scene(str(path), None), scene(str(path), "second")
    assert first.agent == ex.Lookahead(0.1) and second.agent == ex.QLearning(0.1)
    assert first.domain == ex.Corridor(cells=4, switch_every=6)
    assert (first.episodes, first.steps, first.step_limit) == (12, None, 50)
    with pytest.raises(ValueError, match="--agent: unknown 'third'"):
        scene(str(path), "third")


def test_the_command_writes_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["watch", "--episodes", "8", "--frames", "3"])
    assert done.exit_code == 0, done.output
    assert done.stdout.split() == ["results/watch.gif"]
    with Image.open("results/watch.gif") as image:
        assert image.n_frames == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--domain", "coridor"], "--domain: unknown 'coridor', did you mean 'corridor'?"),
        (["--agent", "q_lerning"], "--agent: unknown 'q_lerning', did you mean 'q_learning'?"),
        (["--out", "watch.png"], "path must end in .gif or .mp4 or .html, got 'watch.png'"),
        (["--episodes", "3", "--steps", "3"], "give episodes or steps"),
        (["--domain", "missing.toml"], "missing.toml"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["watch", *words])
    assert done.exit_code == 2
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
