"""Folders for compiled kernels on disk, in which nobody else can have put anything.

Compiled code is loaded and run, so whoever can write to a folder of it can run code of theirs in
our name. A folder is used only if it is ours, and nobody else may write to it or to what is in it.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from expectant.progress import say

KEEP_DAYS = 60

_LABEL = '"""Made by expectant; may be deleted at any time."""\n'
_NAME = re.compile(r"[0-9a-f]{24}")
_OURS = re.compile(r"kernel\.py|kernel-[0-9a-f]+\.tmp")
_NUMBAS = re.compile(r"kernel[\w.-]*\.(nbi|nbc)(\.tmp\.[0-9a-f]+)?|kernel\.[\w.-]+\.pyc(\.\d+)?")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

say_once = functools.cache(say)


class Unsafe(Exception):
    """A folder that cannot be trusted; says why, and what to do."""


def cache_directory() -> Path:
    """Where kernels are kept: $EXPECTANT_CACHE_DIR, or the user's cache directory."""
    given = os.environ.get("EXPECTANT_CACHE_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "expectant"


def temporary_directory() -> Path:
    """The second choice, where anybody may have put something of that name before us."""
    user = os.geteuid() if hasattr(os, "geteuid") else "user"
    directory = Path(tempfile.gettempdir()) / f"expectant-{user}"
    if directory.is_symlink():
        raise Unsafe(_unsafe(directory, "is a link"))
    return directory


def kernel_folder(name: str, what: str) -> Path | None:
    """The folder of a kernel, one of its own; None, and a line about it, if there can be none."""
    problem = ""
    for choice in (cache_directory, temporary_directory):
        try:
            folder = _made(choice(), name, what)
        except (OSError, RuntimeError, Unsafe) as error:  # there may be no home either
            problem = problem or _told(error)
            continue
        if problem:
            say_once(f"{problem}; {folder.parent} is used instead")
        return folder
    say_once(f"{problem}; kernels are compiled again by every process")
    return None


def _told(error: Exception) -> str:
    if isinstance(error, Unsafe):
        return str(error)
    where = f" in {error.filename}" if isinstance(error, OSError) and error.filename else ""
    reason = getattr(error, "strerror", None) or error
    return f"compiled kernels cannot be kept{where} ({reason}), see EXPECTANT_CACHE_DIR"


def _made(directory: Path, name: str, what: str) -> Path:
    """A kernel's folder in a directory, with a label in it that says whose it is."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    directory = Path(os.path.realpath(directory))  # links are followed once, here
    refuse_others(directory)
    folder = directory / name
    label = folder / "kernel.py"
    text = f"{_LABEL}# {what}; what is in this file is not run\n"
    if not folder.exists():
        forget_old(directory)
        folder.mkdir(mode=0o700, exist_ok=True)
    refuse_others(folder)
    if not label.exists() or label.read_text(errors="replace") != text:
        scratch = folder / f"kernel-{os.urandom(8).hex()}.tmp"
        with open_private(scratch) as file:
            file.write(text.encode())
        os.replace(scratch, label)
    return folder


def open_private(path: Path | str) -> BinaryIO:
    """A new file to write to, which nobody else may write to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return open(os.open(path, flags, 0o600), "wb")


def refuse_others(path: Path) -> None:
    """An error if somebody else owns a folder or anything in it, or may write to it."""
    if not hasattr(os, "geteuid"):  # Windows, where users' folders are their own
        return
    for above in path.parents:
        mode = os.lstat(above).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise Unsafe(_unsafe(above, f"can be written by anybody (mode {mode & 0o7777:o})"))
    _refuse(path)
    if _NAME.fullmatch(path.name):
        for inside in path.rglob("*"):
            with suppress(FileNotFoundError):  # another process of ours has just renamed it
                _refuse(inside)


def _refuse(path: Path) -> None:
    found = os.lstat(path)
    if found.st_uid != os.geteuid():
        raise Unsafe(_unsafe(path, f"belongs to another user (uid {found.st_uid})"))
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        raise Unsafe(_unsafe(path, "is neither a file nor a folder"))
    if found.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        raise Unsafe(_unsafe(path, f"can be written by others (mode {mode:o}; chmod go-w it)"))


def _unsafe(path: Path, reason: str) -> str:
    return (
        f"no compiled kernels are taken from {path}, which {reason}: "
        "set EXPECTANT_CACHE_DIR to a folder of your own"
    )


def forget_old(directory: Path) -> None:
    """Remove kernels that nobody has made or loaded for a long time, and nothing else."""
    oldest = time.time() - KEEP_DAYS * 86400
    for folder in directory.iterdir():
        try:
            if os.lstat(folder).st_mtime < oldest and _is_kernel(folder):
                for path in sorted(folder.rglob("*"), reverse=True):  # what is inside comes first
                    path.rmdir() if path.is_dir() else path.unlink()
                folder.rmdir()
        except OSError:
            continue


def _is_kernel(folder: Path) -> bool:
    """Whether a folder is certainly a kernel's: by its name, its label and all that is in it."""
    if not _NAME.fullmatch(folder.name) or not _holds(folder, _OURS, "__pycache__"):
        return False
    compiled = folder / "__pycache__"
    if os.path.lexists(compiled) and not _holds(compiled, _NUMBAS):
        return False
    with open(folder / "kernel.py", errors="replace") as label:
        return label.read(len(_LABEL)) == _LABEL


def _holds(folder: Path, names: re.Pattern[str], inner: str = "") -> bool:
    """Whether a real folder holds only files of such names, and perhaps one folder."""
    return stat.S_ISDIR(os.lstat(folder).st_mode) and all(
        path.name == inner or (names.fullmatch(path.name) and stat.S_ISREG(os.lstat(path).st_mode))
        for path in folder.iterdir()
    )
