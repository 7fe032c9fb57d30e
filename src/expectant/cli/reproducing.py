"""Commands that run studies: the paper or another, and the adaptation test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from expectant.cli.common import (
    Json,
    Out,
    Runs,
    Seed,
    Threads,
    app,
    fail,
    failures,
    obeys,
    plain_errors,
    print_json,
    whole_from,
)
from expectant.extras import MissingExtra
from expectant.seeds import SEED

if TYPE_CHECKING:
    from expectant.lab.study import Study


@app.command()
def reproduce(
    study: Annotated[
        str, typer.Argument(help="A study by name (`expectant studies`), or a folder of one.")
    ] = "kudashkina-2021",
    figure: Annotated[
        list[str] | None, typer.Option(help="One figure only, such as 5a; repeatable.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the results; results/paper for the paper, else results/NAME."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="5 runs of everything; verdicts are provisional.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(callback=obeys(SEED), help="Seed of all runs; the study's own.")
    ] = None,
    runs: Runs = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Run a study, by default the paper: every figure, and a verdict on every claim.

    Writes report.html, figure-*.png and .svg, claims.json and curves.parquet. Interrupted, it
    goes on where it was.
    """
    if quick and runs is not None:
        raise fail(f"--quick sets the runs, it cannot be combined with --runs {runs}", 2)
    with plain_errors("lab", "show"), failures():
        from expectant.lab.reproduce import place_for
        from expectant.lab.reproduce import reproduce as run_study
        from expectant.lab.request import Request
        from expectant.lab.study import find_study, read_study

        found = read_study(find_study(study), trust=True)
        wanted = figures_of(found, figure)
        request = Request(found, wanted, seed, runs, quick)
        folder = out or found.out
        place = place_for(request, folder)
        verdicts = run_study(request, folder, threads, place=place)
        from expectant.lab.store.troubles import tell_troubles, troubles_of

        tell_troubles(troubles_of(place))
    if json:
        print_json([verdict.to_dict() for verdict in verdicts])
        return
    from expectant.show.page_tables import print_table, verdict_table

    if verdicts:
        print_table(verdict_table(verdicts))
    if request.warning:
        print(request.warning)
    print(f"report: {place / 'report.html'}")


def figures_of(study: Study, wanted: list[str] | None) -> tuple[str, ...]:
    """The figures of a study that were asked for, in its order; all if none were."""
    from expectant.descriptions import near_miss

    for name in wanted or ():
        if name not in study.figures:
            raise fail(f"--figure: unknown {name!r}" + near_miss(name, [*study.figures]), 2)
    return tuple(name for name in study.figures if not wanted or name in wanted)


@app.command()
def studies(json: Json = False) -> None:
    """The studies that come with the package: what they are, their figures and claims."""
    with plain_errors():
        found = _studies()
    rows = [_facts(study) for study in found.values() if not isinstance(study, MissingExtra)]
    needs = {name: str(why) for name, why in found.items() if isinstance(why, MissingExtra)}
    if json:
        print_json([*rows, *({"name": name, "needs": why} for name, why in needs.items())])
        return
    for facts in rows:
        figures, claims = len(facts["figures"]), facts["claims"]
        counted = f"{figures} figure{'s' * (figures != 1)}, {claims} claim{'s' * (claims != 1)}"
        print(f"{facts['name']:24} {facts['title']} ({counted})")
    for name, why in needs.items():
        print(f"{name:24} {why}")
    print("\n`expectant reproduce NAME` runs one")


def _studies() -> dict[str, Study | MissingExtra]:
    """The studies of the package by name, or what one needs to be read."""
    from expectant.lab.study import packaged, read_study

    found: dict[str, Study | MissingExtra] = {}
    for name, folder in packaged().items():
        try:
            found[name] = read_study(folder)
        except MissingExtra as missing:
            found[name] = missing
    return found


def _facts(study: Study) -> dict[str, Any]:
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "link": study.link,
        "figures": list(study.figures),
        "claims": len(study.claims),
    }


@app.command()
def loca(
    agent: Annotated[
        list[str] | None, typer.Option(help="One agent only, such as lookahead; repeatable.")
    ] = None,
    backups: Annotated[
        list[str] | None,
        typer.Option(help="One backup distribution only, such as seen; repeatable."),
    ] = None,
    out: Out = Path("results/loca"),
    quick: Annotated[
        bool, typer.Option("--quick", help="3 runs of everything; verdicts are provisional.")
    ] = False,
    seed: Seed = 0,
    runs: Annotated[
        int | None, typer.Option(callback=whole_from(1), help="Runs of every row; 10 if not given.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """The local-change adaptation test: which agents carry news to states they do not visit?

    The study `loca` or some rows of it: writes report.html, figures, curves.parquet and
    loca.json. Interrupted, it goes on where it was.
    """
    if quick and runs is not None:
        raise fail(f"--quick sets the runs, it cannot be combined with --runs {runs}", 2)
    with plain_errors("lab", "show"), failures():
        from expectant.lab.loca_command import QUICK_RUNS, adaptation_test, request_for
        from expectant.lab.reproduce import place_for

        wanted = QUICK_RUNS if quick else runs
        request = request_for(agent or (), backups or (), seed=seed, runs=wanted)
        place = place_for(request, out)
        rows = adaptation_test(request, out, threads, place=place)
    if json:
        print_json(rows)
        return
    from expectant.show.page_tables import adaptation_table, print_table

    print_table(adaptation_table(rows))
    print(place / "report.html")
