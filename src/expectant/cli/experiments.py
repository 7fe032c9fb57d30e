"""Commands for experiments: run them, select the best parameters, report again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from expectant.cli.common import (
    Json,
    Out,
    Threads,
    Trust,
    command,
    number_option,
    plain_errors,
    print_json,
)
from expectant.core.rules import at_least, whole


@command("Experiments")
def run(
    config: Annotated[
        str,
        typer.Argument(help="An experiment or a sweep as TOML, or the name of a study with one."),
    ],
    out: Out = None,
    threads: Threads = None,
    engine: Annotated[str, typer.Option(help="threads, or ray for a cluster.")] = "threads",
    address: Annotated[
        str | None, typer.Option(help="The Ray cluster, such as auto; a local one if not given.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(help="One part only, for job arrays: 3/100 is the third of 100.")
    ] = None,
    json: Json = False,
) -> None:
    """Run one experiment, or every combination of a grid; finished runs are kept.

    Both write report.html, figures and trials.parquet, an experiment also curves.parquet. A config
    with a grid is a sweep. Interrupted or killed, the same command resumes.
    """
    with plain_errors("experiments", "report"):
        from expectant.experiments import reproduce
        from expectant.experiments.runner import print_problems
        from expectant.experiments.study import find_config
        from expectant.experiments.sweep import run_file
        from expectant.experiments.sweep_report import report_sweep
        from expectant.report.terminal_tables import curve_table, mean_returns

        experiment, work = run_file(
            find_config(config), out, threads=threads, engine=engine, address=address, shard=shard
        )  # fmt: skip
        for trial, reason in work.failed.items():
            print(f"expectant: failed: {trial}: {reason}", file=sys.stderr)
        print_problems(work.table())
        if shard is None and not experiment.is_sweep and not work.failed:
            panels = reproduce.write_experiment(experiment, work)
            page: Path | None = work.folder / "report.html"
            data: Any = mean_returns(work.table())
        else:
            is_complete = shard is None and experiment.is_sweep
            written = report_sweep(work.folder, trust=True) if is_complete else []
            panels, page = [], written[-1] if written else None
            data = {**work.as_data(), "page": None if page is None else str(page)}
    if json:
        print_json(data)
    else:
        print(curve_table(panels) if panels else work)
        if page is not None:
            print(f"report: {page}")
    raise typer.Exit(1 if work.failed else 0)


@command("Experiments")
def best(
    folder: Annotated[Path, typer.Argument(help="A folder of a sweep, which `run` has written.")],
    metric: Annotated[
        str, typer.Option(help="The metric to select by: mean, final, after-switch, drop, …")
    ] = "mean",
    confirm: Annotated[
        int | None, number_option("--confirm", whole(1), "Report this many fresh runs of the best.")
    ] = None,
    margin: Annotated[
        float | None,
        number_option(
            "--margin", at_least(0), "Smallest difference that matters; 5 % of the mean."
        ),
    ] = None,
    threads: Threads = None,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Compare the agents at their best parameters, by runs not used for the selection.

    Without --confirm the first half of the runs selects and the second half reports. Writes
    best.json, the figures and the page.
    """
    with plain_errors("experiments", "report"):
        from expectant.experiments.best import BEST
        from expectant.experiments.best import best as select_best
        from expectant.experiments.sweep_report import write_report

        selection = select_best(
            folder, metric=metric, confirm=confirm, margin=margin, threads=threads, trust=trust
        )
        paths = [folder / BEST, *write_report(selection)]
    print_json(selection.as_data()) if json else print(selection, *paths, sep="\n")


@command("Experiments")
def report(
    folder: Annotated[Path, typer.Argument(help="A folder that `reproduce` or `run` has written.")],
    trust: Trust = False,
) -> None:
    """Write the figures and the page of a results folder again."""
    with plain_errors("experiments", "report"):
        from expectant.experiments.reproduce import rewrite_report

        for path in rewrite_report(folder, trust=trust):
            print(path)
