"""Errors in a user's code are told with file and line; wrong settings without."""

from __future__ import annotations

import re
import textwrap

import numpy as np
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.whose import own_place, told


def caught(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


class Forgetful(ex.Model):
    def build(self, site):
        return self.nothing_like_that  # type: ignore[attr-defined]  # the line that is told


def test_the_place_is_the_users_line_that_ours_called():
    error = caught(ex.check_model, Forgetful())
    assert re.search(r"test_whose\.py, line \d+", told(error)), told(error)


def test_what_ours_refuses_and_what_was_never_called_by_ours_has_no_place():
    assert own_place(caught(ex.Corridor, -1)) is None
    assert own_place(caught(np.zeros, -1)) is None
    assert told(ValueError("so")) == "ValueError: so"


SPEC = """
    episodes = 3
    runs = 1
    [domain]
    kind = "gym"
    environment = "whose_failing:Ring"
    [features]
    kind = "one_hot"
    [agents.plain]
    kind = "q_learning"
    action_step = 0.1
"""


FAILING = """
    import gymnasium

    class Ring(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(5)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            self.taken = 0
            return 0, {}

        def step(self, action):
            self.taken += 1
            if self.taken == 4:
                raise RuntimeError("motor broke")
            return 1, 0.0, False, False, {}
"""


def test_an_environment_that_fails_is_told_with_run_episode_and_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "whose_failing.py").write_text(textwrap.dedent(FAILING))
    (tmp_path / "failing.toml").write_text(textwrap.dedent(SPEC))
    result = CliRunner().invoke(app, ["run", "failing.toml"])
    assert result.exit_code == 1, result.output
    assert "RuntimeError: motor broke" in result.output and "WorldError" not in result.output
    assert "whose_failing.py, line 15), in step of run 0, episode 0, step 4" in result.output
