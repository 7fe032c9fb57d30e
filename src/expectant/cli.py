"""The command line. Exit status: 0 done, 1 something in it failed, 2 bad input."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Planning with expectation models for control: reproduce the paper, run your own "
    "experiments, measure speed. Start with: expectant reproduce --quick",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def at_least(low: int) -> Callable[[int | None], int | None]:
    """A check of an option that names the value and the rule."""

    def check(value: int | None) -> int | None:
        if value is not None and value < low:
            raise typer.BadParameter(f"must be a whole number, {low} or more, got {value}")
        return value

    return check


PAPER_FIGURES = ("1", "3", "4a", "4b", "5a", "5b")

Out = Annotated[Path, typer.Option(help="Folder for the results; what is there is gone on with.")]
Seed = Annotated[int, typer.Option(callback=at_least(0), help="Seed of all runs.")]
Runs = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1), help="Runs of every agent, instead of as many as the paper."
    ),
]
Threads = Annotated[
    int | None, typer.Option(callback=at_least(1), help="Threads; one per core if not given.")
]
Json = Annotated[bool, typer.Option("--json", help="Print data for programs on standard output.")]
Folder = Annotated[Path, typer.Argument(help="A folder that `reproduce` or `run` has written.")]


def fail(message: object, status: int) -> typer.Exit:
    """Say what is wrong on standard error, and leave with a status."""
    print(f"expectant: {message}", file=sys.stderr)
    return typer.Exit(status)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn the mistakes that users can make into one line and the right exit status."""
    try:
        yield
    except (ValueError, FileNotFoundError) as error:
        raise fail(error, 2) from None
    except OSError as error:
        raise fail(error, 1) from None
    except KeyboardInterrupt:
        raise fail("interrupted; the same command goes on where it stopped", 1) from None


def print_json(data: Any) -> None:
    print(json_format.dumps(data, indent=2, ensure_ascii=False, default=str))


@app.command()
def reproduce(
    figure: Annotated[
        list[str] | None, typer.Option(help="One figure only (1, 3, 4a, 4b, 5a, 5b); repeatable.")
    ] = None,
    out: Out = Path("results/paper"),
    quick: Annotated[
        bool, typer.Option("--quick", help="5 runs of everything; verdicts are provisional.")
    ] = False,
    study: Annotated[
        bool, typer.Option("--study", help="The parameter study instead of the figures.")
    ] = False,
    seed: Seed = 0,
    runs: Runs = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Run the paper: every figure under two readings, and a verdict on every claim.

    Writes report.html, figure-*.png and .svg, claims.json and curves.parquet. Interrupted, it
    goes on where it was.
    """
    from expectant.descriptions import near_miss

    for name in figure or ():
        if name not in PAPER_FIGURES:
            raise fail(f"--figure: unknown {name!r}" + near_miss(name, list(PAPER_FIGURES)), 2)
    if quick and runs is not None:
        raise fail(f"--quick sets the runs, it cannot be combined with --runs {runs}", 2)
    if study and figure:
        raise fail("--study has no figures, it cannot be combined with --figure", 2)
    with plain_errors():
        if study:
            _study(out, seed, 5 if quick else runs, threads, json)
            return
        from expectant.paper.reproduce import Request
        from expectant.paper.reproduce import reproduce as run_paper

        wanted = tuple(name for name in PAPER_FIGURES if not figure or name in figure)
        request = Request(wanted, seed, runs, quick)
        verdicts = run_paper(request, out, threads)
    if json:
        print_json([verdict.to_dict() for verdict in verdicts])
        return
    from expectant.report.tables import show, verdict_table

    show(verdict_table(verdicts))
    if request.warning:
        print(request.warning)
    print(f"report: {out / 'report.html'}")


def _study(out: Path, seed: int, runs: int | None, threads: int | None, json: bool) -> None:
    from expectant.paper.study import study as run_study
    from expectant.paper.study_report import study_data, write_study
    from expectant.report.tables import show, study_table

    result = run_study(out, seed, runs, threads)
    paths = write_study(result, out)
    if json:
        print_json(study_data(result))
        return
    show(study_table(result))
    for path in paths:
        print(path)


@app.command()
def readings(
    out: Out = Path("results/readings"), seed: Seed = 0, threads: Threads = None, json: Json = False
) -> None:
    """Change one reading of the paper at a time, and see which verdicts depend on it."""
    from expectant.report.tables import dependence_table, show

    with plain_errors():
        from expectant.paper.dependence import as_rows, dependence
        from expectant.paper.reproduce import write_text

        rows = as_rows(dependence(out, seed, threads))
        write_text(out / "readings.json", json_format.dumps(rows, indent=2, ensure_ascii=False))
    if json:
        print_json(rows)
        return
    show(dependence_table(rows))
    print(f"also in {out / 'readings.json'}")


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="An experiment as TOML; see studies/.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; results/NAME if not given.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Run one experiment from a TOML file: curves, a table, figures and a page."""
    with plain_errors():
        from expectant.experiments.spec import read_spec

        experiment = read_spec(spec)
        folder = out or Path("results") / experiment.name
        from expectant.writeup import run_experiment

        panels = run_experiment(experiment, spec.read_text(), folder, threads)
    from expectant.report.tables import curve_table, show
    from expectant.writeup import summary, times

    if json:
        print_json(summary(panels, times(experiment, folder)))
        return
    show(curve_table(panels, times(experiment, folder)))
    print(f"report: {folder / 'report.html'}")


@app.command()
def plot(folder: Folder) -> None:
    """Draw the figures of a results folder again."""
    with plain_errors():
        from expectant.writeup import draw_again

        for path in draw_again(folder):
            print(path)


@app.command()
def report(folder: Folder) -> None:
    """Write the page of a results folder again."""
    with plain_errors():
        from expectant.writeup import report_again

        print(report_again(folder))


@app.command("list")
def list_parts(json: Json = False) -> None:
    """Every domain, feature map, model, backup distribution and agent."""
    from expectant.catalogue import catalogue

    entries = catalogue()
    if json:
        print_json(entries)
        return
    group = ""
    for entry in entries:
        if entry["group"] != group:
            group = entry["group"]
            print(f"\n{group}")
        print(f"  {entry['kind']:22} {entry['text'].splitlines()[0]}")
    print("\n`expectant show NAME` has the options of one")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="The name of a part, such as lookahead.")],
    json: Json = False,
) -> None:
    """One part: what it is, its options, their rules and defaults."""
    with plain_errors():
        from expectant.catalogue import find

        entry = find(name)
    if json:
        print_json(entry)
        return
    print(f'{entry["name"]} ({entry["group"]}; kind = "{entry["kind"]}" in a spec)\n')
    print(entry["text"])
    if entry["options"]:
        print("\noptions")
    for option in entry["options"]:
        default = "required" if option["required"] else f"default {option['default']!r}"
        print(f"  {option['name']:20} {option['rule']} ({default})")


@app.command()
def bench(json: Json = False) -> None:
    """Measure speed against plain NumPy and C, side by side in one run (C needs gcc)."""
    with plain_errors():
        from expectant.bench import run_benchmarks

        status = run_benchmarks(json)
    raise typer.Exit(status)


def main() -> None:
    """Entry point of the ``expectant`` command."""
    app()
