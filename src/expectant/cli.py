"""The command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Planning with expectation models for control.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _main() -> None:
    """Planning with expectation models for control."""


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results/paper"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of all runs.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Default: one per core.")] = None,
) -> None:
    """Run Algorithm 1 and Q-learning while the goal moves: a table and a picture."""
    from expectant.reproduce import reproduce as run

    run(out, seed, threads)


@app.command()
def bench(
    json: Annotated[bool, typer.Option("--json", help="Print data instead of tables.")] = False,
) -> None:
    """Measure speed against plain NumPy and C, side by side in one run."""
    from expectant.bench import run_benchmarks

    raise typer.Exit(run_benchmarks(json))


def main() -> None:
    """Entry point of the ``expectant`` command."""
    app()
