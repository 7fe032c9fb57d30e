"""A sweep's folder with curves that nobody has run, as large as one likes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from expectant.experiments.config_file import parse_config
from expectant.experiments.runner import Work, write_trials
from expectant.experiments.store import SWEEP, FinishedRun, Store, mark_folder
from expectant.experiments.toml_tables import parse_toml
from expectant.experiments.trials import BATCH, Trial

SPEC = """
name = "made-up"
title = {title!r}
episodes = 200
runs = {runs}
bin = 10
[domain]
kind = "corridor"
switch_every = 100
[features]
kind = "one_hot"
[agents.plain]
kind = "q_learning"
label = {label!r}
[agents.ahead]
kind = "lookahead"
value_step = 0.1
[grid]
domain.slip = {slips}
agents.plain.action_step = {steps}
agents.ahead.value_step = {steps}
agents.ahead.model_step = {model_steps}
"""
STEPS = (0.01, 0.03, 0.1, 0.3, 1.0)

Value = Callable[[Trial], float]


@dataclass
class Named(Work):
    """Trials stored under made-up names, which spares the hashing of code."""

    def name_trials(self, trials: Sequence[Trial]) -> list[str]:
        return [f"{place:020x}" for place in range(len(trials))]


def config_text(
    *, runs: int = 8, steps: Sequence[float] = STEPS, model_steps: Sequence[float] = STEPS,
    slips: Sequence[float] = (0.0, 0.1), title: str = "Made up", label: str = "Plain",
) -> str:  # fmt: skip
    lists = {"steps": list(steps), "model_steps": list(model_steps), "slips": list(slips)}
    return SPEC.format(runs=runs, title=title, label=label, **lists)


def level(trial: Trial) -> float:
    """What a trial's curves rise to: best with steps of 0.1, worse on a slippery floor."""
    steps = [
        getattr(trial.agent, name, 0.1) for name in ("action_step", "value_step", "model_step")
    ]
    off = sum(math.log10(step / 0.1) ** 2 for step in steps if isinstance(step, float))
    return 10.0 - 20.0 * vars(trial.domain)["slip"] - 3.0 * off


def never(_: Trial) -> int:
    return 0


def write_sweep(
    folder: Path, text: str, value: Value = level, diverged: Callable[[Trial], int] = never,
    noise: float = 0.5,
) -> list[Trial]:  # fmt: skip
    """Write spec, batches and table; of every trial the first ``diverged`` runs do, halfway."""
    trials = parse_config(text, "made-up.toml").trials()
    mark_folder(folder, SWEEP)
    store, rng = Store(folder), np.random.default_rng(0)
    for place, trial in enumerate(trials):
        name = f"{place:020x}"
        x = (np.arange(trial.firsts.size) + 0.5) / trial.firsts.size
        curves = value(trial) - 5.0 * np.exp(-4 * x) + rng.normal(0, noise, (trial.runs, 1))
        gone = np.arange(trial.runs) < diverged(trial)
        curves[np.ix_(gone, x > 0.5)] = np.nan
        runs = list(map(FinishedRun, curves, gone))
        for first in range(0, trial.runs, BATCH):
            store.save(name, first, runs[first : first + BATCH], trial)
    folder.joinpath("config.toml").write_text(text)
    write_trials(Named(trials, store), folder, parse_toml(text, "made-up.toml"))
    return trials
