"""What all commands share: options, errors, and the exit status.

0: done, 1: something in it failed, 2: bad input.
"""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from expectant.extras import MissingExtra, need
from expectant.rules import Rule, whole
from expectant.seeds import SEED
from expectant.whose import WorldError


class Commands(TyperGroup):
    """The commands, with better guesses at what a wrong option was meant to be."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            near = getattr(error, "possibilities", None) or []
            typed = getattr(error, "option_name", "")
            begin_so = [option for option in near if option.startswith(typed)]
            if begin_so:
                error.possibilities = begin_so  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    cls=Commands,
    help="Planning with expectation models for control: reproduce the paper, run your own "
    "experiments, measure speed. Start with: expectant reproduce --quick",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def obeys(rule: Rule[int]) -> Callable[[int | None], int | None]:
    """A check of an option that names the value and the rule."""

    def check(value: int | None) -> int | None:
        try:
            return value if value is None else rule.convert(value)
        except ValueError as error:
            raise typer.BadParameter(rule.broken(value, error)) from None

    return check


def whole_from(low: int) -> Callable[[int | None], int | None]:
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
NewFolder = Annotated[
    Path | None, typer.Option(help="Folder for the results; results/NAME if not given.")
]
Seed = Annotated[int, typer.Option(callback=obeys(SEED), help="Seed of all runs.")]
Runs = Annotated[
    int | None,
    typer.Option(
        callback=whole_from(1), help="Runs of every agent, instead of as many as the paper."
    ),
]
Threads = Annotated[
    int | None, typer.Option(callback=whole_from(1), help="Threads; one per core if not given.")
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
    except WorldError as error:
        raise fail(error, 1) from None
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
