"""A results folder that belongs to one spec, and to one process (or its shards) at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from filelock import FileLock, Timeout

from expectant.files import StoreError, make_folder, remove_scratch, write_text
from expectant.lab.engines.compute import Shard
from expectant.lab.specs.spec import SpecError, parse_toml, spec_hash
from expectant.lab.store.folder_layout import SPEC, check_layout, mark
from expectant.lab.store.tables import read_whole

LOCK = ".lock"
PATIENCE = 10.0  # seconds that a shard waits for another one that is just opening the folder


def again(command: str, folder: Path) -> str:
    """How ``run`` or ``sweep`` makes the results of a folder again, in the same folder."""
    return f"expectant {command} {quote(str(folder / SPEC))} --out {quote(str(folder))}"


def place_of(folder: Path) -> str:
    """Where a command that names a folder works; nothing to say where it does so anywhere."""
    return "" if folder.is_absolute() else "in the working directory in which this page was written"


@contextmanager
def opened(
    folder: Path, text: str, data: Mapping[str, Any], shard: Shard | None = None, kind: str = ""
) -> Iterator[None]:
    """Hold a folder for a spec while its cells are computed, and mark it as one of a ``kind``.

    A whole sweep has the folder for itself. Shards share it, each with a lock of its own; only one
    that is alone may change the spec.
    """
    check_layout(folder)
    make_folder(folder)
    with _locked(folder / LOCK, f"{folder} is in use", PATIENCE if shard else 0.0):
        alone = not any(map(_is_held, folder.glob(f"{LOCK}-*")))
        if not alone and shard is None:
            raise StoreError(f"{folder} is in use by shards; wait for them, or use --out")
        if not _has_spec(folder, data):
            if not alone:
                raise StoreError(f"{folder} is in use by shards of another spec; use --out")
            write_text(folder / SPEC, text)
        mark(folder, kind)
        if alone:
            remove_scratch(folder / "blocks")
        if shard is None:
            yield
            return
        used = f"shard {shard.number}/{shard.of} of {folder} is in use"
        own = _locked(folder / f"{LOCK}{shard.suffix}", used)
    with own:
        yield


def _locked(path: Path, used: str, patience: float = 0.0) -> AbstractContextManager[Any]:
    """Lock a file; the lock ends with the process, however that ends."""
    try:
        return FileLock(path).acquire(timeout=patience)
    except Timeout:
        raise StoreError(f"{used} by another process; wait for it, or use --out") from None
    except OSError as error:
        raise StoreError(f"cannot write results to {path.parent}: {error.strerror}") from None


def _is_held(path: Path) -> bool:
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


def _has_spec(folder: Path, data: Mapping[str, Any]) -> bool:
    """True if the folder's spec says the same as ours."""
    try:
        text = read_whole(folder / SPEC).decode()
        return spec_hash(parse_toml(text, SPEC)) == spec_hash(data)
    except (FileNotFoundError, UnicodeDecodeError, SpecError):
        return False
