"""Arrays and settings in one file: NumPy's format and JSON, nothing that runs code when read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from expectant.files import write_whole

FORMAT = 1
FACTS = "expectant"  # the entry that holds the settings


def arrays_in(part: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Every array in a part with the names that lead to it; one in two places comes twice."""
    if isinstance(part, np.ndarray):
        yield path, part
    elif isinstance(part, tuple) and hasattr(part, "_fields"):
        for name, item in zip(part._fields, part, strict=True):
            yield from arrays_in(item, f"{path}.{name}" if path else name)


def with_arrays(part: Any, arrays: dict[int, np.ndarray]) -> Any:
    """The same part with its arrays replaced, by their identity."""
    if isinstance(part, np.ndarray):
        return arrays[id(part)]
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        return type(part)(*(with_arrays(item, arrays) for item in part))
    return part


def write(path: Path, facts: dict[str, Any], part: Any) -> None:
    """Write a part's arrays and some facts; the file appears whole or not at all."""
    saved: dict[str, np.ndarray] = {}
    known: set[int] = set()
    for name, array in arrays_in(part):
        if id(array) not in known:
            saved[name] = array
            known.add(id(array))
    text = json.dumps({"format": FORMAT, **facts}).encode()
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(
            f"{path}: " + ("is a folder" if path.is_dir() else "its folder does not exist")
        )
    saved[FACTS] = np.frombuffer(text, np.uint8)
    write_whole(path, lambda file: np.savez_compressed(file, **saved))  # type: ignore[arg-type]


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The facts and the arrays of a file; an error that says why if it is none of ours."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as entries:
            arrays = {name: entries[name] for name in entries.files}
        facts = json.loads(arrays.pop(FACTS).tobytes())
        written = facts["format"]
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise ValueError(f"{path}: is a folder, not a saved learner") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path}: is not a saved learner, or not all of one") from None
    if written != FORMAT:
        raise ValueError(f"{path}: has format {written!r}, this version reads format {FORMAT}")
    return facts, arrays


def restored(part: Any, arrays: dict[str, np.ndarray], path: Path) -> Any:
    """A freshly built part with the arrays of a file in place of its own."""
    loaded: dict[int, np.ndarray] = {}
    for name, array in arrays_in(part):
        if id(array) in loaded:
            continue
        found = arrays.get(name)
        if found is None or found.dtype != array.dtype or found.ndim != array.ndim:
            what = "is missing" if found is None else f"is {found.dtype} in {found.ndim} dimensions"
            raise ValueError(f"{path}: does not fit its own settings: the array {name} {what}")
        loaded[id(array)] = found
    return with_arrays(part, loaded)
