"""Run or preview the experiment, sweep or search in a config file."""

from __future__ import annotations

import re
from pathlib import Path

from expectant.engine.job import cores
from expectant.lab.cells import Shard
from expectant.lab.engines.tasks import Kernels
from expectant.lab.search import run_search
from expectant.lab.specs.preview import Preview, preview
from expectant.lab.specs.spec import Experiment, parse_spec, read_config, read_text
from expectant.lab.store.folder import RUN, SWEEP
from expectant.lab.sweep import Outcome, run_sweep


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
    experiment = parse_spec(text, str(path), trust=True)
    folder = out or Path("results") / experiment.name
    if search is None:
        return experiment, run_sweep(
            experiment, text, folder, threads=threads, engine=engine, address=address, shard=part,
            kind=SWEEP if experiment.is_sweep else RUN, accept_versions=accept_versions,
        )  # fmt: skip
    if search != "optuna":
        raise ValueError(f"--search: must be optuna, got {search!r}")
    if part is not None:
        raise ValueError(f"--shard: a search has no parts, got {shard!r} with --search")
    if not experiment.is_sweep:
        raise ValueError(f"--search: {path} has no grid to search")
    return experiment, run_search(
        experiment, text, folder, trials, threads=threads, engine=engine, address=address,
        accept_versions=accept_versions,
    )  # fmt: skip


def show_file(path: Path, threads: int | None, trust: bool = False) -> Preview:
    """Preview what the config in a file asks for."""
    return preview(read_config(path, trust=trust), threads or cores(), Kernels())


def parse_shard(text: str) -> Shard:
    """Read ``3/100`` as the third of a hundred parts."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.of:
        raise ValueError(f"--shard: must be i/n with i from 1 to n, got {text!r}")
    return shard
