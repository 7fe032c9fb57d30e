"""Every kind of change in code is noticed, and nothing that does not matter is."""

from __future__ import annotations

import copyreg
import functools
import itertools
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from loading import module_at

import expectant as ex
from expectant import version
from expectant.core import dispatch
from expectant.engine import workers
from expectant.engine.loop import simulate
from expectant.jit import code_hash, numba_internals, overloads, reductions
from expectant.jit import compile as kernels

USER = '''
import enum, functools, types
from typing import NamedTuple
import numba, numpy as np
import user_other
from user_other import imported
from expectant.core.verbs import function, observation, optional, state_index, step

GOAL, START = 3, 4
SMALL = 0.0
TABLE = (1, (2, "x"))
LISTED, MAPPED, SETTED = [1, 2], {"a": 1, "b": 2}, {"north", "south"}
ARRAY = np.array([1.0, 2.0])
NUMBER = np.float64(1.5)
OBJECT = types.SimpleNamespace(goal=3, left=4)
PARTIAL = functools.partial(pow, 3)
KIND = np.float64

class Side(enum.IntEnum):
    LEFT = 1
    RIGHT = 2

CHOSEN = Side.LEFT

class Base:
    FLOOR = 0

class Settings(Base):
    GOAL = 5
    START = 6
    def method(self): return 7
    @staticmethod
    def fixed(): return 8
    @property
    def derived(self): return 9
    @functools.cached_property
    def kept(self): return 10

def one(): return 11
def other(): return 22
FUNCTIONS = (one, other)
which = one
max = one
def with_default(a=1, b=2): return a - b
def with_keyword(*, a=1, b=2): return a - b
def with_attribute(): return 0
with_attribute.limit = 12
def made(first, second):
    def inner(): return first - second
    return inner
closed = made(1, 2)
lambdas = [lambda x=i: x for i in range(2)]
@functools.lru_cache
def remembered(): return 13
@numba.njit(fastmath=True)
def compiled(x): return x + 14
@numba.vectorize
def spread(x): return x + 15
@function
def recursive(n): return n if n < 2 else recursive(n - 1) + even(n - 2)
def even(n): return n == 0 or recursive(n - 1)
@optional
def verb_of_ours(part): return 16
def stub(x): return x
@numba.extending.overload(stub)
def instead_of_stub(x): return lambda x: x + 17

class Part(NamedTuple):
    now: int
    then: int = 18
    EXTRA = 19

class Inner(NamedTuple):
    now: int

@step.register(Part)
def _(part, action, rng):
    """What it does."""
    local = user_other
    return (
        GOAL, START, SMALL, TABLE, LISTED, MAPPED, SETTED, ARRAY, NUMBER, OBJECT, PARTIAL, KIND,
        CHOSEN, Side.RIGHT, Settings.GOAL, FUNCTIONS, one(), other(), with_default(), with_keyword(),
        with_attribute.limit, closed(), lambdas, remembered(), compiled(1.0), spread(1.0),
        recursive(3), verb_of_ours(part), stub(1), imported, user_other.CONSTANT, user_other.inner,
        local.THROUGH_A_LOCAL, getattr(user_other, "BY_TEXT"), user_other.tools.DEEP, Inner,
        which(), max(), min(), [GOAL in {"p", "q"} for n in range(2)], (lambda: 20)(),
    )

@observation.register(Part)
def _(part):
    return part.now
'''

OTHER = """
import types
CONSTANT, THROUGH_A_LOCAL, BY_TEXT, UNUSED = 1, 2, 3, 4
imported = 5
def inner(): return CONSTANT
tools = types.ModuleType("tools")
tools.DEEP = 6
"""

CHANGES = {
    "a global constant, to a value found elsewhere": ("GOAL, START = 3, 4", "GOAL, START = 4, 4"),
    "swapped constants": ("GOAL, START = 3, 4", "GOAL, START = 4, 3"),
    "the sign of zero": ("SMALL = 0.0", "SMALL = -0.0"),
    "a tuple inside a tuple": ('(1, (2, "x"))', '(1, (2, "y"))'),
    "values of a dictionary": ('{"a": 1, "b": 2}', '{"a": 2, "b": 1}'),
    "a set": ('"south"}', '"west"}'),
    "an array": ("np.array([1.0, 2.0])", "np.array([2.0, 1.0])"),
    "the layout of an array": ("np.array([1.0, 2.0])", "np.array([1.0, 9.0, 2.0, 9.0])[::2]"),
    "swapped attributes of an object": ("goal=3, left=4", "goal=4, left=3"),
    "what a partial function holds": ("partial(pow, 3)", "partial(pow, 4)"),
    "a member of an enumeration": ("RIGHT = 2", "RIGHT = 3"),
    "which member": ("CHOSEN = Side.LEFT", "CHOSEN = Side.RIGHT"),
    "a class attribute": ("    GOAL = 5", "    GOAL = 6"),
    "a method": ("return 7", "return 8"),
    "a cached property": ("return 10", "return 8"),
    "swapped bodies": (
        "def one(): return 11\ndef other(): return 22",
        "def one(): return 22\ndef other(): return 11",
    ),
    "swapped functions in a tuple": ("FUNCTIONS = (one, other)", "FUNCTIONS = (other, one)"),
    "which of two helpers a name stands for": ("which = one", "which = other"),
    "which of Python's own functions is another here": ("max = one", "min = one"),
    "swapped defaults": ("with_default(a=1, b=2)", "with_default(a=2, b=1)"),
    "swapped keyword-only defaults": ("with_keyword(*, a=1, b=2)", "with_keyword(*, a=2, b=1)"),
    "a function's attribute": ("limit = 12", "limit = 11"),
    "swapped closure values": ("made(1, 2)", "made(2, 1)"),
    "what a cached function wraps": ("return 13", "return 12"),
    "the body of a compiled helper": ("x + 14", "x + 13"),
    "the options of a compiled helper": ("fastmath=True", "fastmath=False"),
    "a universal function": ("x + 15", "x + 14"),
    "one function of a circle": ("n == 0 or", "n == 1 or"),
    "an optional verb's own body": ("return 16", "return 15"),
    "what stands in for a stub": ("x + 17", "x + 16"),
    "a default of a part's field": ("then: int = 18", "then: int = 19"),
    "a constant of a part's class": ("EXTRA = 19", "EXTRA = 18"),
    "names of a part's fields": ("class Inner(NamedTuple):\n    now", "class Inner(NamedTuple):\n    here"),
    "a constant in a function in the code": ("lambda: 20", "lambda: 21"),
    "a verb for another part": ("@observation.register(Part)", "@observation.register(Inner)"),
    "another verb": ("@observation.register(Part)", "@state_index.register(Part)"),
}  # fmt: skip

CHANGES_ELSEWHERE = {
    "an imported constant": ("imported = 5", "imported = 4"),
    "a module's attribute": ("UNUSED = 1, 2, 3, 4", "UNUSED = 2, 2, 3, 4"),
    "an attribute read by text": ("UNUSED = 1, 2, 3, 4", "UNUSED = 1, 2, 4, 4"),
    "a module within a module": ("DEEP = 6", "DEEP = 5"),
    "a helper of a module": ("return CONSTANT", "return -CONSTANT"),
}

NO_CHANGES = {
    "nothing": ("", ""),
    "a comment and other lines": ("GOAL, START = 3, 4", "\n# where to go\n\nGOAL, START = 3, 4"),
    "a global with the name of an attribute": ("SMALL = 0.0", "SMALL = 0.0\nlimit = 12"),
    "a docstring": ('"""What it does."""', '"""What it really does."""'),
    "how it is written": ("def one(): return 11", "def one():\n    return (11)"),
    "a function that nothing uses": ("def one()", "def unused(): return 0\ndef one()"),
    "the order of a set": ('{"north", "south"}', '{"south", "north"}'),
}

_files = itertools.count()


def load(folder: Path, user: str = USER, other: str = OTHER) -> types.ModuleType:
    """The user's two modules, from a new place."""
    for name, text in (("user_other", other), ("user_part", user)):
        path = folder / f"{next(_files)}.py"
        path.write_text(text)
        module = module_at(path, name)
    return module


def name(module: Any, **options: Any) -> str:
    return code_hash.hash_kernel(simulate, [module.Part], **options).name


@pytest.fixture(autouse=True)
def _leave_no_traces(monkeypatch):
    for module in ("user_part", "user_other"):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    declared: tuple[list[Any], ...] = (dispatch.VERBS, dispatch.FUNCTIONS)
    kept = [list(each) for each in declared]
    implementations = [(each, dict(each.implementations)) for each in dispatch.VERBS]
    yield
    for each, before in zip(declared, kept, strict=True):
        each[:] = before
    for verb, known in implementations:
        verb.implementations.clear()
        verb.implementations.update(known)


def edited(text: str, change: tuple[str, str]) -> str:
    assert change[0] in text
    return text.replace(*change, 1)


@pytest.fixture(scope="module")
def before(tmp_path_factory) -> str:
    return name(load(tmp_path_factory.mktemp("before")))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed(change, before, tmp_path):
    assert name(load(tmp_path, edited(USER, CHANGES[change]))) != before


@pytest.mark.parametrize("change", CHANGES_ELSEWHERE)
def test_a_change_in_another_module_is_noticed(change, before, tmp_path):
    assert name(load(tmp_path, USER, edited(OTHER, CHANGES_ELSEWHERE[change]))) != before


@pytest.mark.parametrize("change", NO_CHANGES)
def test_what_does_not_matter_is_not_noticed(change, before, tmp_path):
    assert name(load(tmp_path, edited(USER, NO_CHANGES[change]))) == before


def test_the_name_is_the_same_in_other_processes(before, tmp_path):
    (tmp_path / "user_part.py").write_text(USER)
    (tmp_path / "user_other.py").write_text(OTHER)
    code = (
        "import user_part\nfrom expectant.jit.code_hash import hash_kernel\n"
        "from expectant.engine.loop import simulate\n"
        "print(hash_kernel(simulate, [user_part.Part]).name)"
    )
    for seed in ("1", "2"):  # the second time from the compiled files that Python has written
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.stdout.strip() == before


# ------------------------------------------------------------------- what is not the user's code


@pytest.mark.parametrize(
    ("package", "called"), [(version, "VERSION"), (numba, "__version__"), (np, "__version__")]
)
def test_versions_belong_to_it(package, called, monkeypatch, before, tmp_path):
    monkeypatch.setattr(package, called, "0.0.0")
    assert name(load(tmp_path)) != before


def _another(vector: Any) -> Any:
    return vector


@pytest.mark.parametrize(("module", "attribute", "value"), [
    (reductions, "_LANES", 4),
    (reductions, "_dot_row", _another),
    (reductions._Array, "element", _another),
    (overloads, "STREAMS", ("world",)),
    (overloads, "inlined_options", _another),
    (numba_internals, "_remove_owner", _another),
])  # fmt: skip
def test_the_code_generator_belongs_to_it(module, attribute, value, monkeypatch, before, tmp_path):
    monkeypatch.setattr(module, attribute, value)
    assert name(load(tmp_path)) != before


@pytest.mark.parametrize(("switch", "value"), [
    ("BOUNDSCHECK", "1"), ("OPT", "1"), ("CPU_NAME", "generic"), ("DISABLE_INTEL_SVML", "1"),
])  # fmt: skip
def test_settings_of_numba_belong_to_a_kernel_but_not_to_results(switch, value, monkeypatch):
    def names() -> tuple[str, str]:
        options = numba_internals.settings()
        return (
            code_hash.hash_kernel(simulate, [], options).name,
            code_hash.hash_kernel(simulate, []).name,
        )

    kernel, results = names()
    monkeypatch.setenv(f"NUMBA_{switch}", value)
    changed, same = names()
    monkeypatch.undo()
    assert names() == (kernel, results)
    assert changed != kernel and same == results


class Cached:
    @functools.cached_property
    def double(self) -> int:
        return 2


WORLD = Cached()


def test_cached_properties_change_no_name():
    def reads() -> object:
        return WORLD

    before = code_hash.hash_kernel(reads, ()).name
    assert WORLD.double == 2 and "double" in vars(WORLD)
    assert code_hash.hash_kernel(reads, ()).name == before


def test_pickling_a_part_changes_no_name():
    """It leaves a mark on the class, which is not code."""

    class OwnPart(NamedTuple):
        weights: np.ndarray

    before = code_hash.hash_kernel(simulate, (OwnPart,)).name
    copyreg._slotnames(OwnPart)  # type: ignore[attr-defined]
    assert "__slotnames__" in vars(OwnPart)
    assert code_hash.hash_kernel(simulate, (OwnPart,)).name == before


def test_the_state_of_the_package_changes_no_name(monkeypatch):
    """Code that mentions the package and anything called ``run`` does not depend on its caches."""

    def mentions(part):
        return ex.LANES * part.run

    before = code_hash.digest(code_hash.walk([mentions]))
    monkeypatch.setitem(kernels._kernels, "another", mentions)
    monkeypatch.setattr(workers, "_idle", [mentions])
    assert code_hash.digest(code_hash.walk([mentions])) == before
