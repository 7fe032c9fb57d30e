"""The documentation names what exists: links, commands, options, modules, configs."""

from __future__ import annotations

import importlib
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import expectant
from expectant import extend
from expectant.agents import FreezeAfter, PlanningOnly
from expectant.cli import app
from expectant.cli.catalogue import catalogue
from expectant.core import verbs
from expectant.core.config import KINDS
from expectant.experiments.metrics import METRICS
from expectant.experiments.probes import PROBES

ROOT = Path(__file__).parents[1]
README, DOCS = ROOT / "README.md", ROOT / "docs"
PAGES = [README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
present_page = pytest.mark.parametrize(  # the changelog names what earlier versions had
    "page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.stem
)
PROGRAM: Any = get_command(app)


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text()) if found == language]


def prose(page: Path) -> str:
    return BLOCK.sub("", page.read_text())


def inline(page: Path) -> list[str]:
    """Code within the text of a page."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"<!--.*?-->", "", prose(page)))


def rows(page: Path, first: str) -> list[list[str]]:
    """The rows of the table whose head begins with ``first``, cell by cell."""
    lines = prose(page).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(first))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path) if path else page
        assert found.exists(), f"{target} does not exist"
        assert found.resolve().is_relative_to(ROOT), f"{target} is outside the project"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text(), re.MULTILINE)
            assert anchor in map(slug, headings), f"{target}: no such heading"


def test_pages_keep_to_their_length():
    def words(*pages: Path) -> int:
        return sum(len(page.read_text().split()) for page in pages)

    assert words(README) <= 700
    assert words(README, *DOCS.rglob("*.md")) <= 30_000
    for page in (DOCS / "agents").glob("*.md"):
        assert words(page) <= 350, page


@every_page
def test_pictures_are_described(page):
    assert not re.findall(r"!\[\s*\]\([^)]*\)", prose(page))


@every_page
def test_configs_are_valid(page):
    for text in blocks(page, "toml"):
        if "[domain]" in text:  # the other files of a study are tested with it
            assert expectant.Sweep.from_toml(text)


def test_the_config_of_the_quickstart_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (text,) = blocks(DOCS / "quickstart.md", "toml")
    Path("corridor.toml").write_text(text)
    result = CliRunner().invoke(app, ["run", "corridor.toml"])
    assert result.exit_code == 0, result.output
    assert Path("results/corridor/report.html").exists()


# -------------------------------------------------------------------------------- commands and names


def commands(page: Path) -> list[list[str]]:
    """The words of every ``expectant …`` and ``make …`` that a page mentions."""
    lines = [line for text in blocks(page, "sh") for line in text.splitlines()]
    return [
        shlex.split(line, comments=True)
        for line in [*lines, *inline(page)]
        if re.match(r"(expectant|make) ", line)
    ]


@present_page
def test_commands_and_their_options_exist(page):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for tool, *words in commands(page):
        if tool == "make":
            assert words[0] in targets, f"no target {words[0]}"
            continue
        known = PROGRAM if words[0].startswith("-") else PROGRAM.commands.get(words[0])
        assert known is not None, f"no command {words[0]}"
        options = {option for parameter in known.params for option in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("-")} <= options, words
    options = {o for c in PROGRAM.commands.values() for p in c.params for o in p.opts}
    alone = {text.split()[0] for text in inline(page) if text.startswith("--")}
    assert alone <= options


def test_the_readme_shows_the_two_main_commands():
    assert {("make", "reproduce"), ("make", "test")} <= {tuple(words) for words in commands(README)}


@present_page
def test_modules_functions_and_files_exist(page):
    for text in inline(page):
        if re.fullmatch(r"expectant(\.\w+)+", text):
            resolve(text)
        elif re.fullmatch(r"(src|examples|docs|benchmarks|tests)/[\w/.-]+", text):
            assert (ROOT / text).exists(), text
        elif found := re.match(r"ex\.([\w.]+)", text):
            resolve(f"expectant.{found[1].rstrip('.')}")


def resolve(name: str) -> Any:
    """The module or object of a dotted name."""
    names = name.split(".")
    for length in range(len(names), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(names[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in names[length:]:
            assert hasattr(thing, attribute), f"{name} does not exist"
            thing = getattr(thing, attribute)
        return thing
    raise AssertionError(f"{name} does not exist")


def test_every_public_name_exists():
    for module in (expectant, extend, verbs):
        assert len(module.__all__) == len(set(module.__all__))
        for name in module.__all__:
            assert getattr(module, name) is not None
        assert set(module.__all__) <= set(dir(module))


def test_authors_of_components_import_from_one_place():
    page = DOCS / "own-parts.md"
    assert set(re.findall(r"from expectant\.(\w+) import", page.read_text())) == {"extend"}
    for kind, required, optional, _ in rows(page, "| kind |"):
        named = set(re.findall(r"`([a-z_]+)`", required + optional))
        assert named and named <= set(extend.__all__), kind


def test_metrics_and_probes_of_the_guide_exist():
    for first, known in (("| metric |", METRICS), ("| probe |", PROBES)):
        for names, _ in rows(DOCS / "own-study.md", first):
            assert set(re.findall(r"`([^`]+)`", names)) <= set(known)


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == expectant.__version__
    assert f"\nversion: {expectant.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize(
    "kind",
    [
        found["kind"]
        for found in catalogue()
        if found["group"] == "agents"
        and KINDS[found["kind"]].__module__.startswith("expectant.")  # not those of other tests
        and not issubclass(KINDS[found["kind"]], FreezeAfter | PlanningOnly)
    ],
)
def test_every_agent_has_a_page(kind):
    page = DOCS / "agents" / f"{kind.replace('rviq', 'rvi_q').replace('_', '-')}.md"
    assert re.findall(
        r"^## (Pseudocode|When to use it|Result)$", page.read_text(), re.MULTILINE
    ) == ["Pseudocode", "When to use it", "Result"]
