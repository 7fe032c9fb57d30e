"""Sweeps: many trials into one folder, resumed by default, on threads or on a cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from expectant.analysis.panel import Panel
from expectant.core.config import Config, needs_trust
from expectant.core.errors import describe_error, require_extra
from expectant.core.files import write_text
from expectant.core.interfaces import Agent, Domain, Features
from expectant.engine.progress import say
from expectant.experiments.config_file import Experiment, experiment_of
from expectant.experiments.curves import group_panels
from expectant.experiments.results_folder import SWEEP, lock_folder, versions
from expectant.experiments.runner import Work, make_engine
from expectant.experiments.search import SEARCH, search
from expectant.experiments.store import Store
from expectant.experiments.tasks import Kernels
from expectant.experiments.toml_tables import config_hash, parse_toml, read_text, to_toml
from expectant.experiments.trial_table import (
    TRIALS,
    Trouble,
    trial_table,
    troubles_in,
    write_trials,
)
from expectant.experiments.trials import Shard, Trial

if TYPE_CHECKING:
    import pyarrow

    from expectant.experiments.best import Best


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """Every combination of what is varied, described once; the same as a spec in TOML.

    It is there to be run, so classes of somebody's own that it names are imported.

    ``grid`` maps the path of a setting ("domain.slip", "agents.mine.model.step", with * for every
    agent) to the values it takes. In ``linked``, a list of such mappings, values change together.
    ``variants`` maps a name to changed tables. ``domain``, ``features`` and the ``agents`` by name
    are descriptions or tables with a ``kind``. What is not given has the default of specs.
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
        """The spec as plain data."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: _plain(value) for key, value in given.items() if value is not None}

    def experiment(self) -> Experiment:
        """The spec, read and checked."""
        return experiment_of(self.data(), "Sweep", trust=True)

    def trials(self) -> list[Trial]:
        """All trials."""
        return self.experiment().trials()

    def to_toml(self) -> str:
        """The spec as text, from which :meth:`from_toml` makes the same sweep."""
        return to_toml(self.data())

    @classmethod
    def from_toml(cls, source: str | Path) -> Sweep:
        """The sweep in a TOML text, or in the file at a path; what it names is imported."""
        name = str(source) if isinstance(source, Path) else "sweep"
        text = read_text(source) if isinstance(source, Path) else source
        data = parse_toml(text, name)
        found = experiment_of(data, name, trust=True)
        return cls(**{"name": found.name, "title": found.title, **data})

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
        """Compute what is missing into a folder, by default results/NAME.

        With ``accept_versions``, runs that were computed with other versions of libraries count.
        """
        place = Path(folder) if folder is not None else Path("results") / self.name
        return run_sweep(
            self.experiment(), self.to_toml(), place, threads=threads, engine=engine,
            address=address, shard=None if shard is None else Shard(*shard), compiled=compiled,
            accept_versions=accept_versions,
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
        """Compute what is missing, then compare the agents at their best settings.

        Half of the runs choose the settings of each agent, the other half compare the agents run by
        run; with ``confirm``, all runs choose and so many fresh ones compare. A difference within
        the ``margin`` (by default 5 % of the larger mean) does not matter.
        """
        outcome = self.run(folder, threads=threads)
        return outcome.best(metric=metric, confirm=confirm, margin=margin, threads=threads)

    def __repr__(self) -> str:
        experiment = self.experiment()
        steps, episodes = experiment.steps, experiment.episodes
        length = f"{steps:,} steps" if steps else f"{episodes:,} episodes"
        return (
            f"Sweep({self.name}: {len(experiment.names()):,} trials of {', '.join(self.agents)}, "
            f"{experiment.runs:,} runs of {length} each)"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sweep) and self.data() == other.data()

    def __hash__(self) -> int:
        return hash(config_hash(self.data()))


@dataclass(frozen=True)
class Outcome:
    """What a sweep has done, and the entries of a ``search``, the best of each agent first."""

    folder: Path
    work: Work
    search: list[dict[str, Any]] = field(default_factory=list)

    @property
    def found(self) -> int:
        """How many batches were there."""
        return self.work.found

    @property
    def computed(self) -> int:
        """How many batches were computed."""
        return self.work.computed

    @property
    def failed(self) -> dict[str, str]:
        """The trials that failed, with their reasons."""
        return {trial: describe_error(error) for trial, error in self.work.failed.items()}

    @property
    def needs_trust(self) -> bool:
        """True if parts are somebody's own, so that other commands want to be told to trust it."""
        parts = ((trial.domain, trial.features, trial.agent) for trial in self.work.trials)
        return any(needs_trust(part.to_dict()) for part in chain.from_iterable(parts))

    def __repr__(self) -> str:
        return f"Outcome({self.text().splitlines()[0]}; {self.folder})"

    def table(self) -> pyarrow.Table:
        """One row per trial: settings and results, as an Arrow table."""
        return trial_table(self.work)

    def panels(self) -> list[Panel]:
        """The curves of all runs, grouped by panel: what analyses and claims work on."""
        if self.failed:
            raise ValueError(f"{self.folder}: not all trials are finished; run the sweep again")
        return group_panels(self.work.trials, self.work.curves())

    def best(self, **options: Any) -> Best:
        """Compare the agents at their best settings, with the options of :meth:`Sweep.best`."""
        from expectant.experiments.best import best

        return best(self.folder, trust=True, **options)

    @property
    def troubles(self) -> list[Trouble]:
        """The trials in which runs diverged or models had too little room."""
        return troubles_in(self.table())

    def as_data(self) -> dict[str, object]:
        """Counts and times, every failure, and what else went wrong."""
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

    def text(self) -> str:
        """The same in a few lines."""
        work = self.work
        lines = [
            f"{len(work.trials):,} trials: {work.computed:,} batches computed, "
            f"{work.found:,} were there, {len(work.failed):,} trials failed"
        ]
        if work.runs:
            rate = work.runs / max(work.seconds - work.compiling, 1e-9)
            lines.append(
                f"{work.seconds:.1f} s, {work.compiling:.1f} s of it compiling or loading; "
                f"{rate:.3g} runs/s"
            )
        choose = f"expectant best {quote(str(self.folder))}" + " --trust" * self.needs_trust
        lines.append(f"results: {self.folder}; the best settings: {choose}")
        best: dict[tuple[str, str], str] = {}
        for entry in self.search:
            if entry["value"] is not None:
                line = f"best: {entry['trial']}: {entry['value']:.3f}"
                best.setdefault((entry["panel"], entry["agent"]), line)
        return "\n".join([*lines, *best.values()])


def run_sweep(
    experiment: Experiment,
    text: str,
    folder: Path,
    *,
    threads: int | None = None,
    engine: str = "threads",
    address: str | None = None,
    shard: Shard | None = None,
    compiled: bool | None = None,
    kind: str = SWEEP,
    accept_versions: bool = False,
    trials: int | None = None,
) -> Outcome:
    """Compute the batches of a spec that its folder lacks; a trial that fails stops no other.

    With ``trials``, a search tries so many settings of every agent instead of the whole grid.
    """
    if trials is not None:
        require_extra("--search optuna", "optuna")
    data = parse_toml(text, experiment.name)
    kernels = Kernels(compiled)
    chosen = make_engine(engine, threads, address, kernels)
    with lock_folder(folder, text, data, shard, kind):
        work = Work(experiment.trials() if trials is None else [], Store(folder, accept_versions))

        def compute() -> None:
            tasks = work.missing(shard)
            if tasks:  # the table is there only while it is of all batches
                (folder / TRIALS).unlink(missing_ok=True)
            work.do(chosen, kernels, tasks, experiment.name, shard.suffix if shard else "")

        if trials is None:
            tell_of_other_versions(work)
            compute()
            tried = []
        else:
            tried = search(experiment, trials, work, compute)
            write_text(folder / SEARCH, json.dumps(tried, indent=1) + "\n")
        if shard is None:
            write_trials(work, folder, data)
    return Outcome(folder, work, tried)


def tell_of_other_versions(work: Work) -> None:
    """Say that runs are there which were computed with other versions of libraries."""
    others = set(work.store.of_any_version(work.names)) - {*work.names, ""}
    if others:
        span = work.store.index()[first := min(others)][0]
        facts = work.store.facts_of(first, span)
        then, now = (facts.described["versions"] if facts else {}), versions()
        changed = [f"{name} {old}" for name, old in then.items() if now.get(name, old) != old]
        say(
            f"runs of {len(others)} trials in {work.store.folder.parent} were computed with "
            f"{', '.join(changed) or 'other code of a package'}; they are not used without "
            "--accept-versions"
        )


def _plain(value: Any) -> Any:
    """Descriptions as tables, None as the word for it."""
    if isinstance(value, Config):
        return _plain(value.to_dict())
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):  # a NumPy number
        return value.item()
    return "none" if value is None else value
