"""The core needs NumPy, Numba and SciPy only; all else says what to install."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from expectant.core.errors import EXTRAS, MissingExtra, require_extra

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EVERYTHING = [module for modules in EXTRAS.values() for module in modules]
ARGUMENTS = {  # of commands that require some
    "run": ["cart-pole"], "best": ["results"],
    "report": ["results"], "try": ["CartPole-v1"], "show": ["lookahead"],
}  # fmt: skip
ALONE = {"list", "show"}  # commands that need the command line only


def without(modules: list[str], code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that cannot import some modules."""
    block = f"import sys\nfor name in {modules!r}: sys.modules[name] = None\n"
    command = [sys.executable, "-W", "error", "-c", block + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_extras_are_those_of_the_project():
    listed = PROJECT["project"]["optional-dependencies"]
    assert set(listed) == {*EXTRAS, "all"}
    for extra, modules in EXTRAS.items():
        assert [re.split(r"[<>=]", line)[0] for line in listed[extra]] == list(modules)


def test_what_is_missing_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    require_extra("a table", "gym")
    with pytest.raises(
        MissingExtra, match=r"^a table needs pyarrow: pip install 'expectant\[experiments\]'$"
    ):
        require_extra("a table", "experiments", "gym")


def test_the_core_runs_alone_and_says_what_the_rest_needs(tmp_path):
    code = """
import expectant as ex
ex.exact.optimal_values(ex.Corridor())
agents = {"a": ex.Lookahead(0.1), "b": ex.QLearning(0.1)}
found = ex.compare(ex.Corridor(), ex.OneHot(), agents, episodes=5, runs=2, compiled=False)
result = found.results["a"]
print(repr(result)[:6])
sweep = ex.Sweep(domain=ex.Corridor(), features=ex.OneHot(), agents=agents, episodes=5, runs=1)
for ask in (
    result.plot, result.table, found.plot, sweep.run,
    lambda: ex.Gym("CartPole-v1").actions,
    lambda: ex.watch(ex.Corridor(), ex.OneHot(), ex.QLearning(0.1), "a.gif", episodes=5),
):
    try:
        ask()
    except ImportError as error:
        print(error)
"""
    done = without(EVERYTHING, code, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    start = lines.index("Result")
    wanted = ["report", "experiments", "report", "experiments", "gym", "report"]
    asked = [re.search(r"pip install 'expectant\[(\w+)\]'$", line) for line in lines[start + 1 :]]
    assert [found and found[1] for found in asked] == wanted


def test_the_command_line_says_what_it_needs_itself(tmp_path):
    done = without(EVERYTHING, "import expectant.__main__ as m\nm.main()", tmp_path)
    assert done.returncode == 2
    sentence = "the command line needs typer and rich: pip install 'expectant[cli]'"
    assert done.stderr == f"expectant: {sentence}\n"


def test_every_command_works_or_says_which_extra_it_needs(tmp_path):
    """In one process, because starting one takes most of the time."""
    code = f"""
from typer.main import get_command
from typer.testing import CliRunner
from expectant.cli import app
for name in get_command(app).commands:
    done = CliRunner().invoke(app, [name, *{ARGUMENTS!r}.get(name, [])])
    print(name, done.exit_code, done.stderr.strip().splitlines()[-1:])
"""
    beyond = [module for module in EVERYTHING if module not in EXTRAS["cli"]]
    done = without(beyond, code, tmp_path)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        name, status, said = line.split(" ", 2)
        if name in ALONE:
            assert (status, said) == ("0", "[]"), line
        else:
            assert status == "2" and "pip install 'expectant[" in said, line
    assert not list(tmp_path.iterdir())


def build_hook() -> dict[str, Any]:
    """The names in hatch_build.py, which a build alone can import."""
    code = (ROOT / "hatch_build.py").read_text().replace("from hatchling", "# from hatchling")
    scope: dict[str, Any] = {"MetadataHookInterface": object}
    exec(code, scope)
    return scope


def test_links_of_the_readme_work_away_from_the_repository():
    scope = build_hook()
    text = "[a](docs/a.md#b) ![p](docs/p.png) [c](https://x.org) [d](#e)"
    there = scope["index_readme"](text, "https://host/owner/name/", "1.2")
    assert there == (
        "[a](https://host/owner/name/blob/v1.2/docs/a.md#b) "
        "![p](https://host/owner/name/raw/v1.2/docs/p.png) [c](https://x.org) [d](#e)"
    )
    assert scope["index_readme"](text, "", "1.2") == "a  [c](https://x.org) [d](#e)"


def test_the_lock_has_everything_for_development_and_no_addresses():
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    locked = {re.sub(r"[-_.]+", "-", line.split("==")[0].lower()) for line in lines}
    groups, extras = PROJECT["dependency-groups"], PROJECT["project"]["optional-dependencies"]
    wanted = [
        *PROJECT["project"]["dependencies"],
        *(line for name, lines in groups.items() if name != "dev" for line in lines),
        *(line for name, lines in extras.items() if name not in ("all", "ray") for line in lines),
    ]
    assert {re.split(r"[<>=]", line)[0] for line in wanted} <= locked
