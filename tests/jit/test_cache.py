"""Kernels on disk: found again, never stale, and never somebody else's."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from expectant.core.dispatch import unowned
from expectant.core.verbs import size, state_index
from expectant.jit import compile as kernels
from expectant.jit.cache import KEEP_DAYS, forget_old, say_once

LIMIT = 10.0


class Shelf(NamedTuple):
    items: np.ndarray


@numba.njit
def put_by_numba(items, at):
    items[at] = 1
    return LIMIT


@numba.njit("float64(float64)")
def compiled_at_once(x):
    return x * LIMIT


@size.register(Shelf)
def _(shelf):
    shelf.items[0] = 1
    return shelf.items[0]


@state_index.register(Shelf)
def _(shelf):
    return put_by_numba(shelf.items, 0) + compiled_at_once(1.0)


def fill(part):
    part = unowned(part)
    return size(part)


def ask(part):
    part = unowned(part)
    return state_index(part)


def shelf() -> Shelf:
    return Shelf(np.zeros(4))


def forget() -> None:
    """As if this process had asked for no kernel yet."""
    kernels._kernels.clear()
    say_once.cache_clear()


@pytest.fixture(autouse=True)
def _fresh(kernel_cache, monkeypatch):
    monkeypatch.setattr(kernels, "_kernels", {})
    say_once.cache_clear()


def call() -> Any:
    """Ask for the kernel anew and call it; it must work whatever the disk is like."""
    forget()
    kernel: Any = kernels.kernel_for(shelf(), fill)
    assert kernel(shelf()) == 1
    return kernel


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def only_file(directory: Path) -> Path:
    (path,) = directory.iterdir()
    return path


def test_a_kernel_is_found_again_whatever_numbas_own_cache_is_set_to(
    kernel_cache, tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert hits(call()) == 0
    for path in (kernel_cache, only_file(kernel_cache)):
        assert path.stat().st_mode & 0o077 == 0, path
    assert hits(call()) == 1
    assert capfd.readouterr().err == "" and not (tmp_path / "elsewhere").exists()


# ------------------------------------------------------------------------ damaged, or not writable


@pytest.mark.parametrize(
    "damage",
    [lambda old: old[: len(old) // 2], lambda old: old[:-9] + bytes(9)],
    ids=["half", "end"],
)
def test_a_damaged_kernel_is_compiled_again(damage, kernel_cache, capfd):
    call()
    path = only_file(kernel_cache)
    path.write_bytes(damage(path.read_bytes()))
    assert hits(call()) == 0
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 1 and "is damaged and compiled again" in told[0], told
    assert hits(call()) == 1  # it is whole again


def test_where_no_folder_can_be_kernels_are_not_kept(tmp_path, monkeypatch, capfd):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXPECTANT_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert hits(call()) == 0
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 1 and "file/below (Not a directory)" in told[0], told
    assert "compiled again by every process" in told[0]


# ------------------------------------------------------------------------------- other people's


class Evil:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def plant(kernel_cache: Path, mark: Path) -> Path:
    """Put somebody else's code in the place of a kernel of ours."""
    call()
    path = only_file(kernel_cache)
    content = pickle.dumps(Evil(mark))
    path.write_bytes(hashlib.sha256(content).digest() + content)
    return path


def of_another_user(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    lstat = os.lstat

    def changed(asked: Any, **options: Any) -> Any:
        status = lstat(asked, **options)
        if Path(asked) != path:
            return status
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:]))

    monkeypatch.setattr(os, "lstat", changed)


UNSAFE: dict[str, Any] = {
    "others may write to the folder": lambda patch, path: path.parent.chmod(0o777),
    "others may write to the file": lambda patch, path: path.chmod(0o666),
    "the folder is another user's": lambda patch, path: of_another_user(patch, path.parent),
    "anybody may exchange the folder": lambda patch, path: path.parent.parent.chmod(0o777),
}


@pytest.mark.parametrize("way", UNSAFE)
def test_no_strangers_kernel_is_loaded(way, kernel_cache, tmp_path, monkeypatch, capfd):
    path = plant(kernel_cache, tmp_path / "mark")
    UNSAFE[way](monkeypatch, path)
    capfd.readouterr()
    assert hits(call()) == 0
    monkeypatch.undo()
    assert not (tmp_path / "mark").exists()
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 1 and "no compiled kernels are taken from" in told[0], told
    assert "set EXPECTANT_CACHE_DIR to a folder of your own" in told[0]


def test_what_is_planted_would_be_loaded_from_a_folder_of_ours(kernel_cache, tmp_path):
    """The tests around this one look in the right place."""
    plant(kernel_cache, tmp_path / "mark")
    call()
    assert (tmp_path / "mark").exists()


def test_only_old_kernels_are_removed(kernel_cache):
    call()
    ours = only_file(kernel_cache)
    old = kernel_cache / f"{'0' * 24}-{'1' * 16}.nbc"
    kept = [kernel_cache / "notes.nbc", kernel_cache / f"{'0' * 24}-{'2' * 16}.nbc.txt"]
    for path in (old, *kept):
        path.write_text("")
        os.utime(path, (time.time() - (KEEP_DAYS + 1) * 86400,) * 2)
    forget_old(kernel_cache)
    assert {*kernel_cache.iterdir()} == {ours, *kept}


# ------------------------------------------------------------------------------------ never stale


def test_a_helpers_constant_that_changes_in_the_process_is_seen(monkeypatch):
    def asked() -> float:
        kernel: Any = kernels.kernel_for(shelf(), ask)
        return kernel(shelf())

    assert asked() == 20.0
    assert put_by_numba(np.zeros(1), 0) == 10.0
    monkeypatch.setitem(globals(), "LIMIT", 3.0)
    assert asked() == 6.0
    assert put_by_numba(np.zeros(1), 0) == 3.0  # calls from Python see it, too
    monkeypatch.undo()
    assert asked() == 20.0


KINDS = """
from typing import NamedTuple
from expectant.core.dispatch import unowned
from expectant.core.verbs import function, size

GOAL, START = 3.0, 4.0
def made(first, second):
    @function
    def inner(): return first - 3.0 * second
    return inner
closed = made(1.0, 2.0)

class Constant(NamedTuple):
    x: float
class Helper(NamedTuple):
    x: float
class Verb(NamedTuple):
    x: float
PARTS = (Constant, Helper, Verb)

@size.register(Constant)
def _(part): return part.x * GOAL + START
@size.register(Helper)
def _(part): return part.x + closed()
@size.register(Verb)
def _(part): return part.x + 1.0

def ask(part):
    part = unowned(part)
    return size(part)
"""
EDITS = (
    ("GOAL, START = 3.0, 4.0", "GOAL, START = 4.0, 3.0"),
    ("made(1.0, 2.0)", "made(2.0, 1.0)"),
    ("part.x + 1.0", "part.x - 1.0"),
)
ASK = """
import kinds
from expectant.jit.compile import kernel_for
for part in kinds.PARTS:
    kernel = kernel_for(part(2.0), kinds.ask)
    print(kernel(part(2.0)), kinds.ask(part(2.0)), sum(kernel.stats.cache_hits.values()))
"""


def test_an_edited_constant_helper_or_verb_is_seen_by_the_next_process(tmp_path):
    def ask() -> list[list[float]]:
        done = subprocess.run(
            [sys.executable, "-c", ASK], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]

    (tmp_path / "kinds.py").write_text(KINDS)
    assert ask() == [[10, 10, 0], [-3, -3, 0], [3, 3, 0]]
    text = KINDS
    for old, new in EDITS:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "kinds.py").write_text(f"# edited\n{text}")
    assert ask() == [[11, 11, 0], [1, 1, 0], [1, 1, 0]]
    (tmp_path / "kinds.py").write_text(KINDS)
    assert [hit for _, _, hit in ask()] == [1, 1, 1]
