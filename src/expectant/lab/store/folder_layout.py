"""Folders of earlier versions, which nobody writes over."""

from __future__ import annotations

from pathlib import Path

from expectant.lab.store.results import CURVES, read_facts


def check_layout(folder: Path) -> None:
    """Refuse a folder of an earlier version, whose files would be overwritten by others."""
    if _has_old_curves(folder / CURVES) or _has_old_rows(folder):
        raise ValueError(
            f"{folder}: was written by an earlier version, in another layout; nothing in it was "
            "changed: move it away, or compute it again with --out elsewhere"
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
