"""Finished rows of the test on disk, so that an interrupted test goes on where it was."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.domains.loca_grid import LocaGrid
from expectant.files import write_text
from expectant.loca.cases import Case
from expectant.loca.protocol import course, job_of, measured_run, preferences
from expectant.running.fingerprint import fingerprint, part_types
from expectant.running.loop import simulate


class Row(NamedTuple):
    """The measures (runs, M) of one case."""

    case: Case
    measures: np.ndarray


def row_path(folder: Path, case: Case, domain: LocaGrid, seed: int, runs: int) -> Path:
    """Where a row is kept; the name holds a hash of all that decides its numbers."""
    prepared, _ = job_of(domain, case.description, seed).prepare(0)
    types = part_types(prepared)
    code = [fingerprint(entry, types).name for entry in (simulate, preferences, measured_run)]
    described = [domain.to_dict(), case.description.to_dict(), seed, runs, *code]
    name = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]
    return folder / "rows" / f"{case.agent}-{case.backups}-{name}.json"


def load_row(path: Path, case: Case, domain: LocaGrid, runs: int) -> Row | None:
    """A finished row; None if it is not there, or not whole."""
    try:
        kept = json.loads(path.read_text())["measures"]
        measures = np.array([[np.nan if x is None else x for x in run] for run in kept])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Row(case, measures) if measures.shape == (runs, course(domain).steps.size) else None


def save_row(path: Path, row: Row, domain: LocaGrid, seed: int) -> None:
    """Write a row in one piece."""
    content: dict[str, Any] = {
        "agent": row.case.agent,
        "backups": row.case.backups,
        "settings": row.case.description.to_dict(),
        "domain": domain.to_dict(),
        "seed": seed,
        "steps": course(domain).steps.tolist(),
        "measures": [[x if np.isfinite(x) else None for x in run] for run in row.measures.tolist()],
    }
    write_text(path, json.dumps(content))
