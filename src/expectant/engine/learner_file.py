"""Learner files: arrays in NumPy's npz format, settings in JSON, and a checksum over both.

Reading a file runs no code: nothing is unpickled, and every array must have the path, shape and
type of the one that the settings build. The checksum finds damage. It is no signature: compiled
code follows stored indices without checking them, plain Python (``compiled=False``) checks them.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from expectant.core import tree
from expectant.core.files import write_whole
from expectant.core.memory import claim
from expectant.core.rng import Streams
from expectant.core.verbs import free_capacity, grow

FORMAT = 4
CONTROL = "control"  # the stop flag of a process, which is not saved
METADATA, CHECKSUM = "metadata", "checksum"  # entries beside the arrays of the run

Arrays = Mapping[str, np.ndarray]


def write(path: Path, facts: dict[str, Any], run: Any) -> None:
    """Write the arrays of a run and some facts; the file appears whole or not at all."""
    if path.is_dir() or not path.parent.is_dir():
        problem = "is a folder" if path.is_dir() else "its folder does not exist"
        raise ValueError(f"{path}: {problem}")
    write_arrays(path, {"format": FORMAT, **facts}, _distinct_arrays(run))


def write_arrays(path: Path, facts: dict[str, Any], arrays: Arrays) -> None:
    """Write facts, arrays and their checksum."""
    text = json.dumps(facts).encode()
    extra = {METADATA: np.frombuffer(text, np.uint8), CHECKSUM: _checksum(text, arrays)}
    write_whole(path, lambda file: np.savez_compressed(file, **arrays, **extra))  # type: ignore[arg-type]


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the facts and arrays of a file; raise a ``ValueError`` if it is damaged."""
    try:
        with zipfile.ZipFile(path) as entries:
            claim(sum(entry.file_size for entry in entries.infolist()))
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text = arrays.pop(METADATA).tobytes()
        is_whole = np.array_equal(arrays.pop(CHECKSUM), _checksum(text, arrays))
        facts = json.loads(text)
        written = facts["format"]
    except IsADirectoryError:
        raise ValueError(f"{path}: is a folder, not a saved learner") from None
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, MemoryError,
            NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error):  # fmt: skip
        raise ValueError(f"{path}: is not a saved learner, or is damaged") from None
    if written != FORMAT:
        raise ValueError(
            f"{path}: has format {written!r}, this version reads format {FORMAT}: load it with the "
            "version of the package that wrote it, or learn again"
        )
    if not is_whole:
        raise ValueError(f"{path}: is damaged: its checksum does not fit its content")
    return facts, arrays


def restore(run: Any, arrays: Arrays) -> Any:
    """Return a freshly built run with the arrays of a file in place of its own."""
    run = _with_capacity(run, arrays)
    built = _distinct_arrays(run)
    for name, array in built.items():
        wanted, stored = f"{array.dtype} {array.shape}", arrays.get(name)
        found = "missing" if stored is None else f"{stored.dtype} {stored.shape}"
        if found != wanted:
            raise ValueError(
                f"does not fit its own settings: the array {name} is {found}, and not {wanted}"
            )
    restored = tree.replace(run, {id(array): arrays[name] for name, array in built.items()})
    if tree.structure(restored) != tree.structure(run):
        raise ValueError("does not fit its own settings: its arrays have another layout")
    return restored


def states_of(streams: Streams) -> dict[str, Any]:
    """Return the state of every stream, by its name."""
    return {name: rng.bit_generator.state for name, rng in streams.by_name().items()}


def set_states(streams: Streams, states: Mapping[str, Any]) -> None:
    """Set the state of every stream, by its name."""
    for name, rng in streams.by_name().items():
        rng.bit_generator.state = states[name]


def _distinct_arrays(run: Any) -> dict[str, np.ndarray]:
    """Return every array to save, once, by the first path that leads to it."""
    paths: dict[int, str] = {}
    kept = {}
    for path, array in tree.arrays(run):
        if not path.endswith(CONTROL) and paths.setdefault(id(array), path) == path:
            kept[path] = array
    return kept


def _checksum(text: bytes, arrays: Arrays) -> np.ndarray:
    digest = hashlib.sha256(text)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return np.frombuffer(digest.digest(), np.uint8)


def _with_capacity(run: Any, arrays: Arrays) -> Any:
    """Return the run grown to the capacity of the arrays of a file, where its parts can grow."""
    while True:
        larger = run._replace(agent=grow(run.agent))
        if free_capacity(larger.agent) <= free_capacity(run.agent):
            return run
        for name, array in tree.arrays(larger):
            if name in arrays and array.size > arrays[name].size:
                return run
        run = larger
