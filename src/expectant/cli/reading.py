"""The command that reads a source in other ways: which claims depend on which reading?"""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from expectant.cli.common import (
    Json,
    Seed,
    Threads,
    app,
    fail,
    failures,
    plain_errors,
    print_json,
    whole_from,
)
from expectant.cli.reproducing import figures_of

if TYPE_CHECKING:
    from expectant.lab.study import Study

COMBINATIONS, JOINT_RUNS = 1000, 100


@app.command()
def readings(
    study: Annotated[
        str, typer.Argument(help="A study by name (`expectant studies`), or a folder of one.")
    ] = "kudashkina-2021",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the results, gone on with; results/readings for the paper, else "
            "results/NAME-readings."
        ),
    ] = None,
    figure: Annotated[
        list[str] | None, typer.Option(help="One figure only, such as 5a; repeatable.")
    ] = None,
    joint: Annotated[
        bool,
        typer.Option("--joint", help="Change all readings of some figures at once, at random."),
    ] = False,
    parameters: Annotated[
        bool, typer.Option("--parameters", help="Which step sizes are the best, set by set.")
    ] = False,
    combinations: Annotated[
        int | None,
        typer.Option(callback=whole_from(1), help="How many combinations, with --joint; 1000."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            callback=whole_from(1),
            help="Runs of every agent; if not given those of the figure, with --joint 100, with "
            "--parameters those of the source's study.",
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Change one reading of a study at a time, or all at once, and see what claims depend on.

    One at a time: by how much does it move the number of each claim, paired run by run? With
    --joint: which claims can hold together, under any of the combinations? With --parameters: under
    which set would the printed step sizes be chosen, and what do figures show with every agent at
    its best? Interrupted, all go on where they were.
    """
    if joint and parameters:
        raise fail("--joint and --parameters are two studies: ask for one of them", 2)
    if joint and figure:
        raise fail("--figure: the study says which figures --joint is about", 2)
    if combinations is not None and not joint:
        raise fail(f"--combinations {combinations}: is for --joint alone", 2)
    with plain_errors("lab"), failures():
        from expectant.lab.study import THE_PAPER, find_study, read_study

        found = read_study(find_study(study), trust=True)
        figures = figures_of(found, figure)
        instead = "results/readings" if found.name == THE_PAPER else f"{found.out}-readings"
        folder = out or Path(instead)
        if joint:
            wanted = combinations or COMBINATIONS
            _joint(found, folder, wanted, runs or JOINT_RUNS, seed, threads, json)
        elif parameters:
            _parameters(found, folder, figures, runs, seed, threads, json)
        else:
            _one_at_a_time(found, folder, figures, runs, seed, threads, json)


def _one_at_a_time(
    study: Study, out: Path, figures: tuple[str, ...], runs: int | None, seed: int,
    threads: int | None, json: bool,
) -> None:  # fmt: skip
    from expectant.files import write_text
    from expectant.lab.readings import as_rows, dependence
    from expectant.show.page_tables import dependence_table, difference_table, print_table

    rows = as_rows(dependence(study, out, seed, threads, figures, runs))
    write_text(out / "readings.json", json_format.dumps(rows, indent=2, ensure_ascii=False))
    if json:
        print_json(rows)
        return
    print_table(dependence_table(rows))
    print_table(difference_table(rows))
    print(f"all differences are in {out / 'readings.json'}")


def _joint(
    study: Study, out: Path, combinations: int, runs: int, seed: int, threads: int | None,
    json: bool,
) -> None:  # fmt: skip
    from expectant.files import write_text
    from expectant.lab.joint_search import found as searched
    from expectant.lab.joint_search import joint_of
    from expectant.lab.together_words import HEAD, answer_rows, in_a_sentence
    from expectant.show.page_tables import plain_table, print_table

    found = searched(joint_of(study, runs, seed), out, combinations, threads)
    text = json_format.dumps(found, indent=2, ensure_ascii=False)
    write_text(out / "joint.json", text)
    if json:
        print(text)
        return
    title = f"{found['combinations']:,} combinations of readings, {found['runs']} runs of each"
    print_table(plain_table(title, HEAD, answer_rows(found)))
    print(f"can the published figure be obtained? {in_a_sentence(found)}")
    print(f"also in {out / 'joint.json'}")


def _parameters(
    study: Study, out: Path, figures: tuple[str, ...], runs: int | None, seed: int,
    threads: int | None, json: bool,
) -> None:  # fmt: skip
    from expectant.files import write_text
    from expectant.lab.parameters import HEAD, choice_rows, parameter_study
    from expectant.show.page_tables import plain_table, print_table

    found = parameter_study(study, out, figures, seed, threads, runs)
    text = json_format.dumps(found, indent=1, ensure_ascii=False)
    write_text(out / "parameters.json", text)
    verdicts = json_format.dumps(found["verdicts"], indent=2, ensure_ascii=False)
    write_text(out / "claims.json", verdicts + "\n")
    if json:
        print(text)
        return
    print_table(plain_table("Printed step sizes, and the best of a grid", HEAD, choice_rows(found)))
    for verdict in found["verdicts"]:
        print(f"claim {verdict['id']} under {verdict['reading']}: {verdict['verdict']}")
    for verdict in found["at_best"]:
        print(
            f"every agent at its best, {verdict['reading']}, claim {verdict['id']}: "
            f"{verdict['verdict']}"
        )
    print(f"also in {out / 'parameters.json'}; the verdicts in {out / 'claims.json'}")
