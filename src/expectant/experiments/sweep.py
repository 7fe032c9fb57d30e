"""Sweeps: many trials into one folder, resumed by default, on threads or on a cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from expectant.core.config import Config
from expectant.core.interfaces import Agent, Domain, Features
from expectant.engine.progress import say
from expectant.experiments.best import Best, best
from expectant.experiments.config_file import Experiment, experiment_of, parse_config
from expectant.experiments.executors import make_engine
from expectant.experiments.runner import Work, write_trials
from expectant.experiments.store import RUN, SWEEP, TRIALS, Store, lock_folder
from expectant.experiments.toml_tables import parse_toml, read_text, to_toml
from expectant.experiments.trials import WHOLE, Shard, Trial


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
    ) -> Work:
        """Compute the missing runs into a folder, by default results/NAME."""
        return run_sweep(
            self.experiment(), self.to_toml(), Path(folder or Path("results") / self.name),
            threads=threads, engine=engine, address=address, shard=Shard(*(shard or WHOLE)),
            compiled=compiled,
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
        work = self.run(folder, threads=threads)
        return best(
            work.folder, metric=metric, confirm=confirm, margin=margin, threads=threads, trust=True
        )

    def __repr__(self) -> str:
        experiment = self.experiment()
        length = f"{self.steps:,} steps" if self.steps else f"{self.episodes:,} episodes"
        return (
            f"Sweep({self.name}: {len(experiment.trials()):,} trials of {', '.join(self.agents)}, "
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
) -> Work:
    """Compute the runs of a config that its folder lacks; a trial that fails stops no other."""
    runner = make_engine(engine, threads, address, compiled)
    with lock_folder(folder, text, shard, kind):
        work = Work(experiment.trials(), Store(folder))
        stale = {name.partition("-")[0] for name in work.store.batches} - {""}
        stale &= {name.partition("-")[0] for name in work.names if not work.runs[name]}
        if stale:
            say(
                f"runs of {len(stale)} trials in {folder} were computed with other code or other "
                "versions of packages; they are computed again"
            )
        tasks = work.missing_tasks(shard)
        if tasks:  # the table exists only while it is of all batches
            (folder / TRIALS).unlink(missing_ok=True)
        work.run_tasks(runner, tasks, experiment.name)
        if shard == WHOLE:
            write_trials(work, folder, parse_toml(text, experiment.name))
    return work


# ------------------------------------------------------------------------------------ config files


def run_file(
    path: Path, out: Path | None, *, shard: str | None = None, **options: Any
) -> tuple[Experiment, Work]:
    """Run the experiment or sweep in a file, with the options of :func:`run_sweep`."""
    part = WHOLE if shard is None else parse_shard(shard)
    text = read_text(path)
    experiment = parse_config(text, str(path), trust=True)
    folder = out or Path("results") / experiment.name
    kind = SWEEP if experiment.is_sweep else RUN
    return experiment, run_sweep(experiment, text, folder, shard=part, kind=kind, **options)


def parse_shard(text: str) -> Shard:
    """Read ``3/100`` as the third of a hundred parts."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    shard = Shard(int(match[1]), int(match[2])) if match else Shard(0, 0)
    if not 1 <= shard.number <= shard.of:
        raise ValueError(f"--shard: must be i/n with i from 1 to n, got {text!r}")
    return shard


def preview(experiment: Experiment) -> dict[str, Any]:
    """Count the trials and runs of a config, before it is run, and list their ids."""
    trials = experiment.trials()
    return {
        "trials": len(trials),
        "runs": sum(trial.runs for trial in trials),
        "agents": dict(Counter(trial.base_agent for trial in trials)),
        "ids": [trial.id for trial in trials],
    }
