"""Numba's cache on disk, in a kernel's own folder and under a kernel's own name.

Numba would put it where its settings say and raise an error if it is damaged. Here what cannot be
read is compiled again, what cannot be written is not kept, and either is said in one line.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
    _CacheLocator,
)

from expectant.engine.compile.kernel_folders import (
    Unsafe,
    kernel_folder,
    open_private,
    refuse_others,
    say_once,
)

_DIGEST = hashlib.sha256().digest_size


def keep_on_disk(kernel: Any, name: str) -> None:
    """Have a compiled function kept on disk under a name, wherever it can be."""
    entry = kernel.py_func
    folder = kernel_folder(name, f"compiled from {entry.__module__}.{entry.__name__}")
    kernel._cache = KernelCache(entry, folder, name) if folder else NullCache()


def has_kernel(kernel: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a compiled function for such arguments is there already, in memory or on disk."""
    signature = tuple(kernel.typeof_pyval(argument) for argument in arguments)
    if signature in kernel.overloads:
        return True
    return isinstance(kernel._cache, KernelCache) and kernel._cache.has(signature, kernel.targetctx)


class _Place(_CacheLocator):
    """Where a kernel is, and under what name it was stored."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder / "__pycache__", name
        self._py_file = str(folder / "kernel.py")  # Numba names it in warnings

    def ensure_cache_path(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return self.name

    def get_disambiguator(self) -> str:
        return ""


class _Implementation(CompileResultCacheImpl):
    """How compiled code is taken apart and put together, without asking where to keep it."""

    def __init__(self, place: _Place) -> None:
        self._lineno, self._locator = 0, place
        self._filename_base = f"kernel.{sys.implementation.cache_tag}"


class _Files(IndexDataCacheFile):
    """Files that only we may write to; compiled code begins with a hash of itself."""

    def _data_name(self, number: int) -> str:
        """A name that no other process takes for something else at the same time."""
        return self._data_name_pattern.replace("{number:d}", os.urandom(8).hex())

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
            raise ValueError(f"{name} is not what was written")
        return pickle.loads(content[_DIGEST:])

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(content).digest() + content)

    @contextmanager
    def _open_for_write(self, path: str) -> Iterator[BinaryIO]:
        scratch = f"{path}.tmp.{os.urandom(8).hex()}"
        try:
            with open_private(scratch) as file:
                yield file
            os.replace(scratch, path)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise


class KernelCache(FunctionCache):
    """A kernel's compiled code on disk."""

    def __init__(self, function: Any, folder: Path, name: str) -> None:
        self.folder = folder
        place = _Place(folder, name)
        self._name, self._py_func = repr(function), function
        self._impl = _Implementation(place)
        self._cache_path = place.get_cache_path()
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, name)
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            refuse_others(self.folder)
            found = super().load_overload(sig, target_context)
        except Unsafe as error:
            say_once(str(error))
            self.disable()
            return None
        except Exception as error:  # whatever pickle makes of it
            say_once(f"the kernel in {self.folder} is damaged and compiled again ({_first(error)})")
            self._remove()
            return None
        with suppress(OSError):
            os.utime(self.folder)
        return found

    def has(self, signature: Any, target_context: Any) -> bool:
        """Whether compiled code for a signature is on the disk, whole or not."""
        try:
            refuse_others(self.folder)
            index = self._cache_file._load_index()
            name = index.get(self._index_key(signature, target_context.codegen()))
            return name is not None and Path(self._cache_file._data_path(name)).exists()
        except Exception:  # loading it will say what is wrong
            return False

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # of the disk, or of parts that cannot be pickled
            say_once(f"compiled kernels cannot be kept in {self.folder.parent} ({_first(error)})")

    def _remove(self) -> None:
        for path in self.folder.glob("__pycache__/kernel*.nb[ic]"):
            with suppress(OSError):
                path.unlink()


def _first(error: Exception) -> str:
    lines = str(getattr(error, "strerror", None) or error).splitlines()
    return lines[0] if lines else type(error).__name__
