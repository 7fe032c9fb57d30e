"""Commands that run experiments of one's own: one, a sweep, an animation, a first try."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from expectant.cli.common import (
    Json,
    NewFolder,
    Seed,
    Threads,
    Trust,
    app,
    fail,
    failures,
    obeys,
    plain_errors,
    print_json,
    whole_from,
)


@app.command()
def run(
    spec: Annotated[
        str, typer.Argument(help="An experiment as TOML, or the name of a study with one spec.")
    ],
    out: NewFolder = None,
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
    from expectant.lab.store.troubles import tell_troubles, troubles_of
    from expectant.lab.writeup import summary, times
    from expectant.show.page_tables import curve_table, print_table

    troubles = troubles_of(folder)
    tell_troubles(troubles)
    if json:
        print_json(summary(panels, times(experiment, folder), troubles))
        return
    evicted = {(found.panel, found.agent): found.evicted for found in troubles}
    print_table(curve_table(panels, times(experiment, folder), evicted))
    print(f"report: {folder / 'report.html'}")


@app.command()
def sweep(
    spec: Annotated[
        str, typer.Argument(help="A sweep as TOML, an experiment with a grid; or a study's name.")
    ],
    out: NewFolder = None,
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
        int, typer.Option(callback=whole_from(1), help="Settings a search tries for every agent.")
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
        from expectant.lab.store.troubles import tell_troubles
    for cell, reason in outcome.failed.items():
        print(f"expectant: failed: {cell}: {reason}", file=sys.stderr)
    tell_troubles(outcome.troubles)
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
def watch(
    domain: Annotated[
        str,
        typer.Option(
            help="corridor, dyna_maze, loca_grid, mountain_car, loca_mountain_car, or a spec: "
            "FILE.toml."
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
    frames: Annotated[int, typer.Option(callback=whole_from(2), help="Frames, at most.")] = 80,
    episodes: Annotated[
        int | None, typer.Option(callback=whole_from(1), help="Instead of as long as usual.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(callback=whole_from(1), help="The same, counted in steps.")
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
            callback=whole_from(1),
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
    from expectant.show.page_tables import print_table

    table, notes = best_text(found)
    print_table(table)
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
    with plain_errors("gym", "lab", "optuna", "show"):
        from expectant.lab.trying.try_on import try_on

        folder = out or Path("results", "try", environment.replace(":", "-").replace("/", "-"))
        found = try_on(environment, minutes, folder=folder, seed=seed, threads=threads, quiet=json)
    if json:
        print_json(found.as_data())
    else:
        print(found)
