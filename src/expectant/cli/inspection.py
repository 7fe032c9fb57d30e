"""Commands that show what there is: components and studies, one of them, speed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from expectant.cli.common import INSPECT, Json, Trust, app, plain_errors, print_json


def _plain(text: str) -> str:
    """A docstring as people read it in a terminal: names in single quotes, without roles."""
    return re.sub(r":\w+:(?=`)", "", text).replace("``", "`")


@app.command("list", rich_help_panel=INSPECT)
def list_components(json: Json = False) -> None:
    """List all components (domains, features, models, backups, agents, …) and studies."""
    from expectant.catalogue import catalogue, study_entries

    entries = [*catalogue(), *study_entries()]
    if json:
        print_json(entries)
        return
    group = ""
    for entry in entries:
        if entry["group"] != group:
            group = entry["group"]
            print(f"\n{group}")
        short = f' (agents: "{entry["short"]}")' if entry.get("short") else ""
        print(f"  {entry['kind']:24} {_plain(entry['text']).splitlines()[0]}{short}")
    print("\n`expectant show NAME` has the options of one, `expectant reproduce NAME` runs a study")


@app.command(rich_help_panel=INSPECT)
def show(
    name: Annotated[
        str, typer.Argument(help="A component such as lookahead, a study, or a spec: FILE.toml.")
    ],
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Show a component with its options, rules and defaults; a study; or what a spec asks for."""
    with plain_errors():
        if name.endswith(".toml"):
            from expectant.lab.specs.spec import read_config
            from expectant.lab.sweep_command import preview, preview_text

            found = preview(read_config(Path(name), trust=trust))
            print_json(found) if json else print(preview_text(found))
            return
        from expectant.catalogue import find_entry

        try:
            entry = find_entry(name)
        except ValueError:
            if Path(name).is_dir():
                from expectant.lab.study import spec_at

                spec_at(name)  # raises an error that says what a folder is for
            raise
    print_json(entry) if json else _print_entry(entry)


def _print_entry(entry: dict[str, Any]) -> None:
    from expectant.descriptions import default_in_words

    if entry["group"] == "studies":
        print(f"{entry['name']} (study): {entry['text']}")
        print("\n".join(filter(None, (entry.get("source"), entry.get("link")))))
        print(f"{entry.get('claims')} claims; figures: {', '.join(entry.get('figures', ()))}")
        return
    print(f'{entry["name"]} ({entry["group"]}; kind = "{entry["kind"]}" in a spec)\n')
    print(_plain(entry["text"]))
    if entry["options"]:
        print("\noptions")
    for option in entry["options"]:
        print(f"  {option['name']:20} {_plain(option['meaning'])}")
        print(f"  {'':20} {option['rule']} ({default_in_words(option)})")


@app.command(rich_help_panel=INSPECT)
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
