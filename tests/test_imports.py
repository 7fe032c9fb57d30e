from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import expectant

SOURCE = Path(expectant.__file__).parent

# Later layers may import earlier ones, never the other way; a name is a module or a folder.
LAYERS = [
    {"core", "version"},
    {"analysis", "step_sizes"},
    {"domains"},
    {"features"},
    {"exact"},
    {"backups"},
    {"models", "options"},
    {"agents"},
    {"checks", "engine", "jit"},
    {"report"},
    {"experiments"},
    {"diagnostics", "extend"},
    {"cli", "studies"},
]
# A result draws itself when it is asked to; the command `watch` reads config files.
ON_DEMAND = {("engine/result.py", "report"), ("report/watch.py", "experiments")}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def at_run_time(tree: ast.Module) -> Iterator[ast.AST]:
    """All that is written in a module but for what type checkers alone read."""
    conditions = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    typing = [node for node in conditions if "TYPE_CHECKING" in ast.unparse(node.test)]
    skipped = {id(inner) for node in typing for inner in ast.walk(node)}
    return (node for node in ast.walk(tree) if id(node) not in skipped)


def imported(path: Path) -> set[str]:
    found = set()
    for node in at_run_time(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("expectant"):
            parts = (node.module or "").split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("expectant.")}
    return found


def test_imports_flow_one_way():
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if own not in ("__init__", "__main__"):
            assert own in RANK, f"{own} has no place in the flow of imports"
            here = str(path.relative_to(SOURCE))
            later = {name for name in imported(path) if RANK.get(name, -1) > RANK[own]}
            later -= {name for file, name in ON_DEMAND if file == here}
            assert not later, f"{path} imports {later}, which come later"


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        (
            "import expectant",
            [
                "numba",
                "matplotlib",
                "scipy",
                "pyarrow",
                "plotly",
                "polars",
                "pydantic",
                "gymnasium",
            ],
        ),
        ("import expectant.analysis", ["numba", "matplotlib"]),
        (
            "import sys; sys.argv = ['expectant', '--help']\n"
            "from expectant.cli import main\n"
            "try: main()\nexcept SystemExit: pass",
            ["numba", "matplotlib", "scipy", "plotly", "polars", "gymnasium", "numpy.testing"],
        ),
    ],
    ids=["import", "analysis", "help"],
)
def test_light_commands_import_no_heavy_libraries(statement, absent):
    code = f"{statement}\nimport sys\nprint([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_public_names_exist_and_are_all_that_is_listed():
    assert dir(expectant) == sorted(set(expectant.__all__)) == sorted(expectant.__all__)
    for name in expectant.__all__:
        assert hasattr(expectant, name)


def edges() -> dict[str, set[str]]:
    """Which modules import which, when they are imported or later; not for types alone."""
    modules = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(("expectant", *path.relative_to(SOURCE).with_suffix("").parts))
        modules[name.removesuffix(".__init__")] = ast.parse(path.read_text())
    found: dict[str, set[str]] = {}
    for name, tree in modules.items():
        wanted = {
            f"{node.module}.{alias.name}"
            for node in at_run_time(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        known = {each if each in modules else each.rpartition(".")[0] for each in wanted}
        found[name] = (known & set(modules)) - {name}
    return found


def test_no_modules_import_each_other():
    left = edges()
    while True:  # take away what imports nothing that is left
        free = {name for name, imports in left.items() if not imports & set(left)}
        if not free:
            break
        left = {name: imports for name, imports in left.items() if name not in free}
    assert not left, f"in a circle, or above one: {sorted(left)}"
