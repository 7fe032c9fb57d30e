"""Outside compiled code every function says what it takes and returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import expectant

SOURCE = Path(expectant.__file__).parent
COMPILED = ("function", "intrinsic", "overload", "verb", "optional", "unbox", "typeof_impl")
NUMBA = SOURCE / "engine" / "compile"  # called by Numba with untyped arguments
Function = ast.FunctionDef | ast.AsyncFunctionDef


def plain_functions(tree: ast.AST) -> Iterator[Function]:
    """Yield all functions that are not compiled, nor within one that is."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            names = [ast.unparse(each).split("(")[0].split(".")[-1] for each in node.decorator_list]
            if {*names} & {*COMPILED, "register"}:
                continue
            yield node
        yield from plain_functions(node)


def is_typed(function: Function) -> bool:
    given = function.args
    extra = [each for each in (given.vararg, given.kwarg) if each is not None]
    listed = [*given.posonlyargs, *given.args, *given.kwonlyargs, *extra]
    own = [argument for argument in listed if argument.arg not in ("self", "cls")]
    return function.returns is not None and all(argument.annotation for argument in own)


def test_functions_say_what_they_take_and_return():
    untyped = [
        f"{path.relative_to(SOURCE)}:{function.lineno} {function.name}"
        for path in SOURCE.rglob("*.py")
        if NUMBA not in path.parents
        for function in plain_functions(ast.parse(path.read_text()))
        if not is_typed(function)
    ]
    assert not untyped


def test_type_checkers_know_where_every_name_comes_from():
    """Also what is imported when it is first used."""
    tree = ast.parse(Path(expectant.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    known = {alias.asname or alias.name for node in imports for alias in node.names}
    assert set(expectant.__all__) <= known
