"""What kind of results a folder has: it says so itself. One of an earlier layout is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote

from expectant.extras import need
from expectant.files import write_text
from expectant.lab.store.cell_tables import CELLS
from expectant.lab.store.results import CURVES, read_facts

KIND = "folder.json"
SPEC = "spec.toml"
RUN, SWEEP, STUDY, TRY = "run", "sweep", "study", "try"
COMMANDS = {RUN: "run", SWEEP: "run", STUDY: "reproduce", TRY: "try"}


def mark(folder: Path, kind: str) -> None:
    """Have a folder say what kind of results it has."""
    if _marked(folder) != kind:
        write_text(folder / KIND, json.dumps({"kind": kind}) + "\n")


def kind_of(folder: Path) -> str:
    """What kind of results a folder has, "" if none; those of an earlier layout are an error."""
    check_layout(folder)
    return _marked(folder) or _kind_by_files(folder)


def need_kind(folder: Path, *wanted: str) -> str:
    """What kind of results a folder has, or an error that it has none of those ``wanted``."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; `reproduce` and `run` write one")
    kind = kind_of(folder)
    if not kind:
        raise ValueError(f"{folder}: is no folder of results; `reproduce` and `run` write one")
    if kind not in wanted:
        raise ValueError(f"{folder}: {about(folder)}")
    return kind


def about(folder: Path) -> str:
    """What to do with a folder of results that was given for something else, in words."""
    kind, name = kind_of(folder), quote(str(folder))
    made = f"has results of `expectant {COMMANDS[kind]}`: "
    goes_on = f"`expectant run {name}/{SPEC} --out {name}` goes on with it"
    page = f"`expectant report {name}` writes its page again"
    if kind == TRY:
        spec = (folder / SPEC).exists()
        return made + (f"`expectant run {name}/{SPEC}` goes on from it" if spec else "a page")
    if kind == STUDY:
        known = read_facts(folder / CURVES)["study"] if (folder / CURVES).exists() else "STUDY"
        goes_on = f"`expectant reproduce {quote(known)} --out {name}` goes on with it"
    return f"{made}{goes_on}, {page}"


def _marked(folder: Path) -> str:
    """The kind that a folder says it has; nothing in folders that were written before they did."""
    try:
        found = json.loads((folder / KIND).read_text("utf-8"))["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return found if found in tuple(COMMANDS) else ""


def _kind_by_files(folder: Path) -> str:
    """The kind of a folder that does not say it."""
    if (folder / CURVES).exists():
        return STUDY if "study" in read_facts(folder / CURVES) else RUN
    if not (folder / SPEC).exists():
        return ""
    if (folder / CELLS).exists() or (folder / "blocks").is_dir():
        return SWEEP
    return TRY if (folder / "report.html").exists() else ""


def check_layout(folder: Path) -> None:
    """Refuse a folder of an earlier version, whose files would be overwritten by others."""
    if _has_old_curves(folder / CURVES) or _has_old_rows(folder):
        instead = "compute it again with --out elsewhere"
    elif _has_old_cells(folder):
        spec = quote(str(folder / SPEC))
        instead = f"compute it again with `expectant run {spec} --out` and another folder"
    else:
        return
    raise ValueError(
        f"{folder}: was written by an earlier version, in another layout; nothing in it was "
        f"changed: move it away, or {instead}"
    )


def _has_old_curves(path: Path) -> bool:
    """Curves that do not say what they are of; damaged ones may be ours, and are written anew."""
    try:
        return path.exists() and not {"study", "spec"} & set(read_facts(path))
    except ValueError:
        return False


def _has_old_rows(folder: Path) -> bool:
    """Rows of the adaptation test, a file each, where there are curves now."""
    return not (folder / CURVES).exists() and any((folder / "rows").glob("*.json"))


def _has_old_cells(folder: Path) -> bool:
    """A sweep's table whose cells do not say what they are called in the spec."""
    if (folder / CURVES).exists() or not (folder / CELLS).exists():
        return False
    need("a folder of results", "lab")
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        return "base_agent" not in parquet.read_schema(folder / CELLS).names
    except (OSError, arrow.ArrowException):  # damaged ones may be ours, too
        return False
