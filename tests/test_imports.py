from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

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
    {"extend"},
    {"cli", "studies"},
]
# A result draws itself when it is asked to; the command `watch` reads config files.
ON_DEMAND = {("engine.result", "report"), ("report.animation", "experiments")}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def run_time_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all nodes except those under ``if TYPE_CHECKING``."""
    conditions = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    typing = [node for node in conditions if "TYPE_CHECKING" in ast.unparse(node.test)]
    skipped = {id(inner) for node in typing for inner in ast.walk(node)}
    return (node for node in ast.walk(tree) if id(node) not in skipped)


def import_graph() -> dict[str, set[str]]:
    """Return the modules of the package that each of them imports, at once or later."""
    modules = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        modules[name.removesuffix(".__init__")] = ast.parse(path.read_text())
    graph = {}
    for name, tree in modules.items():
        names = set()
        for node in run_time_nodes(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                names |= {f"{alias.name}.*" for alias in node.names}
        names = {n.removeprefix("expectant.") for n in names if n.startswith("expectant.")}
        names = {n if n in modules else n.rpartition(".")[0] for n in names}
        graph[name] = (names & set(modules)) - {name}
    return graph


GRAPH = import_graph()


def test_imports_flow_one_way():
    for module, imports in GRAPH.items():
        folder = module.partition(".")[0]
        if folder not in ("__init__", "__main__"):
            later = {name for name in imports if RANK[name.partition(".")[0]] > RANK[folder]}
            later -= {name for name in later if (module, name.partition(".")[0]) in ON_DEMAND}
            assert not later, f"{module} imports {later}, which come later"


def test_no_modules_import_each_other():
    TopologicalSorter(GRAPH).prepare()  # raises CycleError


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import expectant", ["numba", "matplotlib", "scipy", "pyarrow", "gymnasium"]),
        ("import expectant.analysis", ["numba", "matplotlib"]),
        (
            "import sys; sys.argv = ['expectant', '--help']\n"
            "from expectant.cli import main\n"
            "try: main()\nexcept SystemExit: pass",
            ["numba", "matplotlib", "scipy", "gymnasium", "numpy.testing"],
        ),
    ],
    ids=["import", "analysis", "help"],
)
def test_light_commands_import_no_heavy_libraries(statement, absent):
    code = f"{statement}\nimport sys\nprint([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_completion_shows_exactly_the_public_names():
    assert dir(expectant) == sorted(set(expectant.__all__)) == sorted(expectant.__all__)
    for name in expectant.__all__:
        public = getattr(expectant, name)
        if isinstance(public, ModuleType):
            assert dir(public) == sorted(public.__all__), name
            assert all(hasattr(public, each) for each in public.__all__)
    assert not [name for name in dir(expectant.Lookahead()) if name.startswith("_")]
