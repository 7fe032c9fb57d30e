"""Fill the marked tables and numbers of the documentation, and the CSV files, from stored results.

    python docs/site/fill_tables.py

Results are stored in docs/measured and docs/*.json by docs/site/store_results.py and benchmarks.
A table follows a comment that selects its content, in one of three ways:

    <!-- table: from=measured/examples:memory columns="features={key} | return={value:.2f}" -->
    <!-- table: study=kudashkina-2021 figure=5b agent=lookahead rows=interpretation columns=mean -->
    <!-- table: claims=stable-planning -->

1. Format the entries of a stored list or mapping (with ``key`` and ``value``), see :class:`Cells`.
   ``where=agent=lookahead,sarsa`` selects entries; ``across`` and ``cell`` make columns of values.
2. Show metrics of a study. ``figure``, ``panel``, ``interpretation`` and ``agent`` select results;
   ``rows`` lists those of the four that distinguish rows; ``columns`` lists metrics, "runs" or
   "optimum", or one of the four, and then ``metric`` is the metric. "at:20" is the mean curve after
   20 episodes. ``digits`` are those after the point; ``times`` multiplies the cells.
3. Claims of a study (``verdict=unclear`` selects), or one of :data:`TABLES`.

A number in a sentence has a comment behind it: 54.8 %<!-- =measured/joint:published/…|.1% -->. The
comment is a key of :data:`NUMBERS`, or file:path|format, see :func:`read`.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
TABLE = re.compile(r"(<!-- table: ([^\n]*?) -->\n\n)(?:\|[^\n]*\n)*\n?")
NUMBER = re.compile(r"[^\s(*|]+(?: %)?<!-- =(.*?) -->")
PAPER = "measured/kudashkina-2021-claims"
INTERPRETATIONS = ("literal", "preferred", "authors")
ICONS = {"holds": "✔", "equal": "=", "does not hold": "✘", "unclear": "?"}
PLACES = ("figure", "panel", "interpretation", "agent")
CAPTIONS = {"runs": "runs", "optimum": "exact, ε-greedy on q*"}
COMPARED = ("backup-distributions", "function-approximation", "iterated-backups", "model-kinds",
            "nonlinear-values")  # studies with a chart and CSV files  # fmt: skip
JUDGED = ("kudashkina-2021", "sutton-barto-8", "sutton-2008", "sutton-2023", "wan-2021",
          "planning-pays", *COMPARED)  # fmt: skip
CSV_FILES = {
    **{study: f"measured/{study}" for study in (*COMPARED, "stable-planning")},
    **{f"{study}-claims": f"measured/{study}-claims" for study in JUDGED},
    "untuned": "untuned:rows",
    "parameters": "measured/parameters:choices",
    "interpretations": "measured/interpretations:rows",
    "which-agent": "which-agent",
    "coverage": "measured/coverage:rows",
    "joint": "measured/joint:claims",
}

Row = dict[str, Any]
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]


@cache
def paper() -> Any:
    """Return the study of the paper."""
    from expectant.experiments.study import read_study

    return read_study()


def read(name: str) -> Any:
    """Return a stored result, or an entry of it: "measured/joint:sets/0".

    A path leads through keys and indices; "key=value,…" is the first such entry of a list.
    """
    file, _, path = name.partition(":")
    stored = DOCS / f"{file}.json"
    content = json.loads(stored.read_text("utf-8")) if stored.exists() else []
    for step in filter(None, path.split("/")):
        if "=" in step and isinstance(content, list):
            wanted = dict(pair.split("=", 1) for pair in re.split(r",(?=\w+=)", step))
            content = next(
                entry
                for entry in content
                if all(str(entry[key]) == value for key, value in wanted.items())
            )
        else:
            content = content[int(step) if isinstance(content, list) else step]
    return content


class Cells(string.Formatter):
    """Format cells: numbers with a minus sign, None and what is missing as a dash.

    A list of three numbers is an estimate with its interval, one of two a range. "~3" means three
    significant digits or all before the point; "?…%…" puts a value for % unless it is empty.
    """

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        value = kwargs
        for key in re.findall(r"[^\[\]]+", field_name):
            try:
                value = value[int(key)] if isinstance(value, list) else value[key]
            except (LookupError, TypeError):
                return None, field_name
        return value, field_name

    def format_field(self, value: Any, spec: str) -> str:
        if spec.startswith("?"):
            return spec[1:].replace("%", str(value)) if value else ""
        if isinstance(value, list):
            each = [self.format_field(item, spec) for item in value]
            if spec and len(each) == 3:
                return f"{each[0]} ({each[1]} to {each[2]})"
            return (" to " if spec else ", ").join(each)
        return format_number(value, spec) if isinstance(value, float | int) else str(value or "–")


def format_number(value: float, spec: str) -> str:
    """Format a number with a minus sign."""
    if "~" in spec:
        sign, _, digits = spec.partition("~")
        whole = 10 ** (int(digits) - 1) <= abs(value) < 1e7
        text = f"{value:{sign},.0f}" if whole else f"{value:{sign}.{digits}g}"
    else:
        text = re.sub(r"^-(?=[0.]*$)", "", f"{value:{spec}}").replace("%", " %")
    return text.replace("-", "−", 1) if value < 0 else text


CELLS = Cells()


# ------------------------------------------------------------------------------------------ tables


def stored_table(asked: dict[str, str]) -> Table:
    """Format the entries of a stored list or mapping."""
    rows = read(asked["from"])
    if isinstance(rows, dict):
        rows = [
            {"key": k, "value": v, **(v if isinstance(v, dict) else {})} for k, v in rows.items()
        ]
    key, _, wanted = asked.get("where", "").partition("=")
    if key:
        rows = [row for row in rows if str(row[key]) in wanted.split(",")]
    columns = [column.split("=", 1) for column in asked["columns"].split(" | ")]
    lines = [[CELLS.format(form, **row) for _, form in columns] for row in rows]
    heads = [head for head, _ in columns]
    if "across" not in asked:
        return heads, lines
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for line, row in zip(lines, rows, strict=True):
        across = CELLS.format(asked["across"], **row)
        cells.setdefault(tuple(line), {})[across] = CELLS.format(asked["cell"], **row)
    return pivot(heads, cells)


def pivot(heads: Sequence[str], cells: dict[tuple[str, ...], dict[str, str]]) -> Table:
    """Tabulate cells by row and column."""
    names = list(dict.fromkeys(name for line in cells.values() for name in line))
    if not cells:
        raise ValueError(f"table: nothing is stored for {heads}")
    return [*heads, *names], [[*k, *(v.get(n, "–") for n in names)] for k, v in cells.items()]


def study_table(asked: dict[str, str]) -> Table:
    """Tabulate metrics of a study: metrics in columns, or one metric across agents or panels."""
    entries = [
        entry
        for entry in read(f"measured/{asked['study']}")
        if all(entry[place] in asked[place].split(",") for place in PLACES if place in asked)
    ]
    rows, columns = asked.get("rows", "agent").split(","), asked["columns"].split(",")
    across = columns[0] if columns[0] in PLACES else None
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in entries:
        line = cells.setdefault(tuple(_named(entry, place) for place in rows), {})
        for name in [asked["metric"]] if across else columns:
            head = _named(entry, across) if across else _title(name)
            line[head] = _metric(entry, name, asked)
    return pivot(rows, cells)


def _named(entry: Row, place: str) -> str:
    if place == "agent":
        return entry["label"]
    return f"`{entry[place]}`" if place == "interpretation" else entry[place]


def _title(name: str) -> str:
    from expectant.experiments.metrics import METRICS

    if name.startswith("at:"):
        return name.removeprefix("at:")
    return CAPTIONS.get(name) or METRICS[name].title


def _metric(entry: Row, name: str, asked: dict[str, str]) -> str:
    if name == "runs":
        return f"{entry['runs']:,}"
    if name.startswith("at:"):
        numbers = [dict(entry["curve"])[float(name.removeprefix("at:"))]]
    else:
        numbers = entry["metrics"].get(name) or [entry.get(name)]
    scaled = [None if value is None else float(asked.get("times", 1)) * value for value in numbers]
    complete = scaled[:1] if None in scaled else scaled
    return CELLS.format_field(complete, f",.{asked.get('digits', 2)}f")


def claims_table(study: str, verdict: str = "") -> Table:
    """List the claims of a study, or those with some verdicts."""
    asked = {
        "from": f"measured/{study}-claims",
        "columns": "#={id} | claim={claim} | verdict={verdict} | runs={runs:,}"
        " | number (95 % interval)={effect:~4} ({low:~4} to {high:~4})",
    }
    return stored_table(asked | ({"where": f"verdict={verdict}"} if verdict else {}))


def verdict_grid() -> Table:
    """Show an icon and the effect for every claim and interpretation."""
    claims = {claim.id: claim for claim in paper().claims}
    joint = read("measured/joint:claims")
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in read(PAPER):
        claim = claims[row["id"]]
        figure = row["figure"].partition("-")[0]  # "ablation-21" is too long for a column
        line = cells.setdefault((f"{claim.id}{'*' * claim.ours}", figure, claim.short), {})
        cell = f"{ICONS[row['verdict']]}\N{NO-BREAK SPACE}{{effect:~3}}"
        line[row["interpretation"]] = CELLS.format(cell, **row)
        if str(claim.id) in joint:
            line["joint"] = CELLS.format("{holds} of {settings}", **joint[str(claim.id)])
    names = [*INTERPRETATIONS, "joint"]
    heads = [f"`{name}`" for name in INTERPRETATIONS]
    return ["#", "figure", "claim", *heads, "joint search"], [
        [*key, *(line.get(name, "–") for name in names)] for key, line in cells.items()
    ]


def open_details() -> Table:
    """Show the choices of every interpretation, where they differ."""
    rows = []
    for detail in paper().details:
        chosen = {i: choice.name for choice in detail.choices for i in choice.interpretations}
        if len(set(chosen.values())) > 1:
            rows.append([detail.question, *(chosen[name] for name in INTERPRETATIONS)])
    return ["question", *(f"`{name}`" for name in INTERPRETATIONS)], rows


def step_ablation() -> Table:
    """Show returns and diverged runs of the agents of figure 5a by their total step."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in read("measured/stable-planning"):
        if entry["figure"] == "total-step":
            mean, diverged = (entry["metrics"][name][0] for name in ("mean", "diverged"))
            cell = "" if diverged >= 0.1 else format_number(mean, ".1f")
            share = f" ({diverged:.0%})".replace("%", " %") if diverged else ""
            line = cells.setdefault((entry["label"],), {})
            line[entry["panel"]] = (cell + share).strip()
    return pivot(["agent, at a total step of"], cells)


TABLES: dict[str, Callable[[], Table]] = {
    "step-ablation": step_ablation,
    "verdict-grid": verdict_grid,
    "open-details": open_details,
}


def make_table(words: str) -> list[str]:
    """Return the lines of the table that a comment asks for."""
    name, *more = shlex.split(words)
    if "=" not in name:
        head, body = TABLES[name]()
    else:
        asked = dict(word.split("=", 1) for word in (name, *more))
        if "from" in asked:
            head, body = stored_table(asked)
        elif "claims" in asked:
            head, body = claims_table(asked["claims"], asked.get("verdict", ""))
        else:
            head, body = study_table(asked)
    lines = [f"| {' | '.join(row)} |" for row in (head, *body)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


# ----------------------------------------------------------------------------------------- numbers


def _paper_claims() -> list[Row]:
    ours = {claim.id for claim in paper().claims if claim.ours}
    return [row for row in read(PAPER) if row["id"] not in ours]


def claim_groups() -> dict[str, list[int]]:
    """Return the paper's claims that hold everywhere, somewhere, nowhere, or are undecided."""
    by_claim: dict[int, set[str]] = {}
    for row in _paper_claims():
        by_claim.setdefault(row["id"], set()).add(row["verdict"])
    groups: dict[str, list[int]] = {"every": [], "some": [], "none": [], "undecided": []}
    for claim, verdicts in sorted(by_claim.items()):
        if "holds" in verdicts:
            groups["every" if len(verdicts) == 1 else "some"].append(claim)
        else:
            groups["undecided" if "unclear" in verdicts else "none"].append(claim)
    return groups


def _verdicts(name: str) -> dict[Any, str]:
    return {(row["id"], row["interpretation"]): row["verdict"] for row in read(name)}


def _distinct_verdicts() -> dict[Any, str]:
    """Return the verdicts on the paper, those of identical settings once."""
    numbers = {(row["id"], row["effect"], row["low"], row["high"]): row for row in read(PAPER)}
    return {(row["id"], row["interpretation"]): row["verdict"] for row in numbers.values()}


def _count_verdicts(study: str, verdict: str = "") -> int:
    return sum(verdict in ("", found) for found in _verdicts(f"measured/{study}-claims").values())


def _count_moved() -> int:
    """Count claims 10 to 17 that a change of the preferred interpretation moves."""
    return sum(
        moved["matters"]
        for row in read("measured/interpretations:rows")
        for claim, moved in row["moved"].items()
        if row["interpretation"] == "preferred" and 10 <= int(claim) <= 17
    )


NUMBERS: dict[str, Callable[[], Any]] = {
    "claims": lambda: sum(map(len, claim_groups().values())),
    "same verdicts": lambda: len(
        _distinct_verdicts().items() & _verdicts("measured/second-seed-claims").items()
    ),
    "all verdicts": lambda: len(_distinct_verdicts()),
    "most at once": lambda: max(len(each["claims"]) for each in read("measured/joint:sets")),
    "moved": _count_moved,
}
for _group in ("every", "some", "none", "undecided"):
    NUMBERS[f"claims {_group}"] = lambda g=_group: len(claim_groups()[g])
    NUMBERS[f"ids {_group}"] = lambda g=_group: ",&nbsp;".join(map(str, claim_groups()[g]))
for _name in ("joint", "interpretations", "parameters"):
    NUMBERS[f"minutes {_name}"] = lambda n=_name: round(
        read(f"measured/{n}:processor_seconds") / 60
    )
for _study in JUDGED:
    NUMBERS[f"{_study} claims"] = lambda s=_study: _count_verdicts(s)
    NUMBERS[f"{_study} holds"] = lambda s=_study: _count_verdicts(s, "holds")


def make_number(mark: str) -> str:
    """Return the number that a comment asks for."""
    if mark in NUMBERS:
        return str(NUMBERS[mark]())
    path, _, spec = mark.rpartition("|")
    return CELLS.format_field(read(path), spec)


def fill_page(text: str) -> str:
    """Return a page with its tables and numbers made again."""
    text = TABLE.sub(lambda mark: mark[1] + "\n".join(make_table(mark[2])) + "\n\n", text)
    return NUMBER.sub(lambda mark: f"{make_number(mark[1])}<!-- ={mark[1]} -->", text)


def pages() -> list[Path]:
    """Return the pages with marked tables or numbers."""
    every = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in every if re.search(r"<!-- (table: |=)", page.read_text("utf-8"))]


# --------------------------------------------------------------------------------------- CSV files


def csv_files() -> Iterator[tuple[Path, str]]:
    """Yield the raw tables of results, with their paths."""
    for name, stored in CSV_FILES.items():
        content = read(stored)
        if isinstance(content, dict):
            content = [{"claim": key, **row} for key, row in content.items()]
        rows = [dict(flatten(row)) for row in content]
        heads = list(dict.fromkeys(head for row in rows for head in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, heads, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        yield DOCS / f"measured/{name}.csv", text.getvalue()


def flatten(row: Row, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the cells of a row; three numbers are an estimate with its interval."""
    for key, value in row.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from flatten(value, "" if key == "metrics" else f"{name} ")
        elif not isinstance(value, list):
            yield name, value
        elif len(value) == 3 and isinstance(value[0], float) and "@" not in key:
            yield from zip((name, f"{name} low", f"{name} high"), value, strict=True)


if __name__ == "__main__":
    for page in pages():
        page.write_text(fill_page(page.read_text("utf-8")), "utf-8")
    for path, text in csv_files():
        path.write_text(text, "utf-8")
