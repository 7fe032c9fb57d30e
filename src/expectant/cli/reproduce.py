"""The command that reproduces the paper, or another study."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from expectant.cli.common import (
    Json,
    Out,
    Threads,
    command,
    fail,
    number_option,
    plain_errors,
    print_json,
)
from expectant.core.rng import SEED
from expectant.core.rules import whole

Names = list[str] | None


def name_option(text: str) -> Any:
    return typer.Option(metavar="NAME", help=text)


@command("The paper")
def reproduce(
    study: Annotated[
        str, typer.Argument(help="A study by name (`expectant list`), or a folder of one.")
    ] = "kudashkina-2021",
    figure: Annotated[Names, name_option("One figure only, such as 5a; repeatable.")] = None,
    agent: Annotated[Names, name_option("Of `loca`: one agent only; repeatable.")] = None,
    backups: Annotated[
        Names, name_option("Of `loca`: one backup distribution only; repeatable.")
    ] = None,
    out: Out = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="5 runs of everything; verdicts are provisional.")
    ] = False,
    seed: Annotated[
        int | None, number_option("--seed", SEED, "Seed instead of the study's.")
    ] = None,
    runs: Annotated[
        int | None, number_option("--runs", whole(1), "Runs of every agent instead.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Run a study, by default the paper: every figure, and a verdict on every claim.

    Writes report.html, figures, claims.json and curves.parquet; `loca` also loca.json. Interrupted,
    the same command resumes.
    """
    if quick and runs is not None:
        raise fail(f"--quick sets the runs, it cannot be combined with --runs {runs}", 2)
    with plain_errors("experiments", "report"):
        from expectant.experiments.reproduce import LOCA_ROWS, choose_target
        from expectant.experiments.reproduce import reproduce as run_study
        from expectant.experiments.runner import print_problems, read_trials
        from expectant.experiments.study import LOCA, configure_study, read_study
        from expectant.report import terminal_tables as tables

        source = read_study(study, trust=True)
        config = configure_study(
            source, figure or (), agent or (), backups or (), seed=seed, runs=runs, quick=quick
        )
        folder = out or Path(source.out)
        target = choose_target(config, folder)
        verdicts = run_study(config, folder, threads, target)
        print_problems(read_trials(target))
        is_loca = source.name == LOCA
        rows = json_format.loads((target / LOCA_ROWS).read_text("utf-8"))["rows"] if is_loca else []
    if json:
        print_json(rows or [verdict.to_dict() for verdict in verdicts])
        return
    if rows:
        print(tables.adaptation_table(rows), end="\n\n")
    if verdicts:
        print(tables.verdict_table(verdicts), end="\n\n")
    print(*filter(None, [config.warning, f"report: {target / 'report.html'}"]), sep="\n")
