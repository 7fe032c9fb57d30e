"""The command line. Exit status: 0 done, 1 something in it failed, 2 bad input."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from expectant.extras import MissingExtra, need
from expectant.rules import Rule, whole
from expectant.seeds import SEED

app = typer.Typer(
    help="Planning with expectation models for control: reproduce the paper, run your own "
    "experiments, measure speed. Start with: expectant reproduce --quick",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def obeys(rule: Rule) -> Callable[[int | None], int | None]:
    """A check of an option that names the value and the rule."""

    def check(value: int | None) -> int | None:
        try:
            return value if value is None else rule.convert(value)
        except ValueError as error:
            raise typer.BadParameter(rule.broken(value, error)) from None

    return check


def at_least(low: int) -> Callable[[int | None], int | None]:
    """The same for a whole number."""
    return obeys(whole(low))


def _print_version(wanted: bool) -> None:
    if wanted:
        from expectant import __version__

        print(f"expectant {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="The version, and nothing else.",
        ),
    ] = False,
) -> None:
    """What comes before a command."""


Out = Annotated[Path, typer.Option(help="Folder for the results; what is there is gone on with.")]
Seed = Annotated[int, typer.Option(callback=obeys(SEED), help="Seed of all runs.")]
Runs = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1), help="Runs of every agent, instead of as many as the paper."
    ),
]
JOINT_RUNS = 100
Threads = Annotated[
    int | None, typer.Option(callback=at_least(1), help="Threads; one per core if not given.")
]
Json = Annotated[bool, typer.Option("--json", help="Print data for programs on standard output.")]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Import and run the modules of somebody's own that it names."),
]
Folder = Annotated[
    Path, typer.Argument(help="A folder that `reproduce`, `run` or `sweep` has written.")
]


def fail(message: object, status: int) -> typer.Exit:
    """Say what is wrong on standard error, and leave with a status."""
    print(f"expectant: {message}", file=sys.stderr)
    return typer.Exit(status)


@contextmanager
def plain_errors(*extras: str) -> Iterator[None]:
    """Turn the mistakes that users can make into one line and the right exit status.

    The extras that the command will need are looked for first, before anything is computed.
    """
    try:
        need("this command", *extras)
        yield
    except (ValueError, FileNotFoundError, MissingExtra) as error:
        raise fail(error, 2) from None
    except OSError as error:
        raise fail(error, 1) from None
    except MemoryError as error:
        raise fail(f"not enough memory: {error}", 1) from None
    except KeyboardInterrupt:
        raise fail("interrupted; the same command goes on where it stopped", 1) from None


@contextmanager
def failures() -> Iterator[None]:
    """A cell that cannot be computed is a line and a status, not a traceback."""
    from expectant.lab.engines.compute import CellError

    try:
        yield
    except CellError as error:
        raise fail(error, 1) from None


def print_json(data: Any) -> None:
    print(json_format.dumps(data, indent=2, ensure_ascii=False, default=str))


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
        int | None, typer.Option(callback=at_least(0), help="Seed of all runs; the study's own.")
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
        from expectant.lab.joint import of_figure_5, search
        from expectant.lab.study import the_paper
        from expectant.lab.together import HEAD, answer, answer_rows

        joint = of_figure_5(the_paper(), runs, seed)
        found = answer(search(joint, out, combinations, threads), joint.published)
        text = json_format.dumps(found, indent=2, ensure_ascii=False)
        write_text(out / "joint.json", text)
    if json:
        print(text)
        return
    from expectant.show.page_tables import plain_table, show

    title = f"{found['combinations']:,} combinations of readings, {found['runs']} runs of each"
    show(plain_table(title, HEAD, answer_rows(found)))
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
def run(
    spec: Annotated[
        str, typer.Argument(help="An experiment as TOML, or the name of a study with one spec.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; results/NAME if not given.")
    ] = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Run one experiment from a TOML file: curves, a table, figures and a page."""
    with plain_errors("lab", "show"), failures():
        from expectant.lab.specs.spec import read_spec, read_text
        from expectant.lab.study import spec_at

        path = spec_at(spec)
        experiment = read_spec(path, trust=True)
        folder = out or Path("results") / experiment.name
        from expectant.lab.writeup import run_experiment

        panels = run_experiment(experiment, read_text(path), folder, threads)
    from expectant.lab.writeup import summary, times
    from expectant.show.page_tables import curve_table, show

    if json:
        print_json(summary(panels, times(experiment, folder)))
        return
    show(curve_table(panels, times(experiment, folder)))
    print(f"report: {folder / 'report.html'}")


@app.command()
def sweep(
    spec: Annotated[
        str, typer.Argument(help="A sweep as TOML, an experiment with a grid; or a study's name.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; results/NAME if not given.")
    ] = None,
    threads: Threads = None,
    engine: Annotated[str, typer.Option(help="threads, or ray for a cluster.")] = "threads",
    address: Annotated[
        str | None, typer.Option(help="The Ray cluster, such as auto; a local one if not given.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(help="One part only, for job arrays: 3/100 is the third of 100.")
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="optuna: try promising settings instead of the whole grid.")
    ] = None,
    trials: Annotated[
        int, typer.Option(callback=at_least(1), help="Settings a search tries for every agent.")
    ] = 20,
    json: Json = False,
) -> None:
    """Run every combination that a spec asks for; what is finished already is kept.

    Writes blocks/ (one table of every point of every run), cells.parquet (one row per cell),
    report.html and timings.json. Interrupted or killed, the same command goes on where it was.
    """
    with plain_errors("lab", "show"):
        from expectant.lab.study import spec_at
        from expectant.lab.sweep_command import sweep_file

        outcome = sweep_file(
            spec_at(spec), out, threads=threads, engine=engine, address=address, shard=shard,
            search=search, trials=trials,
        )  # fmt: skip
        page = _sweep_page(outcome.folder) if shard is None else None
    for cell, reason in outcome.failed.items():
        print(f"expectant: failed: {cell}: {reason}", file=sys.stderr)
    if json:
        print_json({**outcome.as_data(), "page": None if page is None else str(page)})
    else:
        print(outcome.text())
        if page is not None:
            print(f"page: {page}")
    raise typer.Exit(1 if outcome.failed else 0)


def _sweep_page(folder: Path) -> Path | None:
    """The page of a sweep, if anything of it is finished."""
    from expectant.lab.choosing.choice_page import report_sweep
    from expectant.lab.choosing.sweep_folder import read_folder

    if not any(len(group.rows) for group in read_folder(folder, trust=True).groups):
        return None
    return report_sweep(folder, trust=True)


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

    The study ``loca`` or some rows of it: writes report.html, figures, curves.parquet and
    loca.json. Interrupted, it goes on where it was.
    """
    if quick and runs is not None:
        raise fail(f"--quick sets the runs, it cannot be combined with --runs {runs}", 2)
    with plain_errors("lab", "show"):
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


@app.command()
def watch(
    domain: Annotated[
        str,
        typer.Option(
            help="corridor, loca_grid, mountain_car, loca_mountain_car, or a spec: FILE.toml."
        ),
    ] = "corridor",
    agent: Annotated[
        str | None,
        typer.Option(help="Such as q_learning; lookahead, or a spec's first, if not given."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The file to write: .gif, .mp4 (with ffmpeg) or .html.")
    ] = Path("results/watch.gif"),
    page: Annotated[
        bool, typer.Option("--page", help="Also write a page with a player beside it.")
    ] = False,
    frames: Annotated[int, typer.Option(callback=at_least(2), help="Frames, at most.")] = 80,
    episodes: Annotated[
        int | None, typer.Option(callback=at_least(1), help="Instead of as long as usual.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(callback=at_least(1), help="The same, counted in steps.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Watch an agent learn: values, policy and model over the states, as an animation."""
    with plain_errors("show"):
        from expectant.watching.animate import watch as animate
        from expectant.watching.presets import scene

        found = scene(domain, agent)
        if episodes is None and steps is None:
            episodes, steps = found.episodes, found.steps
        try:
            paths = animate(
                found.domain, found.features, found.agent, out, episodes=episodes, steps=steps,
                frames=frames, seed=seed, step_limit=found.step_limit, page=page,
            )  # fmt: skip
        except KeyboardInterrupt:
            raise fail("interrupted", 1) from None
    for path in paths:
        print(path)


@app.command()
def best(
    folder: Annotated[Path, typer.Argument(help="A folder that `sweep` has written.")],
    measure: Annotated[
        str, typer.Option(help="What to choose by, a measure: mean, final, after-switch, drop, …")
    ] = "mean",
    confirm: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="Compute so many fresh runs of the best, and report those.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write best.json and figures; the folder itself.")
    ] = None,
    threads: Threads = None,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Choose the best setting of every agent: picked by some runs, reported by others.

    Without --confirm the first half of the runs picks and the second half reports. Writes
    best.json, sensitivity-*.png and heat-*.png, both also as .svg.
    """
    with plain_errors("lab", "show"), failures():
        from expectant.lab.choosing.best_command import best as choose
        from expectant.lab.choosing.choice_table import best_text

        found = choose(
            folder, measure=measure, confirm=confirm, out=out, threads=threads, trust=trust
        )
    if json:
        print_json(found.as_data())
        return
    from expectant.show.page_tables import show

    table, notes = best_text(found)
    show(table)
    for line in [*notes, *found.paths]:
        print(line)


def _above_zero(value: float) -> float:
    from expectant.lab.trying.try_on import MINUTES

    return obeys(MINUTES)(value)  # type: ignore[arg-type, return-value]


@app.command("try")
def try_agents(
    environment: Annotated[
        str,
        typer.Argument(metavar="ENV", help="An id of Gymnasium, or module:Class of your own."),
    ],
    minutes: Annotated[
        float, typer.Option(callback=_above_zero, help="How long it may take, compiling included.")
    ] = 5.0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page and the spec; results/try/ENV.")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Does anything learn in an environment, does planning pay there, and with which settings?"""
    with plain_errors("gym", "lab", "show"):
        from expectant.lab.trying.try_on import try_on

        folder = out or Path("results", "try", environment.replace(":", "-").replace("/", "-"))
        found = try_on(environment, minutes, folder=folder, seed=seed, threads=threads, quiet=json)
    if json:
        print_json(found.as_data())
    else:
        print(found)


@app.command()
def plot(folder: Folder, trust: Trust = False) -> None:
    """Draw the figures of a results folder again."""
    with plain_errors("lab", "show"):
        from expectant.lab.writeup import draw_again

        for path in draw_again(folder, trust=trust):
            print(path)


@app.command()
def report(folder: Folder, trust: Trust = False) -> None:
    """Write the page of a results folder again."""
    with plain_errors("lab", "show"):
        from expectant.lab.writeup import report_again

        print(report_again(folder, trust=trust))


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
        short = f' (agents: "{entry["short"]}")' if entry["short"] else ""
        print(f"  {entry['kind']:22} {entry['text'].splitlines()[0]}{short}")
    print("\n`expectant show NAME` has the options of one")


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(help="The name of a part, such as lookahead, or a spec: FILE.toml.")
    ],
    threads: Threads = None,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """One part: what it is, its options, their rules and defaults. Or what a spec asks for."""
    with plain_errors():
        if name.endswith(".toml"):
            from expectant.lab.sweep_command import show_file

            found = show_file(Path(name), threads, trust)
            print_json(found.as_data()) if json else print(found.text())
            return
        from expectant.catalogue import find
        from expectant.descriptions import default_in_words

        entry = find(name)
    if json:
        print_json(entry)
        return
    print(f'{entry["name"]} ({entry["group"]}; kind = "{entry["kind"]}" in a spec)\n')
    print(entry["text"])
    if entry["options"]:
        print("\noptions")
    for option in entry["options"]:
        default = default_in_words(option)
        print(f"  {option['name']:20} {option['meaning']}")
        print(f"  {'':20} {option['rule']} ({default})")


@app.command()
def bench(
    rows: Annotated[
        list[str] | None,
        typer.Argument(metavar="ROW", help="Which rows to measure, such as options (default all)."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure speed against plain NumPy and C, side by side in one run (C needs gcc)."""
    with plain_errors("gym"):
        from expectant.bench import run_benchmarks

        status = run_benchmarks(json, rows or ())
    raise typer.Exit(status)


def main() -> None:
    """Entry point of the ``expectant`` command."""
    app()
