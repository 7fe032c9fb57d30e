"""Sweeps: many trials into one folder, resumed by default, on threads or on a cluster.

A search runs only those trials of a sweep that Optuna asks for, separately for every agent in every
domain. It asks for groups of a fixed size with a seeded sampler, so the same command asks for the
same trials; those in the store cost nothing, which is how an interrupted search resumes.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from expectant.analysis.panel import Panel
from expectant.core.config import Config, needs_trust
from expectant.core.errors import describe_error, require_extra
from expectant.core.files import write_text
from expectant.core.interfaces import Agent, Domain, Features
from expectant.core.rng import to_32_bits
from expectant.engine.progress import say
from expectant.experiments.config_file import Experiment, experiment_of, parse_config
from expectant.experiments.curves import group_panels
from expectant.experiments.engines import Kernels, make_engine
from expectant.experiments.grid import Axis, PanelConfig, combine_rows, dotted, value_text
from expectant.experiments.runner import Trouble, Work, trial_table, troubles_in, write_trials
from expectant.experiments.store import RUN, SWEEP, TRIALS, Store, lock_folder, versions
from expectant.experiments.toml_tables import parse_toml, read_text, to_toml
from expectant.experiments.trials import WHOLE, Shard, Trial

if TYPE_CHECKING:
    import pyarrow

    from expectant.experiments.best import Best

SEARCH = "search.json"
ASKED_AT_ONCE = 4  # whatever the engine
DIGITS = 4  # of a number drawn from a range, so that ids stay readable


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """Every combination of varied settings; the same as a config file in TOML.

    ``grid`` maps the path of a setting ("domain.slip", "agents.mine.model.step", with * for every
    agent) to its values. In ``linked``, a list of such mappings, values change together. ``panels``
    are tables with a name and changed settings. ``domain``, ``features`` and the ``agents`` by name
    are configs or tables with a ``kind``, whose modules are imported. Other parameters have the
    defaults of config files.
    """

    domain: Domain | Mapping[str, object]
    features: Features | Mapping[str, object]
    agents: Mapping[str, Agent | Mapping[str, object]]
    name: str = "sweep"
    title: str | None = None
    notes: Sequence[str] | None = None
    episodes: int | None = None
    steps: int | None = None
    runs: int | None = None
    bin: int | None = None
    bins: int | None = None
    seed: int | None = None
    step_limit: int | None = None
    record: Sequence[str | Mapping[str, object]] | None = None
    grid: Mapping[str, object] | None = None
    linked: Sequence[Mapping[str, object]] | None = None
    panels: Sequence[Mapping[str, object]] | None = None

    def __post_init__(self) -> None:
        self.experiment()

    def data(self) -> dict[str, object]:
        """Return the config file as plain data."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: _to_plain(value) for key, value in values.items() if value is not None}

    def experiment(self) -> Experiment:
        """Return the checked experiment."""
        return experiment_of(self.data(), "Sweep", trust=True)

    def trials(self) -> list[Trial]:
        """Return all trials."""
        return self.experiment().trials()

    def to_toml(self) -> str:
        """Return the config file as text, from which :meth:`from_toml` makes the same sweep."""
        return to_toml(self.data())

    @classmethod
    def from_toml(cls, source: str | Path) -> Sweep:
        """Read the sweep in a TOML text, or in the file at a path; its modules are imported."""
        name = str(source) if isinstance(source, Path) else "sweep"
        data = parse_toml(read_text(source) if isinstance(source, Path) else source, name)
        experiment = experiment_of(data, name, trust=True)
        return cls(**{"name": experiment.name, "title": experiment.title, **data})

    def run(
        self,
        folder: str | Path | None = None,
        *,
        threads: int | None = None,
        engine: str = "threads",
        address: str | None = None,
        shard: tuple[int, int] | None = None,
        compiled: bool | None = None,
        accept_versions: bool = False,
    ) -> Outcome:
        """Compute the missing runs into a folder, by default results/NAME.

        With ``accept_versions``, runs that were computed with other versions of libraries count.
        """
        return run_sweep(
            self.experiment(), self.to_toml(), Path(folder or Path("results") / self.name),
            threads=threads, engine=engine, address=address, shard=Shard(*(shard or WHOLE)),
            compiled=compiled, accept_versions=accept_versions,
        )  # fmt: skip

    def best(
        self,
        folder: str | Path | None = None,
        *,
        metric: str = "mean",
        confirm: int | None = None,
        margin: float | None = None,
        threads: int | None = None,
    ) -> Best:
        """Compute the missing runs, then compare the agents at their best settings.

        Half of the runs choose the settings of each agent, the other half compare the agents run by
        run; with ``confirm``, all runs choose and so many fresh ones compare. A difference within
        the ``margin`` (by default 5 % of the larger mean) does not matter.
        """
        outcome = self.run(folder, threads=threads)
        return outcome.best(metric=metric, confirm=confirm, margin=margin, threads=threads)

    def __repr__(self) -> str:
        experiment = self.experiment()
        length = f"{self.steps:,} steps" if self.steps else f"{self.episodes:,} episodes"
        return (
            f"Sweep({self.name}: {len(experiment.names()):,} trials of {', '.join(self.agents)}, "
            f"{experiment.runs:,} runs of {length} each)"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sweep) and self.data() == other.data()

    def __hash__(self) -> int:
        return hash(self.to_toml())


def _to_plain(value: Any) -> Any:
    """Convert configs to tables and None to its word."""
    if isinstance(value, Config):
        return _to_plain(value.to_dict())
    if isinstance(value, Mapping):
        return {key: _to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return "none" if value is None else value


@dataclass(frozen=True)
class Outcome:
    """The results of a sweep, and the entries of a ``search``, the best of each agent first."""

    folder: Path
    work: Work
    search: list[dict[str, Any]] = field(default_factory=list)

    @property
    def found(self) -> int:
        """The number of batches that were there."""
        return self.work.found

    @property
    def computed(self) -> int:
        """The number of batches that were computed."""
        return self.work.computed

    @property
    def failed(self) -> dict[str, str]:
        """The trials that failed, with their reasons."""
        return {trial: describe_error(error) for trial, error in self.work.failed.items()}

    @property
    def troubles(self) -> list[Trouble]:
        """Every trial, with the problems of its runs."""
        return troubles_in(self.table())

    def table(self) -> pyarrow.Table:
        """Return one row per trial: settings and results, as an Arrow table."""
        return trial_table(self.work)

    def panels(self) -> list[Panel]:
        """Return the curves of all runs, grouped by panel, for analyses and claims."""
        if self.failed:
            raise ValueError(f"{self.folder}: not all trials are finished; run the sweep again")
        return group_panels(self.work.trials, self.work.curves())

    def best(self, **options: Any) -> Best:
        """Compare the agents at their best settings, with the options of :meth:`Sweep.best`."""
        from expectant.experiments.best import best

        return best(self.folder, trust=True, **options)

    def as_data(self) -> dict[str, object]:
        """Return counts, times, failures and other problems."""
        work, troubles = self.work, self.troubles
        data = {
            "folder": str(self.folder),
            "trials": len(work.trials),
            "batches_found": work.found,
            "batches_computed": work.computed,
            "failed": self.failed,
            "diverged": {each.trial: each.divergence for each in troubles if each.divergence},
            "evicted": {each.trial: each.evicted for each in troubles if each.evicted},
            "seconds": work.seconds,
            "compiling": work.compiling,
            "runs": work.runs,
        }
        return {**data, "search": self.search} if self.search else data

    def __repr__(self) -> str:
        return f"Outcome({self.text().splitlines()[0]}; {self.folder})"

    def text(self) -> str:
        """Summarise the outcome in a few lines."""
        work = self.work
        trust = any(
            needs_trust(part.to_dict())
            for trial in work.trials
            for part in (trial.domain, trial.features, trial.agent)
        )
        choose = f"expectant best {quote(str(self.folder))}" + " --trust" * trust
        return (
            f"{len(work.trials):,} trials: {work.computed:,} batches computed, "
            f"{work.found:,} were there, {len(work.failed):,} trials failed\n"
            f"{work.seconds:.1f} s, {work.compiling:.1f} s of it compiling or loading\n"
            f"results: {self.folder}; the best settings: {choose}"
        )


def run_sweep(
    experiment: Experiment,
    text: str,
    folder: Path,
    *,
    threads: int | None = None,
    engine: str = "threads",
    address: str | None = None,
    shard: Shard = WHOLE,
    compiled: bool | None = None,
    kind: str = SWEEP,
    accept_versions: bool = False,
    trials: int | None = None,
) -> Outcome:
    """Compute the runs of a config that its folder lacks; a trial that fails stops no other.

    With ``trials``, a search tries so many settings of every agent instead of the whole grid.
    """
    if trials is not None:
        require_extra("--search optuna", "optuna")
    kernels = Kernels(compiled)
    runner = make_engine(engine, threads, address, kernels)
    entries: list[dict[str, Any]] = []
    with lock_folder(folder, text, shard, kind):
        work = Work(experiment.trials() if trials is None else [], Store(folder, accept_versions))

        def compute() -> None:
            tasks = work.missing(shard)
            if tasks:  # the table exists only while it is of all batches
                (folder / TRIALS).unlink(missing_ok=True)
            work.run_tasks(runner, kernels, tasks, experiment.name, shard.suffix)

        if trials is None:
            _report_other_versions(work)
            compute()
        else:
            entries = search(experiment, trials, work, compute)
            write_text(folder / SEARCH, json.dumps(entries, indent=1) + "\n")
        if shard == WHOLE:
            write_trials(work, folder, parse_toml(text, experiment.name))
    return Outcome(folder, work, entries)


def _report_other_versions(work: Work) -> None:
    """Say that there are runs which were computed with other versions of libraries."""
    others = set(work.store.match_versions(work.names)) - {*work.names, ""}
    if others:
        first = min(others)
        batch = work.store.load(first, work.store.index()[first][0])
        then, now = (batch.metadata["versions"] if batch else {}), versions()
        changed = [f"{name} {old}" for name, old in then.items() if now.get(name, old) != old]
        say(
            f"runs of {len(others)} trials in {work.store.folder} were computed with "
            f"{', '.join(changed) or 'other code of a package'}; they are not used without "
            "--accept-versions"
        )


# ---------------------------------------------------------------------------------------- searches


def search(
    experiment: Experiment, trial_count: int, work: Work, compute: Callable[[], None]
) -> list[dict[str, Any]]:
    """Try so many settings of every agent; list them as entries, the best of each agent first.

    Trials are added to ``work``; ``compute`` runs those that are missing.
    """
    entries = [
        entry
        for panel in experiment.panels
        for agent in panel.agents
        for entry in _search_agent(experiment, panel, agent, trial_count, work, compute)
    ]

    def rank(entry: Mapping[str, Any]) -> tuple[str, str, float]:
        value = entry["value"]
        loss = math.inf if value is None else value if experiment.of_errors else -value
        return entry["panel"], entry["agent"], loss

    return sorted(entries, key=rank)


def _search_agent(
    experiment: Experiment,
    panel: PanelConfig,
    agent: str,
    trial_count: int,
    work: Work,
    compute: Callable[[], None],
) -> Iterator[dict[str, Any]]:
    """Search the settings of one agent, in every domain; those asked for again are listed once."""
    from optuna.trial import TrialState

    axes = panel.axes_for(agent)
    of_domain = [axis for axis in axes if any(path[0] == "domain" for path in axis.paths)]
    searched = [axis for axis in axes if axis not in of_domain]
    for rows in itertools.product(*(axis.rows for axis in of_domain)):
        study = create_study(experiment.seed, minimize=experiment.of_errors)
        entries: dict[str, dict[str, Any]] = {}
        for start in range(0, trial_count if searched else 1, ASKED_AT_ONCE):
            asked = [study.ask() for _ in range(min(ASKED_AT_ONCE, trial_count - start))]
            domain = combine_rows(of_domain, rows)
            settings = [{**domain, **_suggest(each, searched)} for each in asked]
            trials = [experiment.trial(panel, agent, chosen) for chosen in settings]
            new = {trial.id: trial for trial in trials if trial.id not in entries}
            work.add(list(new.values()))
            compute()
            scores = _scores(work, experiment.of_errors)
            for optuna_trial, trial in zip(asked, trials, strict=True):
                score = scores[trial.id]
                study.tell(optuna_trial, score, None if score is not None else TrialState.FAIL)
                value = None if score is None or math.isinf(score) else score
                entries[trial.id] = {
                    "panel": trial.panel, "agent": agent, "trial": trial.id, "value": value,
                }  # fmt: skip
        yield from entries.values()


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
    return optuna.create_study(
        direction="minimize" if minimize else "maximize", sampler=sampler, pruner=pruner
    )


# ------------------------------------------------------------------------------------ config files


def run_file(
    path: Path,
    out: Path | None,
    *,
    shard: str | None = None,
    search: str | None = None,
    trials: int = 20,
    **options: Any,
) -> tuple[Experiment, Outcome]:
    """Run the experiment, sweep or search in a file, with the options of :func:`run_sweep`."""
    part = WHOLE if shard is None else parse_shard(shard)
    text = read_text(path)
    experiment = parse_config(text, str(path), trust=True)
    folder = out or Path("results") / experiment.name
    if search not in (None, "optuna"):
        raise ValueError(f"--search: must be optuna, got {search!r}")
    if search and shard is not None:
        raise ValueError(f"--shard: a search has no parts, got {shard!r} with --search")
    if search and not experiment.is_sweep:
        raise ValueError(f"--search: {path} has no grid to search")
    kind, count = SWEEP if experiment.is_sweep else RUN, trials if search else None
    outcome = run_sweep(experiment, text, folder, shard=part, kind=kind, trials=count, **options)
    return experiment, outcome


def parse_shard(text: str) -> Shard:
    """Read ``3/100`` as the third of a hundred parts."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    shard = Shard(int(match[1]), int(match[2])) if match else Shard(0, 0)
    if not 1 <= shard.number <= shard.of:
        raise ValueError(f"--shard: must be i/n with i from 1 to n, got {text!r}")
    return shard


def preview(experiment: Experiment) -> dict[str, Any]:
    """Count the trials and runs of a config, before it is run."""
    trials = experiment.trials()
    return {
        "name": experiment.name,
        "episodes": experiment.episodes,
        "steps": experiment.steps,
        "agents": dict(Counter(trial.base_agent for trial in trials)),
        "varied": {
            dotted(path): [row[column] for row in axis.rows]
            for panel in experiment.panels
            for axis in panel.axes
            for column, path in enumerate(axis.paths)
        },
        "trials": len(trials),
        "runs": sum(trial.runs for trial in trials),
        "ids": [trial.id for trial in trials],
    }


def preview_text(experiment: Experiment) -> str:
    """Write a preview in a few lines."""
    counts = preview(experiment)
    first = counts.pop("ids")[0]
    return "\n".join(f"{name}: {value}" for name, value in {**counts, "first id": first}.items())
