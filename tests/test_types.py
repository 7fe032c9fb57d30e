"""Outside compiled code every function says what it takes and returns; public ones never ``Any``."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


def listed(function: Function) -> list[ast.arg]:
    arguments = function.args
    extra = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def untyped(function: Function) -> list[str]:
    own = [a for a in listed(function) if a.arg not in ("self", "cls")]
    missing = [a.arg for a in own if a.annotation is None]
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


# What users import, and what they are told of by name in the documentation.
PUBLIC = [
    "expectant",
    "expectant.analysis",
    "expectant.backups",
    "expectant.diagnostics",
    "expectant.exact",
    "expectant.exact.targets",
    "expectant.extend",
    "expectant.lanes",
    "expectant.parts",
    "expectant.rules",
    "expectant.show",
    "expectant.step_sizes",
    "expectant.updates",
    "expectant.verbs",
    "expectant.watching.recording",
]
TREES = {
    ".".join(("expectant", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): ast.parse(path.read_text())
    for path in SOURCE.rglob("*.py")
}
Definition = ast.ClassDef | Function
# Where anything goes: the types of parts are known to their authors alone.
ANYTHING = {
    "Domain.judge_in(part)": "a domain's own part, which a domain may name",
    "Run.agent": "a part, whose arrays are looked at after a run",
    "Run.domain": "the same",
    "Run.features": "the same",
    "Experiment.common()": "arguments of a cell, handed on",
}


class Written(NamedTuple):
    """Something at the top of a module, such as a class or what a name is assigned."""

    module: str
    node: ast.AST


@functools.cache
def written_in(module: str) -> dict[str, ast.AST]:
    """What stands at the top of a module, by its name."""
    named: dict[str, ast.AST] = {}
    for node in reversed(TREES[module].body):  # the first of a name counts
        if isinstance(node, Definition):
            named[node.name] = node
        if isinstance(node, ast.Assign):
            named.update({ast.unparse(target): node.value for target in node.targets})
    return named


@functools.cache
def imported_into(module: str) -> dict[str, tuple[str, str]]:
    """Module and name of everything of ours that a module imports, by its name there."""
    named: dict[str, tuple[str, str]] = {}
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom) and node.module in TREES.keys() - {module}:
            for alias in node.names:
                named.setdefault(alias.asname or alias.name, (str(node.module), alias.name))
    return named


@functools.cache
def found(module: str, name: str) -> Written | None:
    """Where a name of a module is written, followed through imports, those for types too."""
    if name in written_in(module):
        return Written(module, written_in(module)[name])
    if name in imported_into(module):
        return found(*imported_into(module)[name])
    return None


def names_in(module: str, *written: ast.AST | None) -> dict[str, Written | None]:
    """The names in annotations of a module, and in the aliases that those are; what each is."""
    names: dict[str, Written | None] = {}
    left = [Written(module, each) for each in written if each is not None]
    while left:
        at, node = left.pop()
        for name in set(re.findall(r"\w+", ast.unparse(node))) - names.keys():
            names[name] = meant = found(at, name)
            if meant is not None and not isinstance(meant.node, Definition):
                left.append(meant)
    return names


def said_of_types(defined: Definition) -> Iterator[tuple[str, ast.expr | None]]:
    """What a definition says of types, with a name for each: public methods and fields alone."""
    in_class = isinstance(defined, ast.ClassDef)
    for node in defined.body if in_class else [defined]:
        said: dict[str, ast.expr | None] = {}
        name = ""
        if isinstance(node, ast.AnnAssign):
            name, said = ast.unparse(node.target), {"": node.annotation}
        elif isinstance(node, Function) and not any(map(is_compiled, node.decorator_list)):
            name, said = node.name, {f"({a.arg})": a.annotation for a in listed(node)}
            said["()"] = node.returns
        if not name.startswith("_") or name in ("__init__", "__call__"):
            place = f"{defined.name}.{name}" if in_class else name
            yield from ((place + which, annotation) for which, annotation in said.items())


def offered(module: str) -> Iterator[Written | None]:
    """What users find in a module: what it lists, or all that it has."""
    loaded = importlib.import_module(module)
    for name in getattr(loaded, "__all__", dir(loaded)):
        home = getattr(getattr(loaded, name), "__module__", None)  # of what is imported when used
        yield found(home if home in TREES else module, name)


def public() -> dict[Definition, str]:
    """What the public modules offer, and the classes that this names or derives from; where."""
    known: dict[Definition, str] = {}
    left = [written for module in PUBLIC for written in offered(module)]
    while left:
        written = left.pop()
        node = None if written is None else written.node
        if written is None or not isinstance(node, Definition) or node in known:
            continue
        module = known[node] = written.module
        bases = node.bases if isinstance(node, ast.ClassDef) else []
        named = names_in(module, *bases, *(annotation for _, annotation in said_of_types(node)))
        left += [each for each in named.values() if each and isinstance(each.node, ast.ClassDef)]
    return known


def test_nothing_public_takes_or_gives_just_anything():
    said = {
        place: names_in(module, annotation)
        for node, module in public().items()
        for place, annotation in said_of_types(node)
    }
    assert len(said) > 1000  # otherwise it has looked in the wrong place
    assert {place for place, names in said.items() if "Any" in names} == set(ANYTHING)


def test_type_checkers_know_where_every_name_comes_from():
    """What is imported when it is first used, too."""
    known = {
        alias.asname or alias.name
        for node in ast.walk(TREES["expectant"])
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(expectant.__all__) <= known
