"""The site has every page, a reference of every component and command, and the notebooks.

Building it takes `make docs`; here is what can be told without Sphinx.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from expectant.cli import app
from expectant.cli.catalogue import catalogue

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))


def context(name: str) -> Any:
    """A module of docs/site."""
    sys.path.insert(0, str(ROOT / "docs/site"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "docs/site"))


def test_every_page_has_its_place_in_the_site():
    parts = context("gather_pages").arrangement()
    assert list(parts) == ["Start", "Results", "Guides", "Extend", "Reference", "Developers"]
    listed = [page for rows in parts.values() for _, page, _ in rows]
    made = {f"reference/{page}" for page, _, _ in context("reference").CONTENTS}
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted((pages | made) - {"index.md"})


def test_the_reference_has_every_component_function_verb_and_command():
    pages = context("reference").pages()
    for entry in catalogue():
        page = pages[f"{entry['group'].replace(' ', '-').replace('_', '-')}.md"]
        assert f"\n## {entry['title']}\n" in page
        for option in entry["parameters"]:
            assert f"| `{option['name']}` | " in page
    program: Any = get_command(app)
    for name in program.commands:
        assert f"\n## expectant {name}\n" in pages["commands.md"]
    for name in ("run", "compare", "Learner", "Result", "evaluate", "plot"):
        assert f"\n## ex.{name}\n" in pages["python.md"]
    assert "\n## ex.exact.planning_gap\n" in pages["exact.md"]
    assert "\n## ex.extend.backed_up_value\n" in pages["verbs.md"]
    assert "[Lookahead (Algorithm 1)](agents.md#lookahead-algorithm-1)" in pages["api.md"]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_and_its_notebook_say_the_same(page):
    """`make tutorials` writes the notebooks; test_code_blocks.py runs the code of the pages."""
    tutorials = context("tutorials")
    notebook = json.loads(page.with_suffix(".ipynb").read_text())
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    assert cells == tutorials.split_cells(page.read_text())
    assert tutorials.fill_outputs(page.read_text(), notebook) == page.read_text()
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    pictures = [data for output in outputs if "image/png" in (data := output.get("data", {}))]
    assert pictures and all(
        f"<!-- picture: {data['text/plain']} -->" in page.read_text() for data in pictures
    )
