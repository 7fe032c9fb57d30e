"""Commands for an environment: is planning worth it there, and an animation of learning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from expectant.cli.common import (
    ENVIRONMENT,
    POSITIVE,
    Json,
    Seed,
    Threads,
    app,
    check,
    fail,
    plain_errors,
    print_json,
)
from expectant.rules import whole


def _check_minutes(value: float) -> Any:
    from expectant.lab.quick_check import MINUTES

    return check(MINUTES)(value)


@app.command("try", rich_help_panel=ENVIRONMENT)
def try_agents(
    environment: Annotated[
        str,
        typer.Argument(metavar="ENV", help="An id of Gymnasium, or module:Class of your own."),
    ],
    minutes: Annotated[
        float,
        typer.Option(callback=_check_minutes, help="How long it may take, compiling included."),
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
        from expectant.lab.quick_check import folder_name, quick_check

        folder = out or Path("results", "try", folder_name(environment))
        found = quick_check(
            environment, minutes, folder=folder, seed=seed, threads=threads, quiet=json
        )
    if json:
        print_json(found.as_data())
    else:
        print(found)


@app.command(rich_help_panel=ENVIRONMENT)
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
    frames: Annotated[int, typer.Option(callback=check(whole(2)), help="Frames, at most.")] = 80,
    episodes: Annotated[
        int | None, typer.Option(callback=POSITIVE, help="Instead of as long as usual.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(callback=POSITIVE, help="The same, counted in steps.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Watch an agent learn: values, policy and model over the states, as an animation."""
    with plain_errors("show"):
        from expectant.watching.animate import watch as animate
        from expectant.watching.presets import find_scene

        found, learner = find_scene(domain, agent)
        if episodes is None and steps is None:
            episodes, steps = found.episodes, found.steps
        try:
            path = animate(
                found.domain, found.features, learner, out, episodes=episodes, steps=steps,
                frames=frames, seed=seed, step_limit=found.step_limit,
            )  # fmt: skip
        except KeyboardInterrupt:
            raise fail("interrupted", 1) from None
    print(path)
