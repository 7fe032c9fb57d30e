"""Compiled kernels on disk, one file each, in a folder that nobody else can write to.

Compiled code is loaded and run, so whoever can write to the folder can run code in our name: a
kernel is loaded only if the folder and the file are ours and others may not write to them. A file
that is damaged is compiled again, and one that cannot be written is not kept, each with one line
on standard error.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from expectant.engine.progress import say
from expectant.jit.numba_internals import deserialize, serialize

KEEP_DAYS = 60

_DIGEST = hashlib.sha256().digest_size
_FILE = re.compile(r"[0-9a-f]{24}-[0-9a-f]{16}\.nbc(\.[0-9a-f]+\.tmp)?")

say_once = functools.cache(say)


class Unsafe(Exception):
    """A folder or file that others can write to."""


@dataclass
class KernelCache:
    """The compiled code of one kernel, a file for every signature: a hash, then a pickle.

    It has the methods of Numba's own caches.
    """

    cache_path: Path
    name: str

    @classmethod
    def open(cls, name: str) -> KernelCache | None:
        """Return the cache of a kernel; None, with a line about it, if there is no safe folder."""
        folder: Any = os.environ.get("EXPECTANT_CACHE_DIR")
        try:
            if not folder:
                caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
                folder = Path(caches) / "expectant"
            os.makedirs(folder, mode=0o700, exist_ok=True)
            directory = Path(os.path.realpath(folder))  # links are followed once, here
            refuse_others(directory)
            return cls(directory, name)
        except Unsafe as error:
            problem = str(error)
        except (OSError, RuntimeError) as error:  # there may be no home either
            where = f" in {error.filename}" if getattr(error, "filename", None) else ""  # type: ignore[union-attr]
            problem = f"compiled kernels cannot be kept{where} ({_reason(error)})"
            problem += ", see EXPECTANT_CACHE_DIR"
        say_once(f"{problem}; kernels are compiled again by every process")
        return None

    def kernel_path(self, signature: Any, codegen: Any) -> Path:
        key = hashlib.sha256(f"{signature} {codegen.magic_tuple()}".encode()).hexdigest()[:16]
        return self.cache_path / f"{self.name}-{key}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        path = self.kernel_path(sig, target_context.codegen())
        try:
            refuse_others(self.cache_path)
            refuse_others(path)
            content = path.read_bytes()
            if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
                raise ValueError("its checksum differs")
            compiled = deserialize(content[_DIGEST:], target_context)
        except FileNotFoundError:
            return None
        except Unsafe as error:
            say_once(str(error))
            return None
        except Exception as error:  # whatever pickle makes of it
            say_once(f"the kernel {path} is damaged and compiled again ({_reason(error)})")
            return None
        with suppress(OSError):
            os.utime(path)
        return compiled

    def save_overload(self, sig: Any, compiled: Any) -> None:
        path = self.kernel_path(sig, compiled.codegen)
        scratch = path.with_name(f"{path.name}.{os.urandom(8).hex()}.tmp")
        try:
            refuse_others(self.cache_path)
            content = serialize(compiled)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with open(os.open(scratch, flags, 0o600), "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(scratch, path)
            forget_old(self.cache_path)
        except Exception as error:  # of the disk, or of parts that cannot be pickled
            say_once(f"a compiled kernel cannot be kept in {self.cache_path} ({_reason(error)})")
            with suppress(OSError):
                scratch.unlink(missing_ok=True)

    def enable(self) -> None:
        pass

    disable = flush = enable


def _reason(error: Exception) -> str:
    lines = str(getattr(error, "strerror", None) or error).splitlines()
    return lines[0] if lines else type(error).__name__


def refuse_others(path: Path) -> None:
    """Raise ``Unsafe`` if anybody else can write to a file or folder, or exchange it."""
    status = os.lstat(path)
    if not hasattr(os, "geteuid"):  # on Windows users' folders are their own
        return
    mode, problem = stat.S_IMODE(status.st_mode), ""
    if status.st_uid != os.geteuid():
        problem = f"belongs to another user (uid {status.st_uid})"
    elif not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        problem = "is neither a file nor a folder"
    elif mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = f"can be written by others (mode {mode:o}; chmod go-w it)"
    for above in () if problem else path.parents:
        mode = stat.S_IMODE(os.lstat(above).st_mode)
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            path, problem = above, f"can be written by anybody (mode {mode:o})"
    if problem:
        raise Unsafe(
            f"no compiled kernels are taken from {path}, which {problem}: "
            "set EXPECTANT_CACHE_DIR to a folder of your own"
        )


def forget_old(directory: Path) -> None:
    """Remove kernels that were neither made nor loaded for a long time, and nothing else."""
    oldest = time.time() - KEEP_DAYS * 86400
    for path in directory.iterdir():
        with suppress(OSError):
            status = os.lstat(path)
            is_file = stat.S_ISREG(status.st_mode)
            if is_file and status.st_mtime < oldest and _FILE.fullmatch(path.name):
                path.unlink()
