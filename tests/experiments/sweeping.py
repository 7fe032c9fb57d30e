"""A sweep of tiny runs, for tests that are about everything around them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import expectant as ex
from expectant.experiments.trials import Trial

TRIAL = Trial(
    experiment="e", panel="", interpretation="text", agent_key="q", label="Q", domain=ex.Corridor(),
    features=ex.OneHot(), agent=ex.QLearning.paper(0.1), episodes=40, runs=25, bin=10, seed=0,
    step_limit=1000,
)  # fmt: skip
SPEC = """
name = "tiny"
episodes = {episodes}
runs = 22
bin = 5
domain = {{ kind = "corridor", cells = 3 }}
features = {{ kind = "one_hot" }}
[agents.plain]
kind = "q_learning"
preset = "paper"
[grid]
agents.plain.action_step = {steps}
"""


def config_text(steps: list[float], episodes: int = 10) -> str:
    return SPEC.format(steps=steps, episodes=episodes)


def start(path: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    """The command in a process of its own, without compiling anything."""
    return subprocess.Popen(
        [sys.executable, "-m", "expectant", "run", str(path), "--out", str(folder), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip


def results(folder: Path) -> dict[str, bytes]:
    """The files that are results, not measurements."""
    files = [folder / "trials.parquet", folder / "config.toml", *(folder / "runs").iterdir()]
    return {path.name: path.read_bytes() for path in files}
