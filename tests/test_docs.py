"""The documentation says what is there: links, commands, options, names, specs."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_imports import LAYERS
from typer.main import get_command
from typer.testing import CliRunner

import expectant
from expectant import extend, parts, verbs
from expectant.catalogue import entry
from expectant.cli import app
from expectant.engine.job import STEP_LIMIT
from expectant.lab.specs.spec import (
    ConfigFile,
    cells_hash,
    parse_spec,
    parse_toml,
    spec_hash,
)
from expectant.lab.store.results import COLUMNS
from expectant.lab.study import the_paper

ROOT = Path(__file__).parents[1]
README, DOCS = ROOT / "README.md", ROOT / "docs"
PAGES = [README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
AGENTS = {
    "q-learning": "q_learning",
    "q-planning": "q_planning",
    "lookahead": "lookahead",
    "cached-values": "cached_values",
    "cached-policy": "cached_policy",
    "dyna-q": "dyna_q",
    "sarsa": "sarsa",
    "expected-sarsa": "expected_sarsa",
    "rvi-q-learning": "rviq_learning",
}
HEADINGS = [
    "What it is",
    "Update",
    "Options",
    "Where it deviates from the print",
    "Results and the command",
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return [text for found, text in BLOCK.findall(page.read_text()) if found == language]


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return BLOCK.sub("", page.read_text())


def inline(page: Path) -> list[str]:
    """What a page sets as code within its text."""
    return re.findall(r"`([^`\n]+)`", prose(page))


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


# ---------------------------------------------------------------------------------------- links


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


def test_every_page_is_in_the_contents():
    index = (DOCS / "index.md").read_text()
    for page in DOCS.rglob("*.md"):
        if page.name != "index.md":
            assert f"({page.relative_to(DOCS)})" in index


# ---------------------------------------------------------------------------------------- specs


@every_page
def test_specs_are_valid(page):
    for text in blocks(page, "toml"):
        if "[domain]" in text:  # the other files of a study are tested with it
            assert parse_spec(text, "docs.toml").cells()


def test_the_spec_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (text,) = blocks(README, "toml")
    Path("corridor.toml").write_text(text)
    result = CliRunner().invoke(app, ["run", "corridor.toml"])
    assert result.exit_code == 0, result.output
    assert Path("results/corridor/report.html").exists()


# ------------------------------------------------------------------------------------- commands


def commands(page: Path) -> list[list[str]]:
    """The words of every ``expectant …`` and ``make …`` that a page mentions."""
    lines = [line for text in blocks(page, "sh") for line in text.splitlines()]
    return [
        shlex.split(line, comments=True)
        for line in [*lines, *inline(page)]
        if re.match(r"(expectant|make) ", line)
    ]


def check_options(words: list[str], known: Any) -> None:
    options = {option for parameter in known.params for option in parameter.opts} | {"--help"}
    for position, word in enumerate(words):
        if word.startswith("-"):
            assert word in options, f"{' '.join(words)}: no option {word}"
        if word == "--figure":
            assert words[position + 1] in the_paper().figures


@every_page
def test_commands_exist(page):
    program: Any = get_command(app)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for tool, *words in commands(page):
        if tool == "make":
            assert words[0] in targets, f"no target {words[0]}"
        elif words[0].startswith("-"):
            check_options(words, program)
        else:
            assert words[0] in program.commands, f"no command {words[0]}"
            check_options(words[1:], program.commands[words[0]])


@every_page
def test_options_named_alone_belong_to_some_command(page):
    program: Any = get_command(app)
    options = {o for c in program.commands.values() for p in c.params for o in p.opts}
    for text in inline(page):
        if text.startswith("--"):
            assert text.split()[0] in options, text


def test_the_readme_names_every_command():
    words = [each for each in commands(README) if each[0] == "expectant"]
    named = {each[1] for each in words if not each[1].startswith("-")}
    program: Any = get_command(app)
    assert named == set(program.commands)
    text = README.read_text()
    assert "make reproduce" in text and "make test" in text and "EXPECTANT_CACHE_DIR" in text


# ---------------------------------------------------------------------------------------- names


@every_page
def test_modules_functions_and_tests_exist(page):
    if page.name == "CHANGELOG.md":  # names what earlier versions had
        return
    for text in inline(page):
        if re.fullmatch(r"expectant(\.\w+)+", text):
            resolve(text)
        elif found := re.fullmatch(r"(tests/[\w/]+\.py)(?:::(\w+))?", text):
            source = (ROOT / found[1]).read_text()
            assert found[2] is None or f"def {found[2]}(" in source, text
        elif re.fullmatch(r"(src|examples|docs|benchmarks)/[\w/.-]+", text):
            assert (ROOT / text).exists(), text
        elif found := re.match(r"ex\.([\w.]+)", text):
            resolve(f"expectant.{found[1].rstrip('.')}")


def resolve(name: str) -> Any:
    """The module or object of a dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            assert hasattr(thing, part), f"{name} does not exist"
            thing = getattr(thing, part)
        return thing
    raise AssertionError(f"{name} does not exist")


def test_the_engines_tests_exist():
    source = (ROOT / "tests/engine/test_properties.py").read_text()
    named = [text for text in inline(DOCS / "engine.md") if re.fullmatch(r"test_\w+", text)]
    assert len(named) > 10
    for name in named:
        assert f"def {name}(" in source, name


def test_the_verbs_of_every_kind_exist():
    for kind, _, _, required, optional, _ in rows(DOCS / "own-parts.md", "| kind |"):
        named = re.findall(r"`([a-z_]+)`", required + optional)
        assert named, kind
        assert set(named) <= set(verbs.__all__), kind
        assert set(named) <= set(extend.__all__), kind


def test_authors_of_parts_import_from_one_place():
    page = (DOCS / "own-parts.md").read_text()
    assert set(re.findall(r"from expectant\.(\w+) import", page)) == {"extend"}
    bases = {name for name in re.findall(r"`ex\.([A-Z]\w+)`", page) if name in dir(parts)}
    mentioned = {*bases, "PartError", "Values", "Drawing", "Exit", "KnownValues"}
    assert mentioned <= set(extend.__all__)
    assert set(extend.__all__) <= set(vars(extend))


def test_the_flow_of_imports_is_the_one_that_is_tested():
    listed = [set(cells[1].split(", ")) for cells in rows(DOCS / "engine.md", "| layer |")]
    expected = [{f"`{name}`" for name in layer} for layer in LAYERS]
    assert listed == expected, "\n".join(
        f"| {n} | {', '.join(sorted(layer))} |" for n, layer in enumerate(expected, 1)
    )


# --------------------------------------------------------------------------------------- tables


def default_cell(option: dict[str, Any]) -> str:
    """What an option is if it is not given, and if no step size is, as `expectant show` says it."""
    usual = "required" if option["required"] else f"`{option['default']!r}`"
    untuned = option["untuned"]
    return usual if untuned is None else f"{usual}; `{untuned!r}` without any step"


@pytest.mark.parametrize("name", AGENTS)
def test_agents_have_the_same_headings_and_their_own_options(name):
    page = DOCS / "agents" / f"{name}.md"
    assert re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE) == HEADINGS
    expected = [
        [
            f"`{option['name']}`",
            option["rule"],
            default_cell(option),
        ]
        for option in entry(AGENTS[name])["options"]
    ]
    listed = [cells[:3] for cells in rows(page, "| option |")]
    wanted = "\n".join(f"| {' | '.join(cells)} | |" for cells in expected)
    assert listed == expected, f"the table should have these rows:\n{wanted}"


def test_all_agents_have_a_page():
    from expectant.catalogue import catalogue

    kinds = {found["kind"] for found in catalogue() if found["name"] in expectant.__all__}
    agents = {kind for kind in kinds if entry(kind)["group"] == "agents"}
    assert agents == set(AGENTS.values())


SECOND = DOCS / "second-seed.json"  # verdicts too
SEEDS = "- Another seed says the same"
FLOOR = "- Bins that count as the floor, by claim"
VERDICTS = DOCS / "verdicts.json"
KINDS = ("holds", "equal", "does not hold", "unclear")


def study_hash() -> str:
    """A hash of what decides verdicts: claims, readings, runs and specs, not what they are called.

    Nor what only `expectant readings` asks for.
    """
    found = {}
    for path in sorted(the_paper().folder.glob("*.toml")):
        data = parse_toml(path.read_text("utf-8"), path.name)
        kept = {key: value for key, value in data.items() if key not in ("joint", "parameters")}
        found[path.name] = cells_hash(kept)
    return spec_hash(found)


def verdicts_in(path: Path) -> list[dict[str, Any]]:
    """The verdicts that a file keeps."""
    data = json.loads(path.read_text("utf-8"))
    return data["verdicts"] if isinstance(data, dict) else data


def hash_in(path: Path) -> str:
    """The hash of the claims and specs that the verdicts of a file are about; none: unknown."""
    data = json.loads(path.read_text("utf-8")) if path.exists() else []
    return data["study"] if isinstance(data, dict) else ""


@pytest.mark.parametrize("path", [VERDICTS, SECOND], ids=lambda path: path.name)
def test_stored_verdicts_are_of_the_claims_and_specs_as_they_are(path):
    again = "`expectant reproduce` and `expectant reproduce --seed 1 --out results/second`"
    assert hash_in(path) == study_hash(), (
        f"docs/{path.name} is of other claims or specs than the study has now: run {again} again, "
        "then `python tests/verdict_page.py results/paper/claims.json results/second/claims.json`"
    )


def verdict_rows() -> list[list[str]]:
    """The rows of the table of verdicts, from what `expectant reproduce` has found."""
    stored = {(one["id"], one["reading"]): one for one in verdicts_in(VERDICTS)}
    found = []
    for claim in the_paper().claims:
        cells = [str(claim.id), claim.figure, claim.claim]
        for named_set in the_paper().sets:
            one = stored.get((claim.id, named_set))
            cells.append("–" if one is None else verdict_cell(one))
        found.append(cells)
    return found


def verdict_cell(one: dict[str, Any]) -> str:
    """A verdict with its effect, interval, number of runs and chance."""
    if one["low"] is None:
        return one["verdict"]
    many = f", n = {one['runs']}" if one["runs"] else ""
    effect, low, high = (three_digits(one[key]) for key in ("effect", "low", "high"))
    numbers = f"{effect} ({low} to {high}), ± {three_digits(one['margin'])}"
    note = f" ({one['note']})" if one.get("note") else ""
    unit = f" {one['unit']}" if one.get("unit") else ""
    chance = "–" if one["chance"] is None else f"{100 * one['chance']:.0f} %"
    return f"**{one['verdict']}**{note} {numbers}{unit}{many}, {chance}"


def three_digits(value: float) -> str:
    """A number as people read it: no exponents, a true minus sign."""
    short = float(f"{value:.3g}")
    text = f"{short:,.0f}" if abs(short) >= 100 else f"{short:.3g}"
    return text.replace("-", "−", 1) if short < 0 else text


def test_the_verdicts_are_the_ones_that_were_found():
    listed = rows(DOCS / "what-holds.md", "| # | figure | claim |")
    wanted = "\n".join(f"| {' | '.join(cells)} |" for cells in verdict_rows())
    assert listed == verdict_rows(), f"the table should have these rows:\n{wanted}"


def two_seeds() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The verdicts of either seed on the same claims under the same readings."""
    other = {(one["id"], one["reading"]): one for one in verdicts_in(SECOND)}
    return [(one, other[one["id"], one["reading"]]) for one in verdicts_in(VERDICTS)]


def seeds_sentence() -> str:
    """What another seed says, in one sentence of the page."""
    pairs = two_seeds()
    moved = [
        f"{one['id']} under `{one['reading']}` ({one['verdict']}, {other['verdict']})"
        for one, other in pairs
        if one["verdict"] != other["verdict"]
    ]
    others = f"; not those on {', '.join(moved)}" if moved else ""
    same = len(pairs) - len(moved)
    return f"{SEEDS}: of {len(pairs)} verdicts {same} are the same with seed 1{others}."


def test_another_seed_says_the_same():
    """None flips, and at most one in twenty moves to or from "unclear"."""
    moved = [(a, b) for a, b in two_seeds() if a["verdict"] != b["verdict"]]
    assert all("unclear" in (a["verdict"], b["verdict"]) for a, b in moved)
    assert len(moved) <= len(two_seeds()) / 20
    assert seeds_sentence() in (DOCS / "what-holds.md").read_text("utf-8")


def floor_sentence() -> str:
    """Where bins count as the floor, in one sentence of the page."""
    touched: dict[str, list[str]] = {}
    for one in verdicts_in(VERDICTS):
        if one.get("floored"):
            touched.setdefault(one["reading"], []).append(f"{one['id']}: {one['floored']:,}")
    said = "; ".join(f"under `{name}` {', '.join(own)}" for name, own in touched.items())
    return f"{FLOOR}: {said or 'none'}."


def test_how_many_bins_count_as_the_floor_is_said():
    assert floor_sentence() in (DOCS / "what-holds.md").read_text("utf-8")


def test_the_counts_of_verdicts_are_those_of_the_table():
    page = (DOCS / "what-holds.md").read_text("utf-8")
    for named_set in the_paper().sets:
        found = [one for one in verdicts_in(VERDICTS) if one["reading"] == named_set]
        counts = Counter(one["verdict"] for one in found)
        said = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)
        assert f"| `{named_set}` | {len(found)} | {said} |" in page, said


def test_the_readings_are_the_ones_in_the_file():
    page = DOCS / "readings.md"
    questions = rows(page, "| reading | question |")
    assert questions == [[reading.name, reading.question] for reading in the_paper().readings]
    listed = [cells[:5] for cells in rows(page, "| reading | figures |")]
    assert listed == [
        [
            reading.name,
            ", ".join(reading.figures) or "all",
            option.name,
            ", ".join(option.sets) or "–",
            option.source,
        ]
        for reading in the_paper().readings
        for option in reading.options
    ]


def test_the_choices_without_a_source_name_the_step_limit():
    page = (DOCS / "readings.md").read_text("utf-8")
    assert f"cut off after {STEP_LIMIT:,} steps" in " ".join(page.split())


def test_the_keys_of_specs_are_the_ones_that_are_read():
    listed = {cells[0].strip("`"): cells[2] for cells in rows(DOCS / "specs.md", "| key | must")}
    keys = {field.name: field.default for field in dataclasses.fields(ConfigFile)}
    assert set(listed) == set(keys)
    for key in ("runs", "seed"):
        assert listed[key] == f"{keys[key]:,}"


def test_the_columns_and_claims_of_results_are_the_ones_that_are_written():
    listed = [cells[0].strip("`") for cells in rows(DOCS / "specs.md", "| column | type |")]
    assert listed == [*COLUMNS]
    claims = {cells[0]: cells[1] for cells in rows(DOCS / "specs.md", "| key | |")}
    numbers = [claim.id for claim in the_paper().claims]
    assert claims["`id`"] == f"{min(numbers)} to {max(numbers)}"
    sets = [f'`"{named_set}"`' for named_set in the_paper().sets]
    assert claims["`reading`"] == f"{', '.join(sets[:-1])} or {sets[-1]}"


def test_the_readme_counts_the_claims_of_the_paper():
    ours = [claim for claim in the_paper().claims if claim.claim.startswith("Claim ")]
    assert len(ours) == 1
    count = len(the_paper().claims) - len(ours)
    assert f"All claims of the paper, {count} in all, and one more of ours" in README.read_text()


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert project["version"] == expectant.__version__
    assert f"\nversion: {expectant.__version__}\n" in citation
    assert "### Changes results" in (ROOT / "CHANGELOG.md").read_text()
