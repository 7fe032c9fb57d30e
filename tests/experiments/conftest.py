from __future__ import annotations

from pathlib import Path

import pytest
from experiments.synthetic import config_text, write_sweep

from expectant.experiments.sweep_results import SweepFolder, read_folder

EVIL = "</script><img src=x onerror=alert(1)><b>%{x}"


def wild(trial):
    """Look-ahead with the largest step diverges in two runs."""
    return 2 if getattr(trial.agent, "value_step", 0.0) == 1.0 else 0


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sweep of 60 trials; only to be looked at."""
    folder = tmp_path_factory.mktemp("sweep")
    text = config_text(title=EVIL.replace("'", ""), label=f"Plain {EVIL}", runs=8)
    write_sweep(folder, text, diverged=wild)
    return folder


@pytest.fixture
def folder(place: Path) -> SweepFolder:
    return read_folder(place)
