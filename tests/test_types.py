"""Outside compiled code every function says what it takes and returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import expectant

SOURCE = Path(expectant.__file__).parent
COMPILED = ("function", "intrinsic", "overload", "verb", "optional", "unbox", "typeof_impl")
NUMBAS = SOURCE / "engine" / "compile"  # what Numba calls with whatever it likes

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST, compiled: bool = False) -> Iterator[tuple[Function, bool]]:
    """All functions, and whether they are compiled, or within one that is."""
    for node in ast.iter_child_nodes(tree):
        inner = compiled
        if isinstance(node, Function):
            inner = compiled or any(map(is_compiled, node.decorator_list))
            yield node, inner
        yield from functions(node, inner)


def is_compiled(decorator: ast.expr) -> bool:
    words = ast.unparse(decorator)
    return words.split("(")[0].split(".")[-1] in (*COMPILED, "register")


def untyped(function: Function) -> list[str]:
    arguments = function.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    listed += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    missing = [a.arg for a in listed if a.annotation is None and a.arg not in ("self", "cls")]
    return missing + ([] if function.returns is not None else ["its return"])


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_functions_say_what_they_take_and_return(path):
    if NUMBAS in path.parents:
        return
    tree = ast.parse(path.read_text())
    silent = {
        f"{function.name}, line {function.lineno}": untyped(function)
        for function, compiled in functions(tree)
        if not compiled and untyped(function)
    }
    assert not silent
