"""The site has everything: pages in its arrangement, the reference, the tutorials' notebooks.

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

from expectant.catalogue import catalogue
from expectant.cli import app

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))


def site(name: str) -> Any:
    """A module of docs/site."""
    sys.path.insert(0, str(ROOT / "docs/site"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "docs/site"))


def test_every_page_has_its_place_in_the_site():
    parts = site("gather").arrangement()
    assert list(parts) == ["Tutorials", "How-to", "Explanation", "Reference"]
    listed = [page for rows in parts.values() for _, page, _ in rows]
    made = {f"reference/{page}" for page in site("reference").pages()}
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted((pages | made) - {"index.md"})


def test_the_reference_has_every_part_function_verb_and_command():
    pages = site("reference").pages()
    for entry in catalogue():
        assert f"\n## {entry['name']}\n" in pages[site("reference")._file(entry["group"])]
        for option in entry["options"]:
            assert f"| `{option['name']}` | " in pages[site("reference")._file(entry["group"])]
    assert "; required; `0.3` without any step |" in pages["agents.md"]
    program: Any = get_command(app)
    for name in program.commands:
        assert f"\n## expectant {name}\n" in pages["commands.md"]
    for name in ("run", "compare", "Learner", "Result", "evaluate", "plot"):
        assert f"\n## ex.{name}\n" in pages["python.md"]
    assert "\n## ex.exact.planning_gap\n" in pages["exact.md"]
    assert "\n## ex.verbs.backed_up_value\n" in pages["verbs.md"]


def test_docstrings_become_markdown():
    prose = site("reference").prose
    assert prose("Of ``a`` and :func:`expectant.run`, a < b [c].") == (
        "Of `a` and `expectant.run`, a \\< b \\[c]."
    )
    assert prose("Dynamics\n    two actions,\n    left and right.\nReward\n    none.") == (
        "**Dynamics**: two actions, left and right.\n\n**Reward**: none."
    )
    assert prose("As in\n\n>>> f(1)\n2") == "As in\n\n```pycon\n>>> f(1)\n2\n```"
    assert prose("So:\n\n    a = b\n\nAnd.") == "So:\n\n```text\na = b\n```\n\nAnd."
    assert prose("") == ""


def test_machines_get_a_list_of_all_pages():
    gather = site("gather")
    text = gather.for_machines(gather.arrangement())
    assert text.startswith("# expectant\n\n> expectant is a Python library")
    assert "- [The idea](docs/idea.html): Why plan with means" in text
    assert text.count("\n- [") > 30


def test_dead_links_of_a_site_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">x</a><a href="b.html#gone">y</a><img src="p.png">'
        '<a href="https://x.org">z</a><a href="#here" id="here">h</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there">')
    assert site("check").dead_links(tmp_path) == [
        "a.html: no file p.png",
        "a.html: no place b.html#gone",
    ]


# ------------------------------------------------------------------------------------- tutorials


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_and_its_notebook_say_the_same(page):
    """`make tutorials` writes the notebooks; test_code_blocks.py runs the code of the pages."""
    tutorials = site("tutorials")
    notebook = json.loads(page.with_suffix(".ipynb").read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    assert cells == tutorials.cells_of(page.read_text())
    assert tutorials.with_outputs(page.read_text(), notebook) == page.read_text()
    assert len({cell["id"] for cell in notebook["cells"]}) == len(cells)
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs), "no picture"


def test_cells_run_as_in_a_notebook():
    tutorials = site("tutorials")
    text = "# A\n\n```python\na = 1\nprint(a)\na + 1\n```\n\n```text\n1\n2\n```\n\nEnd.\n"
    assert tutorials.cells_of(text) == [
        ("markdown", "# A"), ("code", "a = 1\nprint(a)\na + 1"), ("markdown", "End."),
    ]  # fmt: skip
    notebook = tutorials.notebook_of(text)
    assert tutorials.printed_by(notebook) == ["1\n", "2\n"]
    assert tutorials.with_outputs(text, notebook) == text
    stale = text.replace("1\n2\n```", "7\n```")
    assert tutorials.with_outputs(stale, notebook) == text


# ----------------------------------------------------------------------------------- which agent


def stored() -> dict[tuple[str, str], Any]:
    choices = json.loads((ROOT / "docs/which-agent.json").read_text())
    return {(choice["problem"], choice["agent"]): choice for choice in choices}


def test_the_tables_of_the_guide_are_those_of_the_stored_study():
    guide = site("guide")
    text = guide.PAGE.read_text()
    for name in guide.tables(list(stored().values())):
        assert text.count(f"<!-- table: {name} -->") == 1
    assert guide.with_tables(text, guide.tables(list(stored().values()))) == text


def test_the_study_of_the_guide_has_its_problems_and_agents():
    from expectant.lab.study import packaged, read_study

    study = read_study(packaged()["which-agent"])
    listed = {
        (panel.name, agent)
        for experiment in study.experiments.values()
        for panel in experiment.panels
        for agent in panel.agents
    }
    assert listed == set(stored())


def test_the_guide_advises_what_the_study_shows():
    """Each sentence of advice that rests on a number, as a condition on the stored numbers."""
    found = stored()
    planners = ("q_planning", "lookahead", "cached_values")

    def surely_more(problem, agent, other):
        return found[problem, agent]["reported"]["low"] > found[problem, other]["reported"]["high"]

    still, moving, maze = (
        "a corridor that stays",
        "a corridor whose goal moves",
        "a maze, every step costs 1",
    )
    alike, car = "the corridor with too few features", "the mountain car, tile coding"
    for problem in (still, moving, maze):
        assert all(surely_more(problem, agent, "q_learning") for agent in planners)
        steps = [found[problem, agent]["by_planning_steps"] for agent in planners]
        assert all(each["20"] > each["1"] for each in steps)
        models = [found[problem, agent]["by_model_step"] for agent in planners]
        assert all(each["0.5"] > each["0.1"] for each in models)
    assert surely_more(moving, "lookahead", "q_planning")
    plain = found[moving, "q_learning"]["reported"]["mean"]
    assert all(1.8 < found[moving, agent]["reported"]["mean"] / plain < 2.2 for agent in planners)
    slow = [found[maze, agent]["by_model_step"]["0.1"] for agent in planners]
    assert max(slow) < found[maze, "q_learning"]["reported"]["low"]
    for agent in planners:
        crowded = found[alike, agent]
        assert crowded["reported"]["mean"] < found[alike, "q_learning"]["reported"]["mean"]
        assert crowded["by_model_step"]["0.5"] < crowded["by_model_step"]["0.1"]
    assert not surely_more(car, "lookahead", "cached_values")


def test_the_adaptation_tables_are_those_of_the_stored_rows():
    made = site("adaptation_tables")
    stored = json.loads(made.STORED.read_text())
    text = made.PAGE.read_text()
    assert "<!-- table: adaptation -->" in text
    assert "<!-- table: published -->" in text
    assert made.with_tables(text, made.tables(stored)) == text
    verdicts = {(row["agent"], row["backups"]): row["verdict"] for row in stored["rows"]}
    far, near = made.BACKUPS[:5], made.BACKUPS[5:]
    slow = {(agent, backups) for agent in made.AGENTS for backups in far} - {
        pair for pair, verdict in verdicts.items() if verdict == "adaptive"
    }
    assert slow == {("cached_policy", backups) for backups in far[2:]}  # as the page says
    assert {verdicts[agent, backups] for agent in made.AGENTS for backups in near} == {
        "not adaptive"
    }
    assert min(row["P1"] for row in stored["rows"] if row["agent"] in made.AGENTS) >= 0.95
    said = {"adapts": "adaptive", "does not": "not adaptive"}
    found = made.published_rows(stored["rows"])
    assert len(found) == len(made.PUBLISHED)
    for row in found:  # what the papers say holds here too
        assert row["verdict"] == said[made.PUBLISHED[row["backups"]][1]]


def test_links_to_the_contents_and_to_folders_are_mended(tmp_path):
    mended = site("gather").without_folders
    (tmp_path / "folder").mkdir()
    (tmp_path / "page.md").touch()
    text = "[a](docs/index.md#b) [c](index.md) [d](folder) [e](page.md#f) [g](https://x.org)"
    assert mended(text, tmp_path) == (
        "[a](/index.md#b) [c](/index.md) d [e](page.md#f) [g](https://x.org)"
    )
