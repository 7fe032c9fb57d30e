"""Commands that show what there is: components and studies, one of them, speed."""

from __future__ import annotations

import itertools
import re
import shutil
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from expectant.cli.common import Json, Trust, command, plain_errors, print_json

MOST_INDENT = 26  # letters of a parameter and its default, beside which its meaning stands


def _plain(text: str) -> str:
    """Return a docstring for a terminal: names in single quotes, without roles."""
    return re.sub(r":\w+:(?=`)", "", text).replace("``", "`")


@command("Inspect", "list")
def list_components(json: Json = False) -> None:
    """List all components (domains, features, models, backups, agents, …) and studies."""
    from expectant.cli.catalogue import catalogue, study_entries

    entries = [*catalogue(), *study_entries()]
    if json:
        print_json(entries)
        return
    for group, members in itertools.groupby(entries, key=lambda entry: entry["group"]):
        print(f"\n{group}")
        for entry in members:
            names = [entry.get("algorithm"), f'"{entry["short"]}"' if entry.get("short") else ""]
            more = f" ({', '.join(filter(None, names))})" if any(names) else ""
            print(f"  {entry['kind']:24} {_plain(entry['text']).splitlines()[0]}{more}")
    print('\n"name": in the arguments of agents. `expectant show NAME` has the parameters of one,')
    print("`expectant reproduce NAME` runs a study.")


@command("Inspect")
def show(
    name: Annotated[
        str, typer.Argument(help="A component such as lookahead, a study, or a spec: FILE.toml.")
    ],
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Show a component with its parameters and defaults, a study, or the trials of a spec."""
    with plain_errors():
        if name.endswith(".toml"):
            from expectant.experiments.config_file import read_config
            from expectant.experiments.sweep_command import preview, preview_text

            found = preview(read_config(Path(name), trust=trust))
            print_json(found) if json else print(preview_text(found))
            return
        from expectant.cli.catalogue import find_entry

        try:
            entry = find_entry(name)
        except ValueError:
            if Path(name).is_dir():
                from expectant.experiments.study import spec_at

                spec_at(name)  # raises an error that says what a folder is for
            raise
    print_json(entry) if json else _print_entry(entry)


def _print_entry(entry: dict[str, Any]) -> None:
    if entry["group"] == "studies":
        print(f"{entry['name']} (study): {entry['text']}")
        print("\n".join(filter(None, (entry.get("source"), entry.get("link")))))
        print(f"{entry.get('claims')} claims; figures: {', '.join(entry.get('figures', ()))}")
        return
    print(f'{entry["title"]}, {entry["group"]}; kind = "{entry["kind"]}" in a spec\n')
    print(_plain(entry["text"]))
    if entry["options"]:
        print("\nparameters")
    names = [
        f"{option['name']}={'…' if option['required'] else repr(option['default'])}"
        for option in entry["options"]
    ]
    indent = min(max(map(len, names), default=0), MOST_INDENT) + 4
    width = max(shutil.get_terminal_size((110, 50)).columns - indent, 40)
    for name, option in zip(names, entry["options"], strict=True):
        rule = _plain(option["rule"]).replace("' or '", "', '")
        allowed = "" if rule == "True or False" else f" ({rule})"
        meaning = _plain(option["meaning"]) + allowed
        first, *rest = textwrap.wrap(meaning, width)
        separate = len(name) > indent - 4
        print(f"  {name}" if separate else f"  {name:{indent - 2}}{first}")
        for line in [first, *rest] if separate else rest:
            print(" " * indent + line)


@command("Inspect")
def bench(
    rows: Annotated[
        list[str] | None,
        typer.Argument(metavar="ROW", help="Which rows to measure, such as options (default all)."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure speed against plain NumPy and C, side by side in one run (C needs gcc)."""
    with plain_errors("gym"):
        from expectant.cli.bench import run_benchmarks

        status = run_benchmarks(json, rows or ())
    raise typer.Exit(status)
