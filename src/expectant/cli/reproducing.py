"""Commands that run studies: the paper, its readings, the adaptation test."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer

from expectant.cli.common import (
    JOINT_RUNS,
    Json,
    Out,
    Runs,
    Seed,
    Threads,
    app,
    at_least,
    fail,
    failures,
    obeys,
    plain_errors,
    print_json,
)
from expectant.seeds import SEED


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
        wanted = _figures(found, figure)
        request = Request(found, wanted, seed, runs, quick)
        folder = out or found.out
        place = place_for(request, folder)
        verdicts = run_study(request, folder, threads, place=place)
        from expectant.lab.store.troubles import tell_troubles, troubles_of

        tell_troubles(troubles_of(place))
    if json:
        print_json([verdict.to_dict() for verdict in verdicts])
        return
    from expectant.show.page_tables import show, verdict_table

    if verdicts:
        show(verdict_table(verdicts))
    if request.warning:
        print(request.warning)
    print(f"report: {place / 'report.html'}")


def _figures(study: Any, wanted: list[str] | None) -> tuple[str, ...]:
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
        from expectant.lab.study import packaged, read_study

        found = [read_study(folder) for folder in packaged().values()]
    if json:
        rows = [
            {"name": study.name, "title": study.title, "source": study.source, "link": study.link,
             "figures": list(study.figures), "claims": len(study.claims)}
            for study in found
        ]  # fmt: skip
        print_json(rows)
        return
    for study in found:
        figures = f"{len(study.figures)} figure{'s' * (len(study.figures) != 1)}"
        claims = f"{len(study.claims)} claim{'s' * (len(study.claims) != 1)}"
        print(f"{study.name:24} {study.title} ({figures}, {claims})")
    print("\n`expectant reproduce NAME` runs one")


@app.command()
def readings(
    out: Out = Path("results/readings"),
    figure: Annotated[
        list[str] | None, typer.Option(help="One figure only, such as 5a; repeatable.")
    ] = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Change all readings of figure 5 at once, at random.")
    ] = False,
    parameters: Annotated[
        bool, typer.Option("--parameters", help="Which step sizes are the best, set by set.")
    ] = False,
    combinations: Annotated[
        int, typer.Option(callback=at_least(1), help="How many combinations, with --joint.")
    ] = 1000,
    runs: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="Runs of every agent; if not given those of the figure, with --joint 100, with "
            "--parameters 30.",
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Change one reading of the paper at a time, or all at once, and see what claims depend on.

    One at a time: by how much does it move the number of each claim, paired run by run? With
    --joint: which claims about figure 5 can hold together, under any of the combinations? With
    --parameters: under which set would the printed step sizes be chosen, and what does figure 5
    show with every agent at its best? Interrupted, all go on where they were.
    """
    if joint and parameters:
        raise fail("--joint and --parameters are two studies: ask for one of them", 2)
    if parameters:
        _parameters(out, figure, runs, seed, threads, json)
        return
    if joint:
        _joint(out, combinations, runs or JOINT_RUNS, seed, threads, json)
        return
    from expectant.show.page_tables import dependence_table, difference_table, show

    with plain_errors("lab"), failures():
        from expectant.files import write_text
        from expectant.lab.readings import as_rows, dependence
        from expectant.lab.study import the_paper

        figures = _figures(the_paper(), figure)
        rows = as_rows(dependence(the_paper(), out, seed, threads, figures, runs))
        write_text(out / "readings.json", json_format.dumps(rows, indent=2, ensure_ascii=False))
    if json:
        print_json(rows)
        return
    show(dependence_table(rows))
    show(difference_table(rows))
    print(f"all differences are in {out / 'readings.json'}")


def _joint(
    out: Path, combinations: int, runs: int, seed: int, threads: int | None, json: bool
) -> None:
    with plain_errors("lab"), failures():
        from expectant.files import write_text
        from expectant.lab.joint import of_figure_5
        from expectant.lab.joint_search import found as searched
        from expectant.lab.study import the_paper
        from expectant.lab.together_words import HEAD, answer_rows, in_a_sentence

        found = searched(of_figure_5(the_paper(), runs, seed), out, combinations, threads)
        text = json_format.dumps(found, indent=2, ensure_ascii=False)
        write_text(out / "joint.json", text)
    if json:
        print(text)
        return
    from expectant.show.page_tables import plain_table, show

    title = f"{found['combinations']:,} combinations of readings, {found['runs']} runs of each"
    show(plain_table(title, HEAD, answer_rows(found)))
    print(f"can the published figure be obtained? {in_a_sentence(found)}")
    print(f"also in {out / 'joint.json'}")


def _parameters(
    out: Path, figure: list[str] | None, runs: int | None, seed: int, threads: int | None,
    json: bool,
) -> None:  # fmt: skip
    with plain_errors("lab"), failures():
        from expectant.files import write_text
        from expectant.lab.parameters import HEAD, RUNS, choice_rows, parameter_study
        from expectant.lab.study import the_paper

        figures = _figures(the_paper(), figure)
        found = parameter_study(the_paper(), out, figures, seed, threads, runs or RUNS)
        text = json_format.dumps(found, indent=1, ensure_ascii=False)
        write_text(out / "parameters.json", text)
        verdicts = json_format.dumps(found["verdicts"], indent=2, ensure_ascii=False)
        write_text(out / "claims.json", verdicts + "\n")
    if json:
        print(text)
        return
    from expectant.show.page_tables import plain_table, show

    show(plain_table("Printed step sizes, and the best of a grid", HEAD, choice_rows(found)))
    for verdict in found["verdicts"]:
        print(f"claim {verdict['id']} under {verdict['reading']}: {verdict['verdict']}")
    for verdict in found["at_best"]:
        print(
            f"every agent at its best, {verdict['reading']}, claim {verdict['id']}: "
            f"{verdict['verdict']}"
        )
    print(f"also in {out / 'parameters.json'}; the verdicts in {out / 'claims.json'}")


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
        int | None, typer.Option(callback=at_least(1), help="Runs of every row; 10 if not given.")
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
    from expectant.show.page_tables import adaptation_table, show

    show(adaptation_table(rows))
    print(place / "report.html")
