"""Commands that inspect: components and studies, one of them, speed."""

from __future__ import annotations

import importlib.util
import itertools
import re
import shutil
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from expectant.cli.common import Json, Trust, command, plain_errors, print_json

MOST_INDENT = 26  # columns of a parameter and its default, left of its meaning


def _print_column(left: str, text: str, indent: int) -> None:
    """Print text wrapped to the terminal beside ``left``, or below it where that is too long."""
    first, *rest = textwrap.wrap(_plain(text), max(_width() - indent, 40)) or [""]
    if len(left) + 2 > indent:
        print(left)
        left = ""
    print(f"{left:{indent}}{first}")
    for line in rest:
        print(" " * indent + line)


def _width() -> int:
    return shutil.get_terminal_size((100, 50)).columns


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
            suffix = f" ({', '.join(filter(None, names))})" if any(names) else ""
            _print_column(f"  {entry['kind']}", entry["text"].splitlines()[0] + suffix, 27)
    print('\n"name": in the parameters of agents. `expectant show NAME` lists the parameters of')
    print("a component, `expectant reproduce NAME` runs a study.")


@command("Inspect")
def show(
    name: Annotated[
        str, typer.Argument(help='A component ("Algorithm 1"), a study, or a config: FILE.toml.')
    ],
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Show a component with its parameters and defaults, a study, or the trials of a config."""
    with plain_errors():
        if name.endswith(".toml"):
            from expectant.experiments.config_file import read_config
            from expectant.experiments.sweep import preview

            experiment = read_config(Path(name), trust=trust)
            counts = preview(experiment)
            if json:
                print_json(counts)
            else:
                counts["ids"] = f"{counts['ids'][0]} …"
                print(*(f"{name}: {value}" for name, value in counts.items()), sep="\n")
            return
        from expectant.cli.catalogue import find_entry

        entry = find_entry(name)
    print_json(entry) if json else _print_entry(entry)


def _print_entry(entry: dict[str, Any]) -> None:
    if entry["group"] == "studies":
        print(f"{entry['name']} (study): {entry['text']}")
        print("\n".join(filter(None, (entry.get("source"), entry.get("link")))))
        print(f"{entry.get('claims')} claims; figures: {', '.join(entry.get('figures', ()))}")
        return
    print(f'{entry["title"]}, {entry["group"]}; kind = "{entry["kind"]}" in a config file\n')
    for paragraph in _plain(entry["text"]).split("\n\n"):
        is_prose = not paragraph.startswith((" ", ">>>", "|"))
        print(textwrap.fill(paragraph, _width()) if is_prose else paragraph, end="\n\n")
    names = [
        f"  {field['name']}={'…' if field['required'] else repr(field['default'])}"
        for field in entry["parameters"]
    ]
    if names:
        print("parameters")
    indent = min(max(map(len, names), default=0), MOST_INDENT) + 2
    for name, field in zip(names, entry["parameters"], strict=True):
        rule = field["rule"].replace("' or '", "', '")
        allowed = "" if rule == "True or False" else f" ({rule})"
        _print_column(name, field["meaning"] + allowed, indent)


@command("Inspect")
def bench(
    rows: Annotated[
        list[str] | None,
        typer.Argument(metavar="ROW", help="Rows to measure, such as options (default all)."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure speed against plain NumPy and C, side by side in one run (C needs gcc)."""
    with plain_errors("gym"):
        status = _benchmarks().main(json, rows or ())
    raise typer.Exit(status)


def _benchmarks() -> Any:
    """Import benchmarks/speed.py, which wheels contain and checkouts have at their root."""
    package = Path(__file__).parents[1]
    folders = package / "benchmarks", package.parents[1] / "benchmarks"
    path = next((folder / "speed.py" for folder in folders if folder.is_dir()), None)
    spec = path and importlib.util.spec_from_file_location("expectant_benchmarks", path)
    if not spec or not spec.loader:
        raise FileNotFoundError("the benchmarks are not installed; run them from a source checkout")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
