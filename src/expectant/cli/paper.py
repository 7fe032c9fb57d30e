"""The command that runs studies: the paper, or another one."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from expectant.cli.common import (
    PAPER,
    Json,
    Out,
    Runs,
    Threads,
    app,
    check,
    fail,
    plain_errors,
    print_json,
)
from expectant.seeds import SEED

if TYPE_CHECKING:
    from expectant.lab.request import Request


@app.command(rich_help_panel=PAPER)
def reproduce(
    study: Annotated[
        str, typer.Argument(help="A study by name (`expectant list`), or a folder of one.")
    ] = "kudashkina-2021",
    figure: Annotated[
        list[str] | None, typer.Option(help="One figure only, such as 5a; repeatable.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="Of `loca`: one agent only, such as lookahead; repeatable."),
    ] = None,
    backups: Annotated[
        list[str] | None,
        typer.Option(help="Of `loca`: one backup distribution only, such as seen; repeatable."),
    ] = None,
    vary: Annotated[
        bool,
        typer.Option("--vary", help="Change one interpretation of the source at a time instead."),
    ] = False,
    out: Out = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="5 runs of everything; verdicts are provisional.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(callback=check(SEED), help="Seed of all runs; the study's own.")
    ] = None,
    runs: Runs = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Run a study, by default the paper: every figure, and a verdict on every claim.

    Writes report.html, figure-*.png and .svg, claims.json and curves.parquet; `reproduce loca` also
    loca.json. With --vary: by how much does each interpretation move the number of each claim,
    paired run by run? Writes readings.json. Interrupted, both resume.
    """
    if quick and runs is not None:
        raise fail(f"--quick sets the runs, it cannot be combined with --runs {runs}", 2)
    with plain_errors("lab", "show"):
        from expectant.lab.request import LOCA, QUICK_RUNS, request_for
        from expectant.lab.study import find_study, read_study

        found = read_study(find_study(study), trust=True)
        request = request_for(
            found, figure or (), agent or (), backups or (), seed=seed, runs=runs, quick=quick
        )
        if vary:
            _vary(request, out, QUICK_RUNS if quick else runs, threads, json)
            return
        from expectant.lab.reproduce import LOCA_ROWS, place_for
        from expectant.lab.reproduce import reproduce as run_study
        from expectant.lab.store.cell_tables import tell_troubles, troubles_of

        folder = out or Path(found.out)
        place = place_for(request, folder)
        verdicts = run_study(request, folder, threads, place=place)
        tell_troubles(troubles_of(place))
        is_loca = found.name == LOCA
        rows = json_format.loads((place / LOCA_ROWS).read_text("utf-8"))["rows"] if is_loca else []
    if json:
        print_json(rows or [verdict.to_dict() for verdict in verdicts])
        return
    from expectant.show.page_tables import adaptation_table, print_table, verdict_table

    if rows:
        print_table(adaptation_table(rows))
    if verdicts:
        print_table(verdict_table(verdicts))
    if request.warning:
        print(request.warning)
    print(f"report: {place / 'report.html'}")


def _vary(
    request: Request, out: Path | None, runs: int | None, threads: int | None, json: bool
) -> None:
    """Change one interpretation at a time, and show by how much claims move."""
    from expectant.lab.readings import vary_readings
    from expectant.lab.study import THE_PAPER
    from expectant.show.page_tables import dependence_table, print_table

    study = request.study
    folder = out or Path("results/readings" if study.name == THE_PAPER else f"{study.out}-readings")
    rows = vary_readings(study, folder, request.seed or 0, threads, request.figures, runs)
    if json:
        print_json(rows)
        return
    print_table(dependence_table(rows))
    print(f"all differences: {folder / 'readings.json'}")
