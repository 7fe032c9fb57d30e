"""Commands for an environment: test whether planning pays off, animate learning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from expectant.cli.common import (
    Json,
    Seed,
    Threads,
    command,
    number_option,
    plain_errors,
    print_json,
)
from expectant.core.rules import at_least, whole


@command("Your environment", "try")
def try_agents(
    environment: Annotated[
        str, typer.Argument(metavar="ENV", help="A Gymnasium id, or module:Class of your own.")
    ],
    minutes: Annotated[
        float, number_option("--minutes", at_least(0.01), "Time limit, compiling included.")
    ] = 5.0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for page and config file; results/try/ENV.")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Find out which agents learn in an environment, with which parameters, and if planning pays.

    Writes report.html and a config file for `expectant run`.
    """
    with plain_errors("gym", "experiments", "optuna", "report"):
        from expectant.experiments.try_environment import folder_name, quick_check

        folder = out or Path("results", "try", folder_name(environment))
        check = quick_check(
            environment, minutes, folder=folder, seed=seed, threads=threads, quiet=json
        )
    print_json(check.as_data()) if json else print(check)


@command("Your environment")
def watch(
    domain: Annotated[str, typer.Option(help="A domain of `expectant list`.")] = "corridor",
    agent: Annotated[str, typer.Option(help="An agent of `expectant list`.")] = "lookahead",
    out: Annotated[Path, typer.Option(help="The .gif to write.")] = Path("results/watch.gif"),
    frames: Annotated[int, number_option("--frames", whole(2), "Most frames.")] = 80,
    episodes: Annotated[
        int | None, number_option("--episodes", whole(1), "Length in episodes.")
    ] = None,
    steps: Annotated[int | None, number_option("--steps", whole(1), "Length in steps.")] = None,
    seed: Seed = 0,
) -> None:
    """Animate learning: values and greedy actions over the states."""
    with plain_errors("report"):
        import expectant as ex

        moves_goal = {"switch_every": 500} if domain == "corridor" else {}
        world = ex.Domain.from_dict({"kind": domain, **moves_goal})
        features = ex.Tiles(8, 8) if world.states is None else ex.OneHot()
        if episodes is None and steps is None:
            steps = sum(world.phase_steps) or None
            episodes = None if steps else 1500 if domain == "corridor" else 150
        learner = ex.Agent.from_dict({"kind": agent})
        ex.watch(
            world, features, learner, out, episodes=episodes, steps=steps, frames=frames, seed=seed
        )
    print(out)
