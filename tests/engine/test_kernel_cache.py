"""Kernels on disk: found again, never stale, and never somebody else's."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import expectant as ex
from expectant import lanes
from expectant.dispatch import borrowed
from expectant.engine.compile import compiling, kernel_folders
from expectant.engine.compile import kernel_cache as kernel_cache_module
from expectant.engine.job import Job
from expectant.engine.loop import simulate
from expectant.verbs import function, place, size

NAME = "0123456789abcdef01234567"
LIMIT = 10.0


class Shelf(NamedTuple):
    """A part with a verb that writes where it is told to."""

    items: np.ndarray
    at: int
    way: int


@function
def put(items, at):
    items[at] = 1


@numba.njit
def put_by_numba(items, at):
    items[at] = 1
    return LIMIT


@numba.njit("float64(float64)")
def compiled_at_once(x):
    return x * LIMIT


@size.register(Shelf)
def _(shelf):
    if shelf.way == 0:
        shelf.items[shelf.at] = 1
    elif shelf.way == 1:
        put(shelf.items, shelf.at)
    else:
        put_by_numba(shelf.items, shelf.at)
    return shelf.items[0]


@place.register(Shelf)
def _(shelf):
    return put_by_numba(shelf.items, 0) + compiled_at_once(1.0)


def fill(part):
    part = borrowed(part)
    return size(part)


def ask(part):
    part = borrowed(part)
    return place(part)


def shelf(at: int = 0, way: int = 0) -> Shelf:
    return Shelf(np.zeros(4), at, way)


def forget() -> None:
    """As if this process had asked for no kernel yet."""
    compiling._kernels.clear()
    kernel_folders.say_once.cache_clear()


@pytest.fixture(autouse=True)
def _fresh(kernel_cache, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(compiling, "_kernels", {})
    kernel_folders.say_once.cache_clear()


def call() -> Any:
    """Ask for the kernel anew and call it; it must work whatever the disk is like."""
    forget()
    kernel: Any = compiling.kernel_for(shelf(), fill)
    assert kernel(shelf(0)) == 1
    return kernel


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def only_folder(directory: Path) -> Path:
    (folder,) = directory.iterdir()
    return folder


def test_a_kernel_is_found_again(kernel_cache, capfd):
    assert hits(call()) == 0
    folder = only_folder(kernel_cache)
    inside = sorted(path.suffix for path in folder.rglob("*") if path.is_file())
    assert inside == [".nbc", ".nbi", ".py"]
    for path in (kernel_cache, folder, *folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    assert hits(call()) == 1
    assert capfd.readouterr().err == ""


def test_where_numba_keeps_its_own_does_not_matter(kernel_cache, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "NoSuchLocator")
    call()
    assert hits(call()) == 1
    assert not (tmp_path / "elsewhere").exists()


def test_processes_that_write_at_the_same_time_do_not_mix_their_code_up(kernel_cache):
    kernel_cache.mkdir()
    first, second = (kernel_cache_module._Files(str(kernel_cache), "kernel", "name") for _ in "12")
    second._load_index = dict  # as it was before the first one wrote
    first.save("a", "code for a")
    second.save("b", "code for b")
    later = kernel_cache_module._Files(str(kernel_cache), "kernel", "name")
    assert [later.load("a"), later.load("b")] == [None, "code for b"]
    first._save_data(first._load_index().get("a") or first._data_name(1), "code for a, late")
    assert later.load("b") == "code for b"


def test_without_a_home_there_is_still_a_folder(monkeypatch, tmp_path, capfd):
    monkeypatch.delenv("EXPECTANT_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    call()
    assert "Could not determine home directory" in capfd.readouterr().err
    assert only_folder(tmp_path / "tmp").name == f"expectant-{os.geteuid()}"


# ------------------------------------------------------------------------ damaged, or not writable


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda old: old[: len(old) // 2],
        lambda old: b"",
        lambda old: b"garbage" * 9,
        lambda old: old[:-9] + bytes(9),
    ],
    ids=["half", "empty", "garbage", "end"],
)
def test_a_damaged_kernel_is_compiled_again(suffix, damage, kernel_cache, capfd):
    call()
    (path,) = kernel_cache.rglob(f"*.{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    assert hits(call()) == 0
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 1 and "is damaged and compiled again" in told[0], told
    assert hits(call()) == 1  # it is whole again
    assert capfd.readouterr().err == ""


def test_a_single_byte_is_noticed(kernel_cache, capfd):
    call()
    (path,) = kernel_cache.rglob("*.nbc")
    content = bytearray(path.read_bytes())
    place = content.index(b"ELF") + 16 if b"ELF" in content else len(content) // 2
    content[place] ^= 255
    path.write_bytes(content)
    assert hits(call()) == 0
    assert "is not what was written" in capfd.readouterr().err


def test_where_no_folder_can_be_another_private_one_is_used(tmp_path, monkeypatch, capfd):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXPECTANT_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert hits(call()) == 0
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 1 and "file/below (Not a directory)" in told[0], told
    assert "EXPECTANT_CACHE_DIR" in told[0]
    private = only_folder(tmp_path / "tmp")
    assert private.name == f"expectant-{os.geteuid()}" and private.stat().st_mode & 0o077 == 0
    assert hits(call()) == 1


def failing(number: int, part: str, original: Any) -> Any:
    def call(path: Any, *arguments: Any, **options: Any) -> Any:
        if part in str(path):
            raise OSError(number, os.strerror(number), str(path))
        return original(path, *arguments, **options)

    return call


@pytest.mark.parametrize(("number", "part"), [
    (errno.EROFS, "kernel-"),
    (errno.ENOSPC, "kernel-"),
    (errno.ENOSPC, ".nbc"),
    (errno.ENOSPC, ".nbi"),
])  # fmt: skip
def test_a_full_or_read_only_disk_costs_a_line(number, part, monkeypatch, capfd):
    monkeypatch.setattr(os, "open", failing(number, part, os.open))
    assert hits(call()) == 0
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 1 and os.strerror(number) in told[0], told
    monkeypatch.undo()


def test_a_kernel_is_loaded_from_a_read_only_folder(monkeypatch, capfd):
    call()
    for name in ("open", "mkdir", "utime", "replace", "unlink"):
        monkeypatch.setattr(os, name, failing(errno.EROFS, "kernels", getattr(os, name)))
    assert hits(call()) == 1
    assert capfd.readouterr().err == ""


# ------------------------------------------------------------------------------- other people's


class Evil:
    """Unpickling it leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def plant(kernel_cache: Path, mark: Path) -> Path:
    """Somebody else's code in the place of a kernel of ours."""
    call()
    folder = only_folder(kernel_cache)
    for path in folder.rglob("*.nb?"):
        path.write_bytes(pickle.dumps(Evil(mark)))
    (folder / "kernel.py").write_text(f"open({str(mark)!r}, 'w')")
    return folder


def of_another_user(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    lstat = os.lstat

    def changed(asked: Any, **options: Any) -> Any:
        found = lstat(asked, **options)
        if Path(asked) != path:
            return found
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))

    monkeypatch.setattr(os, "lstat", changed)


def linked(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


UNSAFE: dict[str, Any] = {
    "others may write to the directory": lambda patch, folder: folder.parent.chmod(0o777),
    "the group may": lambda patch, folder: folder.parent.chmod(0o775),
    "others may write to the folder": lambda patch, folder: folder.chmod(0o777),
    "others may write to a file": lambda patch, folder: next(folder.rglob("*.nbi")).chmod(0o666),
    "the directory is another user's": lambda patch, folder: of_another_user(patch, folder.parent),
    "the folder is": lambda patch, folder: of_another_user(patch, folder),
    "a file is": lambda patch, folder: of_another_user(patch, next(folder.rglob("*.nbi"))),
    "we are another user": lambda patch, folder: patch.setattr(os, "geteuid", lambda: 4321),
    "the folder is a link": lambda patch, folder: linked(folder),
    "a file is a link": lambda patch, folder: linked(next(folder.rglob("*.nbi"))),
    "anybody may exchange the directory": lambda patch, folder: folder.parent.parent.chmod(0o777),
}


@pytest.mark.parametrize("way", UNSAFE)
def test_no_strangers_kernel_is_loaded(way, kernel_cache, tmp_path, monkeypatch, capfd):
    folder = plant(kernel_cache, tmp_path / "mark")
    (tmp_path / "blocked").write_text("")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "blocked"))
    UNSAFE[way](monkeypatch, folder)
    capfd.readouterr()
    assert hits(call()) == 0
    monkeypatch.undo()
    assert not (tmp_path / "mark").exists()
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 1 and "no compiled kernels are taken from" in told[0], told
    assert "set EXPECTANT_CACHE_DIR to a folder of your own" in told[0]
    assert "kernels are compiled again by every process" in told[0]


def test_a_folder_that_is_opened_to_others_meanwhile_is_not_loaded_from(
    kernel_cache, tmp_path, capfd
):
    folder = plant(kernel_cache, tmp_path / "mark")
    forget()
    kernel: Any = compiling.kernel_for(shelf(), fill)
    folder.chmod(0o777)
    assert kernel(shelf()) == 1
    assert not (tmp_path / "mark").exists() and hits(kernel) == 0
    assert "no compiled kernels are taken from" in capfd.readouterr().err


def test_what_is_planted_would_be_loaded_from_a_folder_of_ours(kernel_cache, tmp_path):
    """The tests around this one look in the right place."""
    plant(kernel_cache, tmp_path / "mark")
    call()
    assert (tmp_path / "mark").exists()


def test_no_python_on_disk_is_run(kernel_cache, tmp_path, capfd):
    call()
    label = only_folder(kernel_cache) / "kernel.py"
    text = label.read_text()
    label.write_text(f"open({str(tmp_path / 'mark')!r}, 'w')")
    assert hits(call()) == 1
    assert not (tmp_path / "mark").exists() and label.read_text() == text
    shared = tmp_path / "tmp" / "expectant-cache"  # where everybody could put things once
    shutil.copytree(kernel_cache, shared)
    (shared / label.parent.name / "kernel.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')")
    shutil.rmtree(kernel_cache)
    kernel_cache.write_text("")
    assert hits(call()) == 0
    assert not (tmp_path / "mark").exists()


def test_a_temporary_folder_made_by_somebody_else_is_not_used(tmp_path, monkeypatch, capfd):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXPECTANT_CACHE_DIR", str(tmp_path / "file"))
    planted = tmp_path / "tmp" / f"expectant-{os.geteuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    assert hits(call()) == 0 and not any(planted.iterdir())
    assert "compiled again by every process" in capfd.readouterr().err


def test_a_temporary_folder_behind_a_link_is_not_used(tmp_path, monkeypatch, capfd):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXPECTANT_CACHE_DIR", str(tmp_path / "file"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "tmp" / f"expectant-{os.geteuid()}").symlink_to(tmp_path / "mine")
    assert hits(call()) == 0 and not any((tmp_path / "mine").iterdir())
    assert "compiled again by every process" in capfd.readouterr().err


def test_the_cache_may_be_behind_a_link_of_ones_own(kernel_cache, tmp_path):
    (tmp_path / "scratch").mkdir(mode=0o700)
    kernel_cache.symlink_to(tmp_path / "scratch")
    call()
    assert hits(call()) == 1


# --------------------------------------------------------------------------------------- cleaning

LABEL = kernel_folders._LABEL
KEPT: dict[str, dict[str, str]] = {
    "thesis": {"kernel.py": LABEL, "thesis.tex": "all of it"},
    "0123456789abcdef0123456": {"kernel.py": LABEL},
    "0123456789ABCDEF01234567": {"kernel.py": LABEL},
    "0" * 24: {"kernel.py": "print('mine')\n"},
    "1" * 24: {"kernel.py": LABEL, "notes.txt": "mine"},
    "2" * 24: {"kernel.py": LABEL, "__pycache__/data.npy": "mine"},
    "3" * 24: {"kernel.py": LABEL, "__pycache__/more/kernel.1.nbc": "mine"},
    "4" * 24: {"kernel.py": LABEL, "inner/kernel.1.nbc": "mine"},
    "5" * 24: {"__pycache__/kernel.1.nbc": "mine"},
    "6" * 24: {"kernel.py": f"# mine\n{LABEL}"},
    "7" * 24: {},
}
GONE: dict[str, dict[str, str]] = {
    NAME: {
        "kernel.py": f"{LABEL}# and more\n",
        "kernel-12.tmp": "",
        "__pycache__/kernel.cpython-311.nbi": "",
        "__pycache__/kernel.cpython-311.1.nbc.tmp.0a1b": "",
    },
    "a" * 24: {  # as earlier versions made them
        "kernel.py": LABEL,
        "__pycache__/kernel.cpython-311.pyc": "",
        "__pycache__/kernel.simulate-100.py311.nbi": "",
        "__pycache__/kernel.simulate-100.py311.12.nbc": "",
    },
    "b" * 24: {"kernel.py": LABEL},
}


def make(directory: Path, folders: dict[str, dict[str, str]], days: int) -> None:
    for name, files in folders.items():
        (directory / name).mkdir(parents=True)
        for path, text in files.items():
            (directory / name / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / name / path).write_text(text)
        then = time.time() - days * 86400
        os.utime(directory / name, (then, then))


def test_only_old_kernels_are_removed(tmp_path):
    directory = tmp_path / "cache"
    make(directory, {**KEPT, **GONE}, kernel_folders.KEEP_DAYS + 1)
    make(directory, {"c" * 24: GONE[NAME]}, kernel_folders.KEEP_DAYS - 1)
    make(tmp_path, {"d" * 24: GONE[NAME]}, 999)
    (directory / ("d" * 24)).symlink_to(tmp_path / ("d" * 24))
    os.utime(directory / ("d" * 24), (0, 0), follow_symlinks=False)
    make(directory, {"e" * 24: {"kernel.py": LABEL}}, 999)
    (directory / ("e" * 24) / "__pycache__").symlink_to(tmp_path / ("d" * 24) / "__pycache__")
    os.utime(directory / ("e" * 24), (0, 0))
    (directory / "a file").write_text("")
    kernel_folders.forget_old(directory)
    left = {path.name for path in directory.iterdir()}
    assert left == {*KEPT, "c" * 24, "d" * 24, "e" * 24, "a file"}
    for name, files in KEPT.items():
        for path, text in files.items():
            assert (directory / name / path).read_text() == text
    assert len([*(tmp_path / ("d" * 24)).rglob("*")]) == len(GONE[NAME]) + 1


def test_old_kernels_are_removed_when_a_new_one_is_made(kernel_cache):
    make(kernel_cache, GONE, kernel_folders.KEEP_DAYS + 1)
    kernel_cache.chmod(0o700)
    call()
    assert not {path.name for path in kernel_cache.iterdir()} & set(GONE)


# ---------------------------------------------------------------------------------------- checked


@pytest.mark.parametrize("way", [0, 1, 2], ids=["verb", "function", "helper of Numba's"])
def test_a_checked_kernel_finds_what_is_beyond_an_array(way):
    plain: Any = compiling.kernel_for(shelf(), fill)
    checked: Any = compiling.kernel_for(shelf(), fill, checked=True)
    assert plain is not checked
    for at in (0, 3, -1):
        for kernel in (checked, plain):
            assert kernel(shelf(at, way)) == (at == 0)
    with pytest.raises(IndexError):
        checked(shelf(4, way))
    with pytest.raises(IndexError):
        checked(shelf(-5, way))


def test_checked_and_unchecked_kernels_live_side_by_side():
    for order in ((True, False), (False, True)):
        forget()
        shutil.rmtree(kernel_folders.cache_directory(), ignore_errors=True)
        for checked in order:
            kernel: Any = compiling.kernel_for(shelf(), fill, checked=checked)
            kernel(shelf())
            code = kernel.inspect_llvm(kernel.signatures[0])
            assert ("index is out of bounds" in code) == checked
    assert len(list(kernel_folders.cache_directory().iterdir())) == 2
    assert "index is out of bounds" not in put_by_numba.inspect_llvm().get(
        (numba.float64[::1], numba.int64), ""
    )


def test_a_right_part_has_the_same_bits_checked_and_unchecked(monkeypatch):
    monkeypatch.undo()  # with the kernels of all tests
    job = Job(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), episodes=20, step_limit=99)
    returns = []
    for kernel in (compiling.kernel_for(job.prepare(0)[0], checked=True), simulate):
        prepared, rng = job.prepare(0)
        kernel(prepared, job.budget(), rng, np.zeros(1, np.int64))
        returns.append(prepared.returns)
    np.testing.assert_array_equal(returns[0], returns[1])


class Rows(NamedTuple):
    rows: np.ndarray
    active: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    action: int
    way: int
    listed: np.ndarray


def add_up(part):
    part = borrowed(part)
    rows, active, weights = part.rows, part.active, part.weights
    if part.way == 0:
        return lanes.dot_rows(rows, part.action, active, weights)
    if part.way == 1:
        return lanes.dot_weighted_rows(rows, part.action, active, part.values, weights)
    if part.way == 3:
        return lanes.dot_listed(rows[0], part.listed, active[0], weights)
    if part.way == 4:
        lanes.sum_rows(weights, rows, part.action, active)
    if part.way == 5:
        lanes.sum_weighted_rows(weights, rows, part.action, active, part.values)
    if part.way in (4, 5):
        return weights[3]
    if part.way == 6:
        lanes.add_to_row(rows, part.action, active[0], 0.5, weights)
        return rows[part.action, active[0], 3]
    return lanes.dot_row(rows[0], active[0], weights)


BEYOND: list[dict[str, Any]] = [
    {"active": np.array([3, 0])}, {"active": np.array([-1, 0])}, {"weights": np.ones(16)},
    {"action": 2}, {"action": -1}, {"values": np.ones(1)},
]  # fmt: skip


LISTED: list[dict[str, Any]] = [
    *BEYOND[:2], {"listed": np.full((3, 8), 8)}, {"listed": np.full((3, 8), -1)},
    {"listed": np.zeros((3, 16), np.int64)},
]  # fmt: skip


def test_vector_code_is_checked_too():
    numbers = np.random.default_rng(0).normal(size=(2, 3, 8))
    listed = np.arange(24).reshape(3, 8) % 8
    right = Rows(numbers, np.array([0, 2]), np.array([0.5, 0.1]), numbers[0, 0] * 3, 1, 0, listed)
    checked: Any = compiling.kernel_for(right, add_up, checked=True)
    unchecked: Any = compiling.kernel_for(right, add_up)
    ways = (BEYOND[:5], BEYOND, BEYOND[:3], LISTED, BEYOND[:5], BEYOND, BEYOND[:5])
    for way, wrong in enumerate(ways):
        part = right._replace(way=way)
        copies = (part._replace(rows=numbers.copy(), weights=part.weights.copy()) for _ in range(3))
        found = [add(copy) for add, copy in zip((checked, unchecked, add_up), copies, strict=True)]
        assert found[0] == found[1] == found[2]
        for changes in wrong:
            with pytest.raises(IndexError):
                checked(part._replace(**changes))


def test_switching_all_checks_off_is_refused(monkeypatch):
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "0")
    with pytest.raises(ValueError, match="NUMBA_BOUNDSCHECK=0 in the environment"):
        compiling.kernel_for(shelf(), fill, checked=True)


# ------------------------------------------------------------------------------------ never stale


def test_a_helpers_constant_that_changes_in_the_process_is_seen(monkeypatch):
    def asked() -> float:
        kernel: Any = compiling.kernel_for(shelf(), ask)
        return kernel(shelf())

    assert asked() == 20.0
    assert put_by_numba(np.zeros(1), 0) == 10.0
    monkeypatch.setitem(globals(), "LIMIT", 3.0)
    assert asked() == 6.0
    assert put_by_numba(np.zeros(1), 0) == 10.0  # Python's own calls stay as Numba has it
    monkeypatch.undo()
    assert asked() == 20.0


def test_a_kernel_leaves_helpers_as_they_were(monkeypatch):
    helper = numba.njit(put_by_numba.py_func)
    monkeypatch.setitem(globals(), "put_by_numba", helper)
    kernel: Any = compiling.kernel_for(shelf(), fill, checked=True)
    kernel(shelf())
    assert helper.signatures == []
    helper(np.zeros(4), 0)
    assert len(helper.signatures) == 1  # it was compiled for this call


KINDS = """
import enum
from typing import NamedTuple
from expectant.dispatch import borrowed
from expectant.verbs import function, size

GOAL, START = 3.0, 4.0
LEFT, RIGHT = 5.0, 6.0
class Side(enum.IntEnum):
    UP = 1
    DOWN = 2
class Settings(NamedTuple):  # a class that is none of these cannot be compiled
    goal: float
    start: float
SETTINGS = Settings(7.0, 8.0)
@function
def usual(a=1.0, b=2.0): return a - 3.0 * b  # Numba has none that are keyword-only
def made(first, second):
    @function
    def inner(): return first - 3.0 * second
    return inner
closed = made(1.0, 2.0)

class Constant(NamedTuple):
    x: float
class Swapped(NamedTuple):
    x: float
class Member(NamedTuple):
    x: float
class Attribute(NamedTuple):
    x: float
class Default(NamedTuple):
    x: float
class Closure(NamedTuple):
    x: float
PARTS = (Constant, Swapped, Member, Attribute, Default, Closure)

@size.register(Constant)
def _(part): return part.x * GOAL + START
@size.register(Swapped)
def _(part): return part.x * LEFT - RIGHT
@size.register(Member)
def _(part): return part.x + (10 * Side.UP + Side.DOWN * 1)
@size.register(Attribute)
def _(part): return part.x * SETTINGS.goal - SETTINGS.start
@size.register(Default)
def _(part): return part.x + usual()
@size.register(Closure)
def _(part): return part.x + closed()

def ask(part):
    part = borrowed(part)
    return size(part)
"""
EDITS = (
    ("GOAL, START = 3.0", "GOAL, START = 4.0"),
    ("LEFT, RIGHT = 5.0, 6.0", "LEFT, RIGHT = 6.0, 5.0"),
    ("UP = 1\n    DOWN = 2", "UP = 2\n    DOWN = 1"),
    ("Settings(7.0, 8.0)", "Settings(8.0, 7.0)"),
    ("a=1.0, b=2.0", "a=2.0, b=1.0"),
    ("made(1.0, 2.0)", "made(2.0, 1.0)"),
)
ASK = """
import kinds
from expectant.engine.compile.compiling import kernel_for
for part in kinds.PARTS:
    kernel = kernel_for(part(1.0), kinds.ask)
    print(kernel(part(1.0)), kinds.ask(part(1.0)), sum(kernel.stats.cache_hits.values()))
"""


def test_every_kind_of_edit_is_seen_by_the_next_process(tmp_path):
    """Every part has a kernel of its own, so none is compiled again because of another's edit."""

    def ask() -> list[list[float]]:
        done = subprocess.run(
            [sys.executable, "-c", ASK], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]

    (tmp_path / "kinds.py").write_text(KINDS)
    assert ask() == [[7, 7, 0], [-1, -1, 0], [13, 13, 0], [-1, -1, 0], [-4, -4, 0], [-4, -4, 0]]
    text = KINDS
    for old, new in EDITS:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "kinds.py").write_text(f"# edited\n{text}")
    assert ask() == [[8, 8, 0], [1, 1, 0], [22, 22, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]]
