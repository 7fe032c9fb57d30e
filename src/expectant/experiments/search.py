"""Adaptive search: Optuna chooses which settings of a sweep are worth trying.

Every agent in every domain is searched on its own. Settings are asked for in groups of a fixed size
from a seeded sampler, so that the same command asks for the same ones; those in the store cost
nothing, which is how an interrupted search resumes.
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

ASKED_AT_ONCE = 4  # whatever the engine
DIGITS = 4  # of a number drawn from a range, so that ids stay readable
SEARCH = "search.json"


@dataclass(frozen=True)
class SearchSpace:
    """The axes to search for one agent in one domain, and the ``fixed`` settings."""

    panel: PanelConfig
    agent: str
    axes: Sequence[Axis]
    fixed: Mapping[tuple[str, ...], Any]


def search_spaces(experiment: Experiment) -> Iterator[SearchSpace]:
    """Yield the spaces that are searched on their own: one for every agent and domain."""
    for panel in experiment.panels:
        for agent in panel.agents:
            axes = panel.axes_for(agent)
            of_domain = [axis for axis in axes if any(path[0] == "domain" for path in axis.paths)]
            free = [axis for axis in axes if axis not in of_domain]
            for rows in itertools.product(*(axis.rows for axis in of_domain)):
                yield SearchSpace(panel, agent, free, combine_rows(of_domain, rows))


def search(
    experiment: Experiment, trial_count: int, work: Work, compute: Callable[[], None]
) -> list[dict[str, Any]]:
    """Try so many settings of every agent; list them as entries, the best of each agent first.

    Trials are added to ``work``; ``compute`` runs those that are missing.
    """
    entries = [
        entry
        for space in search_spaces(experiment)
        for entry in _search_space(experiment, space, trial_count, work, compute)
    ]

    def rank(entry: Mapping[str, Any]) -> tuple[str, str, float]:
        value = entry["value"]
        loss = math.inf if value is None else value if experiment.of_errors else -value
        return entry["panel"], entry["agent"], loss

    return sorted(entries, key=rank)


def _search_space(
    experiment: Experiment,
    space: SearchSpace,
    trial_count: int,
    work: Work,
    compute: Callable[[], None],
) -> list[dict[str, Any]]:
    """Search one space; settings that are asked for again are listed once."""
    from optuna.trial import TrialState

    study = create_study(experiment.seed, minimize=experiment.of_errors)
    entries: dict[str, dict[str, Any]] = {}
    for start in range(0, trial_count if space.axes else 1, ASKED_AT_ONCE):
        optuna_trials = [study.ask() for _ in range(min(ASKED_AT_ONCE, trial_count - start))]
        settings = [{**space.fixed, **_suggest(each, space.axes)} for each in optuna_trials]
        trials = [experiment.trial(space.panel, space.agent, chosen) for chosen in settings]
        new = {trial.id: trial for trial in trials if trial.id not in entries}
        work.add(list(new.values()))
        compute()
        scores = _scores(work, experiment.of_errors)
        for optuna_trial, trial in zip(optuna_trials, trials, strict=True):
            score = scores[trial.id]
            study.tell(optuna_trial, score, None if score is not None else TrialState.FAIL)
            value = None if score is None or math.isinf(score) else score
            entries[trial.id] = {
                "panel": trial.panel, "agent": space.agent, "trial": trial.id, "value": value,
            }  # fmt: skip
    return list(entries.values())


def _suggest(optuna_trial: Any, axes: Sequence[Axis]) -> dict[tuple[str, ...], Any]:
    """Return the settings that Optuna suggests."""
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
    """Return the mean over runs of every trial, the worst possible one if a run diverged."""
    worst = math.inf if of_errors else -math.inf
    scores: dict[str, float | None] = {}
    for trial, runs in zip(work.trials, work.finished_runs(), strict=True):
        mean = float(np.mean([run.mean for run in runs])) if runs else math.nan
        scores[trial.id] = worst if math.isnan(mean) else mean
    return {**scores, **dict.fromkeys(work.failed)}


def create_study(seed: int, *, minimize: bool = False, pruner: Any = None) -> Any:
    """Create an Optuna study with a seeded sampler."""
    require_extra("a search", "optuna")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=to_32_bits(seed))
    directions = optuna.study.StudyDirection
    direction = directions.MINIMIZE if minimize else directions.MAXIMIZE
    return optuna.create_study(direction=direction, sampler=sampler, pruner=pruner)
