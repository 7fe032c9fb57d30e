from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from each_in_a_process import run_file
from loading import module_at

import expectant as ex

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


# Examples whose parts other tests compile: here it is enough that they run, for a little while.
SHORTER = {
    "own_domain": ("episodes=500, runs=30", "episodes=5, runs=2"),
    "own_model": ("episodes=1000, runs=30", "episodes=5, runs=2"),
    "own_backups": ("episodes=1000, runs=30", "episodes=5, runs=2"),
    "own_options": ("episodes=60, runs=10", "episodes=3, runs=1"),
    "nonlinear_model": ("episodes=500, runs=20", "episodes=5, runs=1"),
    "frozen_lake": ("episodes=3000, runs=10", "episodes=20, runs=2"),
    "memory": ("episodes=2000, runs=30", "episodes=20, runs=2"),
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_example_runs(path, tmp_path, monkeypatch):
    if path.stem in SHORTER:
        text, (shown, run) = path.read_text("utf-8"), SHORTER[path.stem]
        assert shown in text, f"{path.name} has no {shown!r} any more"
        path = tmp_path / path.name
        path.write_text(text.replace(shown, run), "utf-8")
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    done = run_file(path)
    assert done.status == 0, done.errors
    assert re.search(r"\d", done.output)


def load(name):
    return module_at(FOLDER / f"{name}.py")


def test_parts_of_ones_own_are_compiled_and_exact():
    domain, model, backups = load("own_domain"), load("own_model"), load("own_backups")
    agent = ex.Lookahead.paper(0.1, model=model.Latest(), backups=backups.Half())
    compiled, plain = (
        ex.run(domain.Ledge(), ex.OneHot(), agent, episodes=30, runs=2, compiled=compiled)
        for compiled in (True, False)
    )
    np.testing.assert_array_equal(compiled.returns, plain.returns)
    long = ex.run(domain.Ledge(), ex.OneHot(), agent, episodes=20_000, runs=1, threads=1)
    assert long.seconds < plain.seconds / 60 * 20_000 / 5  # at the very least 5 times as fast
