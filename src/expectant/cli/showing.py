"""Commands that show what there is: results, parts, speed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from expectant.cli.common import (
    Folder,
    Json,
    Threads,
    Trust,
    app,
    plain_errors,
    print_json,
)


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


def _plain(text: str) -> str:
    """A docstring as people read it in a terminal: names in single quotes, without roles."""
    return re.sub(r":\w+:(?=`)", "", text).replace("``", "`")


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
        print(f"  {entry['kind']:22} {_plain(entry['text']).splitlines()[0]}{short}")
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
        from expectant.catalogue import find_entry
        from expectant.descriptions import default_in_words

        try:
            entry = find_entry(name)
        except ValueError:
            if Path(name).is_dir():
                from expectant.lab.study import spec_at

                spec_at(name)  # says what a folder is for
            raise
    if json:
        print_json(entry)
        return
    print(f'{entry["name"]} ({entry["group"]}; kind = "{entry["kind"]}" in a spec)\n')
    print(_plain(entry["text"]))
    if entry["options"]:
        print("\noptions")
    for option in entry["options"]:
        default = default_in_words(option)
        print(f"  {option['name']:20} {_plain(option['meaning'])}")
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
