"""Run or preview the experiment, sweep or search in a config file."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from expectant.experiments.config_file import Experiment, parse_config
from expectant.experiments.grid import dotted
from expectant.experiments.results_folder import RUN, SWEEP
from expectant.experiments.sweep import Outcome, run_sweep
from expectant.experiments.toml_tables import read_text
from expectant.experiments.trials import Shard


def run_file(
    path: Path,
    out: Path | None,
    *,
    threads: int | None = None,
    engine: str = "threads",
    address: str | None = None,
    shard: str | None = None,
    search: str | None = None,
    trials: int = 20,
    accept_versions: bool = False,
) -> tuple[Experiment, Outcome]:
    """Compute what is missing of an experiment or a sweep, or search a sweep."""
    part = None if shard is None else parse_shard(shard)
    text = read_text(path)
    experiment = parse_config(text, str(path), trust=True)
    folder = out or Path("results") / experiment.name
    if search not in (None, "optuna"):
        raise ValueError(f"--search: must be optuna, got {search!r}")
    if search and part is not None:
        raise ValueError(f"--shard: a search has no parts, got {shard!r} with --search")
    if search and not experiment.is_sweep:
        raise ValueError(f"--search: {path} has no grid to search")
    return experiment, run_sweep(
        experiment, text, folder, threads=threads, engine=engine, address=address, shard=part,
        kind=SWEEP if experiment.is_sweep else RUN, accept_versions=accept_versions,
        trials=trials if search else None,
    )  # fmt: skip


def preview(experiment: Experiment) -> dict[str, Any]:
    """Count what a config asks for, before it is run."""
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


def preview_text(found: dict[str, Any]) -> str:
    """Describe a preview in a few lines."""
    steps, episodes = found["steps"], found["episodes"]
    length = f"{steps:,} steps" if steps else f"{episodes:,} episodes"
    agents = ", ".join(f"{name} ({count:,})" for name, count in found["agents"].items())
    varied = [f"varied: {path} = {values}" for path, values in found["varied"].items()]
    first = f"{found['name']}: {found['trials']:,} trials, {found['runs']:,} runs of {length}"
    return "\n".join([first, f"agents: {agents}", *varied, f"first trial: {found['ids'][0]}"])


def parse_shard(text: str) -> Shard:
    """Read ``3/100`` as the third of a hundred parts."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.of:
        raise ValueError(f"--shard: must be i/n with i from 1 to n, got {text!r}")
    return shard
