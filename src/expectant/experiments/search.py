"""Adaptive search: Optuna chooses which settings of a sweep are worth trying.

Every agent in every domain is searched for itself. The trials are asked for in batches of a fixed
size from a seeded sampler, so the same command asks for the same ones, and those that are in the
store already cost nothing: that is how an interrupted search goes on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from expectant.core.errors import require_extra
from expectant.core.rng import to_32_bits
from expectant.experiments.config_file import Experiment
from expectant.experiments.grid import Axis, PanelConfig, combine_rows, value_text
from expectant.experiments.runner import Work
from expectant.experiments.trial_table import finished_runs

BATCH = 4  # trials that are asked for at once, whatever the engine
DIGITS = 4  # of a number drawn from a range, so that ids stay readable
SEARCH = "search.json"


@dataclass(frozen=True)
class Space:
    """One agent in one domain: what is searched, and the settings that are given."""

    panel: PanelConfig
    agent: str
    axes: Sequence[Axis]
    given: Mapping[tuple[str, ...], Any]


def spaces(experiment: Experiment) -> Iterator[Space]:
    """Everything that is searched for itself: the settings of a domain are not for choosing."""
    for panel in experiment.panels:
        for agent in panel.agents:
            axes = panel.axes_for(agent)
            fixed = [axis for axis in axes if any(path[0] == "domain" for path in axis.paths)]
            free = [axis for axis in axes if axis not in fixed]
            for rows in itertools.product(*(axis.rows for axis in fixed)):
                yield Space(panel, agent, free, combine_rows(fixed, rows))


def search(
    experiment: Experiment, trial_count: int, work: Work, compute: Callable[[], None]
) -> list[dict[str, Any]]:
    """Try so many settings of every agent; list the trials, the best of each agent first.

    Trials are added to ``work``; ``compute`` does those of its trials that are missing.
    """
    tried = [
        entry
        for space in spaces(experiment)
        for entry in _search_space(experiment, space, trial_count, work, compute)
    ]

    def rank(entry: Mapping[str, Any]) -> tuple[str, str, float]:
        value = entry["value"]
        worth = math.inf if value is None else value if experiment.of_errors else -value
        return entry["panel"], entry["agent"], worth

    return sorted(tried, key=rank)


def _search_space(
    experiment: Experiment, space: Space, trial_count: int, work: Work, compute: Callable[[], None]
) -> list[dict[str, Any]]:
    """One search; settings that are asked for again are listed once."""
    from optuna.trial import TrialState

    study = create_study(experiment.seed, less=experiment.of_errors)
    tried: dict[str, dict[str, Any]] = {}
    for start in range(0, trial_count if space.axes else 1, BATCH):
        optuna_trials = [study.ask() for _ in range(min(BATCH, trial_count - start))]
        settings = [{**space.given, **_drawn(each, space.axes)} for each in optuna_trials]
        trials = [experiment.trial(space.panel, space.agent, chosen) for chosen in settings]
        new = {trial.id: trial for trial in trials if trial.id not in tried}
        work.add(list(new.values()))
        compute()
        scores = _scores(work, experiment.of_errors)
        for optuna_trial, trial in zip(optuna_trials, trials, strict=True):
            value = scores[trial.id]
            study.tell(optuna_trial, value, None if value is not None else TrialState.FAIL)
            known = None if value is None or math.isinf(value) else value
            entry = {"panel": trial.panel, "agent": space.agent, "trial": trial.id, "value": known}
            tried[trial.id] = entry
    return list(tried.values())


def _drawn(optuna_trial: Any, axes: Sequence[Axis]) -> dict[tuple[str, ...], Any]:
    """The settings that a trial suggests."""
    settings: dict[tuple[str, ...], Any] = {}
    for axis in axes:
        if axis.range is None:
            rows = {" ".join(map(value_text, row)): row for row in axis.rows}
            row = rows[optuna_trial.suggest_categorical(axis.where, list(rows))]
            settings.update(zip(axis.paths, row, strict=True))
            continue
        low, high, log = axis.range.low, axis.range.high, axis.range.log
        if axis.range.whole:
            value: float = optuna_trial.suggest_int(axis.where, low, high, log=log)
        else:
            drawn = optuna_trial.suggest_float(axis.where, float(low), float(high), log=log)
            value = min(max(float(f"{drawn:.{DIGITS}g}"), float(low)), float(high))
        settings[axis.paths[0]] = value
    return settings


def _scores(work: Work, of_errors: bool) -> dict[str, float | None]:
    """The mean value over runs of every trial, the worst there is where one diverged."""
    scores: dict[str, float | None] = {}
    for trial, runs in zip(work.trials, finished_runs(work), strict=True):
        mean = float(np.mean([run.mean for run in runs])) if runs else math.nan
        worst = math.inf if of_errors else -math.inf
        scores[trial.id] = worst if math.isnan(mean) else mean
    return {**scores, **dict.fromkeys(work.failed)}


def create_study(seed: int, *, less: bool = False, pruner: Any = None) -> Any:
    """An Optuna study with a seeded sampler; ``less`` if smaller values are better."""
    require_extra("a search", "optuna")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=to_32_bits(seed))
    directions = optuna.study.StudyDirection
    direction = directions.MINIMIZE if less else directions.MAXIMIZE
    return optuna.create_study(direction=direction, sampler=sampler, pruner=pruner)
