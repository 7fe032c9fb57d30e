"""Arrays and settings in one file: NumPy's format and JSON, nothing that runs code when read.

A file can have been damaged, or written by a stranger. What its arrays claim to be is compared with
what its own settings make of them before one is read, and what is in them before compiled code,
which looks at nothing twice, gets to see it.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib import format as numpy_format

from expectant.core import tree
from expectant.engine.memory.demand import demand_of
from expectant.engine.memory.limits import ALWAYS_THERE
from expectant.engine.memory.refusal import size_in_words
from expectant.files import write_whole
from expectant.verbs import check_restored, grown, room

if TYPE_CHECKING:
    from expectant.engine.job import Job

FORMAT = 3  # 2 had one generator for everything
CONTROL = "control"  # asks work under way to stop: it belongs to a process, not to what was learned
FACTS = "expectant"  # the entry that holds the settings
LONGEST_FACTS = 2**24  # bytes
WHILE_BUILDING = 4  # times the arrays of a run: more than any part needs while it is built
_BROKEN = (ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError, MemoryError,
           NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error)  # fmt: skip


def distinct_arrays(part: Any) -> dict[str, np.ndarray]:
    """Every array in a part that is kept, once, by the first name that leads to it."""
    kept = [(name, array) for name, array in tree.arrays(part) if not name.endswith(CONTROL)]
    found = {id(array): name for name, array in reversed(kept)}
    return {name: array for name, array in kept if found[id(array)] == name}


def write(path: Path, facts: dict[str, Any], part: Any) -> None:
    """Write a part's arrays and some facts; the file appears whole or not at all."""
    saved = distinct_arrays(part)
    text = json.dumps({"format": FORMAT, **facts}).encode()
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(
            f"{path}: " + ("is a folder" if path.is_dir() else "its folder does not exist")
        )
    saved[FACTS] = np.frombuffer(text, np.uint8)
    write_whole(path, lambda file: np.savez_compressed(file, **saved))  # type: ignore[arg-type]


class ArrayHeader(NamedTuple):
    """What an entry claims to be; ``bytes`` is how many it has, its own header left out."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    bytes: int


class Entries(Mapping[str, np.ndarray]):
    """The arrays in the bytes of a file, each of them read when it is asked for."""

    def __init__(self, content: bytes) -> None:
        self._file = zipfile.ZipFile(io.BytesIO(content))
        self._names = [name.removesuffix(".npy") for name in self._file.namelist()]

    def header(self, name: str) -> ArrayHeader:
        """What an array claims to be, without reading it."""
        info = self._file.getinfo(f"{name}.npy")
        with self._file.open(info) as entry:
            version = numpy_format.read_magic(entry)
            if version == (1, 0):
                found = numpy_format.read_array_header_1_0(entry)
            else:
                found = numpy_format.read_array_header_2_0(entry)
            return ArrayHeader(*found, info.file_size - entry.tell())

    def __getitem__(self, name: str) -> np.ndarray:
        with self._file.open(f"{name}.npy") as entry:
            return numpy_format.read_array(entry, allow_pickle=False)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name != FACTS)

    def __len__(self) -> int:
        return len(list(iter(self)))


def read(path: Path) -> tuple[dict[str, Any], Entries]:
    """The facts and the arrays of a file; an error that says why if it is none of ours."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except IsADirectoryError:
        raise ValueError(f"{path}: is a folder, not a saved learner") from None
    try:
        entries = Entries(content)
        if entries.header(FACTS).bytes > LONGEST_FACTS:
            raise ValueError
        facts = json.loads(entries[FACTS].tobytes())
        written = facts["format"]
    except _BROKEN:
        raise ValueError(f"{path}: is not a saved learner, or not all of one") from None
    if written != FORMAT:
        raise ValueError(
            f"{path}: has format {written!r}, this version reads format {FORMAT}: load it with the "
            "version of the package that wrote it, or learn again"
        )
    return facts, entries


def check_sizes(job: Job, entries: Entries) -> None:
    """Refuse settings that ask for far more than the arrays beside them, before building any."""
    wanted = demand_of(job).alone
    held = sum(entries.header(name).bytes for name in entries)
    if wanted > ALWAYS_THERE + WHILE_BUILDING * held:
        raise Misfit(
            f"these need {size_in_words(wanted)}, and its arrays hold {size_in_words(held)}"
        )


def restored(run: Any, entries: Entries, site: Any) -> Any:
    """A freshly built run with the arrays of a file in place of its own, every one checked."""
    try:
        headers = {name: entries.header(name) for name in entries}
        built = _as_large(run, headers)
        for name, array in distinct_arrays(built).items():
            _check_header(name, array, headers.get(name))
        arrays = {id(array): entries[name] for name, array in distinct_arrays(built).items()}
    except Misfit:
        raise
    except _BROKEN:
        raise ValueError("is not a saved learner, or not all of one") from None
    found = tree.replace(built, arrays)
    try:
        check_restored(found, built, site)
    except ValueError as error:
        raise Misfit(error) from None
    return found


class Misfit(ValueError):
    """Arrays that are not those of the settings beside them."""

    def __init__(self, what: object) -> None:
        super().__init__(f"does not fit its own settings: {what}")


def _as_large(run: Any, headers: Mapping[str, ArrayHeader]) -> Any:
    """The run with as much room as a file has; a part that never asks for more gets no more."""
    while True:
        larger = run._replace(agent=grown(run.agent))
        if room(larger.agent) <= room(run.agent):
            return run
        for name, array in tree.arrays(larger):
            if name in headers and array.size > math.prod(headers[name].shape):
                return run
        run = larger


def _check_header(name: str, array: np.ndarray, found: ArrayHeader | None) -> None:
    """Compare what an entry claims to be with the array that its settings make."""
    if found is None:
        raise Misfit(f"the array {name} is missing")
    if found.dtype != array.dtype or len(found.shape) != array.ndim:
        raise Misfit(f"the array {name} is {found.dtype} in {len(found.shape)} dimensions")
    if found.shape != array.shape or found.bytes != array.nbytes:
        raise Misfit(f"the array {name} has the shape {found.shape}, and not {array.shape}")
    if found.fortran != array.flags.fnc:
        raise Misfit(f"the array {name} has its entries in another order")
