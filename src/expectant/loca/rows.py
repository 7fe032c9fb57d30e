"""Finished rows of the test on disk, so that an interrupted test goes on where it was.

A row's file says which row it is, and holds a hash of its contents. One that was damaged, or that
goes by the name of another, is computed again; one that cannot be read is left alone.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.domains.loca_grid import LocaGrid
from expectant.engine.asking import ask
from expectant.engine.identity.fingerprint import fingerprint, part_types
from expectant.engine.loop import simulate
from expectant.files import write_text
from expectant.lab.store.sealed_tables import read_whole
from expectant.lab.store.sealing import opened_text, sealed_text
from expectant.loca.cases import Case
from expectant.loca.protocol import course, job_of, measured_run


class Row(NamedTuple):
    """The measures (runs, M) of one case."""

    case: Case
    measures: np.ndarray


def row_path(folder: Path, case: Case, domain: LocaGrid, seed: int, runs: int) -> Path:
    """Where a row is kept; the name holds a hash of all that decides its numbers."""
    prepared, _ = job_of(domain, case.description, seed).prepare(0)
    types = part_types(prepared)
    code = [fingerprint(entry, types).name for entry in (simulate, ask, measured_run)]
    described = [domain.to_dict(), case.description.to_dict(), seed, runs, *code]
    name = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]
    return folder / "rows" / f"{case.agent}-{case.backups}-{name}.json"


def load_row(path: Path, case: Case, domain: LocaGrid, seed: int, runs: int) -> Row | None:
    """A finished row; None if it is not there, not whole, or another one."""
    try:
        kept = opened_text(read_whole(path).decode())
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    wanted = json.loads(json.dumps(_identity(path, case, domain, seed)))
    if kept is None or any(kept.get(key) != value for key, value in wanted.items()):
        return None
    try:
        measures = np.array([[np.nan if x is None else x for x in run] for run in kept["measures"]])
    except (KeyError, TypeError, ValueError):
        return None
    return Row(case, measures) if measures.shape == (runs, course(domain).steps.size) else None


def save_row(path: Path, row: Row, domain: LocaGrid, seed: int) -> None:
    """Write a row in one piece."""
    measures = [[x if np.isfinite(x) else None for x in run] for run in row.measures.tolist()]
    content = {**_identity(path, row.case, domain, seed), "measures": measures}
    write_text(path, sealed_text(content))


def _identity(path: Path, case: Case, domain: LocaGrid, seed: int) -> dict[str, Any]:
    """What a file says about the row in it."""
    return {
        "name": path.stem,
        "agent": case.agent,
        "backups": case.backups,
        "settings": case.description.to_dict(),
        "domain": domain.to_dict(),
        "seed": seed,
        "steps": course(domain).steps.tolist(),
    }
