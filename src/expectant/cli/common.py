"""Options, errors and exit status that all commands share.

0: done, 1: something in it failed, 2: bad input, nothing written.
"""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from expectant.core.errors import EnvError, MissingExtra, require_extra
from expectant.core.rng import SEED
from expectant.core.rules import Rule, whole

Function = TypeVar("Function", bound=Callable[..., Any])


class PlainFlags:
    """Show no type beside flags in --help."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in params:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return params


class Command(PlainFlags, TyperCommand):
    """A command."""


class Group(PlainFlags, TyperGroup):
    """The ``expectant`` program."""


app = typer.Typer(
    cls=Group,
    help="Planning with expectation models for control: reproduce the paper, run your own "
    "experiments, measure speed. Start with: expectant reproduce --quick",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(group: str, name: str | None = None) -> Callable[[Function], Function]:
    """Add a command to a group of --help."""
    return app.command(name, rich_help_panel=group, cls=Command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from expectant import __version__

        print(f"expectant {__version__}")
        raise typer.Exit


def number_option(name: str, rule: Rule[Any], text: str) -> Any:
    """Return an option for a number, refused in one line if it breaks the rule or is no number."""

    def parse(given: Any) -> Any:
        value = given
        for kind in (int, float) if isinstance(given, str) else ():
            with suppress(ValueError):
                value = kind(given)
                break
        try:
            return rule.convert(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise fail(f"{name}: {rule.violation(value, error)}", 2) from None

    return typer.Option(name, metavar="N", parser=parse, help=text)


Version = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
]
Out = Annotated[
    Path | None, typer.Option(help="Folder for the results, resumed; results/NAME if not given.")
]
Seed = Annotated[int, number_option("--seed", SEED, "Seed of all runs.")]
Threads = Annotated[
    int | None, number_option("--threads", whole(1), "Threads; one per core if not given.")
]
Json = Annotated[bool, typer.Option("--json", help="Print data for programs on standard output.")]
Trust = Annotated[bool, typer.Option("--trust", help="Import and run the modules that it names.")]


@app.callback()
def options(version: Version = False) -> None:
    """Options that come before a command."""


def fail(message: object, status: int) -> typer.Exit:
    """Print an error on standard error; raise the returned exception to exit with a status."""
    print(f"expectant: {message}", file=sys.stderr)
    return typer.Exit(status)


@contextmanager
def plain_errors(*extras: str) -> Iterator[None]:
    """Turn user errors into one line and the right exit status; check ``extras`` first."""
    try:
        require_extra("this command", *extras)
        yield
    except (ValueError, FileNotFoundError, MissingExtra) as error:
        raise fail(error, 1 if isinstance(error, EnvError) else 2) from None
    except OSError as error:
        raise fail(error, 1) from None
    except MemoryError as error:
        raise fail(f"not enough memory: {error}", 1) from None
    except KeyboardInterrupt:
        raise fail("interrupted; finished runs of experiments are kept", 1) from None
    except RuntimeError as error:
        from expectant.experiments.runner import TrialError  # needs an extra

        raise (fail(error, 1) if isinstance(error, TrialError) else error) from None


def print_json(data: Any) -> None:
    """Print data as JSON."""
    print(json_format.dumps(data, indent=2, ensure_ascii=False, default=str))
