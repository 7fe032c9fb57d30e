"""The kind and layout of a results folder, which it says itself in ``folder.json``."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import Any

from expectant.files import write_text

KIND = "folder.json"
SPEC = "spec.toml"
LAYOUT = 2  # of the files in a folder; folders of another one are left alone
RESULTS = (KIND, "blocks", "cells.parquet", "curves.parquet", "rows")
RUN, SWEEP, STUDY, TRY = "run", "sweep", "study", "try"
COMMANDS = {RUN: "run", SWEEP: "run", STUDY: "reproduce", TRY: "try"}


def mark(folder: Path, kind: str = "") -> None:
    """Have a folder say what kind of results it has; without one, leave what it says."""
    marked = _read_mark(folder)
    if not marked or (kind and marked.get("kind") != kind):
        write_text(folder / KIND, json.dumps({"kind": kind, "layout": LAYOUT}) + "\n")


def check_layout(folder: Path) -> None:
    """Refuse a folder of an earlier version, before anything in it is changed."""
    has_results = any((folder / name).exists() for name in RESULTS)
    if has_results and _read_mark(folder).get("layout") != LAYOUT:
        raise ValueError(
            f"{folder}: was written by another version of expectant; nothing in it was changed: "
            "move it away, or give another folder with --out"
        )


def kind_of(folder: Path) -> str:
    """The kind of results in a folder, "" if none; those of an earlier layout are an error."""
    check_layout(folder)
    kind = _read_mark(folder).get("kind")
    return kind if isinstance(kind, str) and kind in COMMANDS else ""


def need_kind(folder: Path, *wanted: str) -> str:
    """The kind of results in a folder, or an error that it has none of those ``wanted``."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; `reproduce` and `run` write one")
    kind = kind_of(folder)
    if not kind:
        raise ValueError(f"{folder}: is no folder of results; `reproduce` and `run` write one")
    if kind not in wanted:
        raise ValueError(f"{folder}: {about(folder)}")
    return kind


def about(folder: Path) -> str:
    """Which command made a folder that was given for something else, and which goes on with it."""
    kind, name = kind_of(folder), quote(str(folder))
    goes_on = f"{COMMANDS[kind]} … --out {name}"
    if kind in (RUN, SWEEP, TRY):
        goes_on = f"run {name}/{SPEC}" + f" --out {name}" * (kind != TRY)
    return f"has results of `expectant {COMMANDS[kind]}`; `expectant {goes_on}` goes on with it"


def _read_mark(folder: Path) -> dict[str, Any]:
    try:
        marked = json.loads((folder / KIND).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return marked if isinstance(marked, dict) else {}
