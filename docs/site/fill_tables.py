"""Fill the marked tables of the documentation from stored results.

    python docs/site/fill_tables.py

Results are stored in docs/measured and docs/*.json by docs/site/store_results.py and benchmarks.
A table follows a comment that says what it shows, in one of three ways:

    <!-- table: from=measured/examples:memory columns="features={key} | return={value:.2f}" -->
    <!-- table: study=kudashkina-2021 figure=5b agent=lookahead rows=interpretation columns=mean -->
    <!-- table: parameters -->

1. Format the entries of a stored list or mapping (with ``key`` and ``value``), see :class:`Cells`.
   ``where=agent=lookahead,sarsa`` selects entries; ``across`` and ``cell`` make columns of values.
2. Show metrics of a study. ``figure``, ``panel``, ``interpretation`` and ``agent`` select results;
   ``rows`` lists those of the four that distinguish rows; ``columns`` lists metrics, "runs",
   "optimum" or "time" (µs a step), or one of the four, and then ``metric`` is the metric. "drop@2"
   is a metric at the second switch, "at:20" the mean curve after 20 episodes, "reaches:0.8" where
   it first reaches 0.8. ``digits`` are those after the point; ``times`` multiplies the cells.
   ``claims=STUDY`` lists claims, ``answers=STUDY figure=… [asking="…"]`` answers questions by
   panel, ``tuned=STUDY`` lists selected parameters.
3. One of :data:`TABLES`.
"""

from __future__ import annotations

import json
import re
import shlex
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
MARK = re.compile(r"(<!-- table: ([^\n]*?) -->\n\n)(?:\|[^\n]*\n)*\n?")
SENTENCE = re.compile(r"(<!-- sentence: verdicts -->\n\n)(?:[^\n]+\n)*\n?")
PAPER = "measured/kudashkina-2021-claims"
HUGE = 1e9  # numbers of diverged runs from here on
PLACES = ("figure", "panel", "interpretation", "agent")
KEYS = {*PLACES, "study", "rows", "columns", "metric", "digits", "times"}
RETURN = "return per episode"
CAPTIONS = {"runs": "runs", "optimum": "exact, ε-greedy on q*", "time": "µs a step"}
OUTCOMES = {"holds": "yes", "does not hold": "the reverse"}  # of questions; others as they are
STEPS = {"value_step": "α_w", "action_step": "α_q", "policy_step": "α_θ", "model_step": "α_m"}
KINDS = ("holds", "equal", "does not hold", "unclear")

Row = dict[str, Any]
Table = tuple[Sequence[str], Iterable[Sequence[str]]]


def read(name: str) -> Any:
    """Return a stored result, or an entry of it: "measured/joint:sets.0"; nothing stored: []."""
    file, _, path = name.partition(":")
    stored = DOCS / f"{file}.json"
    content = json.loads(stored.read_text("utf-8")) if stored.exists() else []
    for key in filter(None, path.split(".")):
        content = content[int(key) if isinstance(content, list) else key]
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
    """Format a number; one that diverged by its order of magnitude."""
    if "~" in spec:
        sign, _, digits = spec.partition("~")
        whole = 10 ** (int(digits) - 1) <= abs(value) < 1e7
        text = f"{value:{sign},.0f}" if whole else f"{value:{sign}.{digits}g}"
    elif abs(value) >= HUGE:
        text = f"{value:.0e}"
    else:
        text = re.sub(r"^-(?=[0.]*$)", "", f"{value:{spec}}").replace("%", " %")
    return text.replace("-", "−", 1) if value < 0 else text


CELLS = Cells()


def stored_table(asked: dict[str, str]) -> Table:
    """Format the entries of a stored list or mapping."""
    rows = read(asked["from"])
    if isinstance(rows, dict):
        rows = [
            {"key": k, "value": v, **(v if isinstance(v, dict) else {})} for k, v in rows.items()
        ]
    key, _, wanted = asked.get("where", "").partition("=")
    if key:
        rows = [row for row in rows if (str(row[key]) in wanted.split(",") if wanted else row[key])]
    columns = [column.split("=", 1) for column in asked["columns"].split(" | ")]
    lines = [[CELLS.format(form, **row) for _, form in columns] for row in rows]
    heads = [head for head, _ in columns]
    if "across" not in asked:
        return heads, lines
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for line, row in zip(lines, rows, strict=True):
        across = CELLS.format(asked["across"], **row)
        cells.setdefault(tuple(line), {})[across] = CELLS.format(asked["cell"], **row)
    return pivot(heads, cells, asked["order"].split(",") if "order" in asked else ())


def pivot(
    heads: Sequence[str], cells: dict[tuple[str, ...], dict[str, str]], order: Sequence[str] = ()
) -> Table:
    """Tabulate cells by row and column."""
    names = [*order] or list(dict.fromkeys(name for line in cells.values() for name in line))
    if not cells:
        raise ValueError(f"table: nothing is stored for {heads}")
    return [*heads, *names], [[*k, *(v.get(n, "–") for n in names)] for k, v in cells.items()]


def study_table(asked: dict[str, str]) -> Table:
    """Tabulate metrics of a study: metrics in columns, or one metric across agents or panels."""
    if unknown := asked.keys() - KEYS:
        raise ValueError(f"table: unknown {sorted(unknown)} in {asked}")
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
            head = _named(entry, across) if across else _title(name, entries[0])
            line[head] = _metric(entry, name, asked)
    return pivot(rows, cells)


def _named(entry: Row, place: str) -> str:
    if place == "agent":
        return entry["label"]
    return f"`{entry[place]}`" if place == "interpretation" else entry[place]


def _title(name: str, entry: Row) -> str:
    from expectant.experiments.metrics import METRICS

    if name == "mean" and entry.get("quantity", RETURN) != RETURN:
        return entry["quantity"]
    kind, point, where = name.partition(":")
    if point:
        return where if kind == "at" else f"{kind} {where}"
    base, _, switch = name.partition("@")
    return CAPTIONS.get(base) or METRICS[base].title + (f" (switch {switch})" if switch else "")


def _metric(entry: Row, name: str, asked: dict[str, str]) -> str:
    if name == "runs":
        return f"{entry['runs']:,}"
    kind, point, where = name.partition(":")
    if point:
        curve, x = entry["curve"], float(where)
        numbers = [dict(curve)[x] if kind == "at" else _first_reach(curve, x)]
    else:
        numbers = entry["metrics"].get(name) or [entry.get(name)]
    scaled = [None if value is None else float(asked.get("times", 1)) * value for value in numbers]
    complete = scaled[:1] if None in scaled else scaled
    return CELLS.format_field(complete, f",.{asked.get('digits', 2)}f")


def _first_reach(curve: Sequence[tuple[float, float | None]], level: float) -> float | None:
    """Return where a curve first reaches a level, interpolated between two points."""
    before: tuple[float, float] | None = None
    for x, y in curve:
        if y is not None and y >= level:
            return x if before is None else x - (x - before[0]) * (y - level) / (y - before[1])
        before = None if y is None else (x, y)
    return None


def claims_table(study: str) -> Table:
    """List all claims that were judged, by interpretation if there are several."""
    stored = f"measured/{study}-claims"
    several = len({one["interpretation"] for one in read(stored)}) > 1
    interpretation = "interpretation=`{interpretation}` | " if several else ""
    columns = (
        f"#={{id}} | figure={{figure}} | {interpretation}claim={{claim}} | verdict={{verdict}}"
    )
    number = "number (95 % interval)={effect:~4} ({low:~4} to {high:~4})"
    return stored_table({"from": stored, "columns": f"{columns} | runs={{runs:,}} | {number}"})


def answers_table(study: str, figure: str, asking: str = "") -> Table:
    """Answer a study's questions: a column for each question, a row for each panel."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for one in read(f"measured/{study}-claims"):
        if one["figure"] in figure.split(",") and asking in one["claim"]:
            where = f"{one.get('panel') or one['figure']} (± {one['margin']:g})"
            question = one["claim"].removeprefix(f"{one.get('panel')}: ")
            verdict = OUTCOMES.get(one["verdict"], one["verdict"])
            numbers = CELLS.format("{effect:~3} ({low:~3} to {high:~3})", **one)
            cells.setdefault((where,), {})[question] = f"**{verdict}** {numbers}"
    return pivot(["panel (margin)"], cells)


def tuned_table(study: str) -> Table:
    """List the settings chosen for the arms of a study; a star marks the edge of a grid."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in read(f"measured/{study}-tuning"):
        found = {name.rsplit(".", maxsplit=1)[-1]: name for name in entry["settings"]}
        cells.setdefault((entry["label"],), {})[entry["panel"]] = ", ".join(
            f"{short.removesuffix('_step')} {entry['settings'][found[short]]:g}"
            + "*" * (found[short] in entry["edge"])
            for short in [*(step for step in STEPS if step in found), *(found.keys() - STEPS)]
        )
    return pivot(["steps chosen for"], cells)


def verdict_counts() -> Table:
    """Count the verdicts under each interpretation."""
    counts: dict[str, Counter[str]] = {
        "literal": Counter(),
        "preferred": Counter(),
        "authors": Counter(),
    }
    for one in read(PAPER):
        counts[one["interpretation"]][one["verdict"]] += 1
    return ["interpretation", "claims judged", "of these"], [
        [f"`{name}`", str(many.total()), ", ".join(f"{many[kind]} {kind}" for kind in KINDS)]
        for name, many in counts.items()
    ]


def parameters(*agents: str) -> Table:
    """Compare the printed step sizes with the best of a grid."""
    keys = ("agent", "panel", "printed", "best", "behind", "best_return", "tried", "rank")
    merged: dict[str, Row] = {}  # figures and interpretations with the same results are one row
    for one in read("measured/parameters:choices"):
        if not agents or one["agent"] in agents:
            row = merged.setdefault(json.dumps([one[key] for key in keys]), {**one, "under": []})
            row["under"] += [one["interpretation"]] * (one["interpretation"] not in row["under"])
    rows = []
    for row in merged.values():
        printed, best = (
            ", ".join(f"{STEPS[name]} {value:g}" for name, value in row[which].items())
            for which in ("printed", "best")
        )
        form = "{figure}{panel:?, %} | {label} | {under} | {first} | {second}{at_edge:? (edge)} | "
        form += "{best_return:.2f} | {behind:.2f} | {rank} of {tried} | {verdict}"
        rows.append(CELLS.format(form, first=printed, second=best, **row).split(" | "))
    return ["figure", "agent", "interpretation", "printed", "best of the grid", "its return",
            "printed less best", "rank of the printed one", "printed is as good"], rows  # fmt: skip


def verdicts_sentence() -> str:
    """Count the claims that hold whatever the interpretation, under none, or depending on it."""
    by_claim: dict[int, set[str]] = {}
    for row in read(PAPER):
        by_claim.setdefault(row["id"], set()).add(row["verdict"])
    kinds: dict[str, list[str]] = {
        "hold under every interpretation they were judged under": [],
        "under some of them only": [],
        "under none": [],
        "are unclear under some and hold under none": [],
    }
    everywhere, somewhere, nowhere, unclear = kinds.values()
    for claim, verdicts in sorted(by_claim.items()):
        if "holds" in verdicts:
            (everywhere if len(verdicts) == 1 else somewhere).append(str(claim))
        else:
            (unclear if "unclear" in verdicts else nowhere).append(str(claim))
    parts = [f"{len(ids)} {kind} ({', '.join(ids)})" for kind, ids in kinds.items() if ids]
    return f"**In short**, of {len(by_claim)} claims {'; '.join(parts)}."


def defaults() -> Table:
    """Show the best settings of every agent on the problems that defaults were chosen on."""
    stored, rows = read("defaults"), []
    for kind, best in stored["best"].items():
        name = "".join(word.capitalize() for word in kind.split("_"))
        for place, row in enumerate(best):
            lead = ["", "", ("chosen", "second", "third")[place]]
            if place == 0:
                lead[:2] = f"`{name}`", str(stored["tried"][kind])
            fresh = f"{stored['fresh'][kind]:.3f}" if place == 0 else ""
            words = ", ".join(
                f"`{key}` {_default(value)}" for key, value in row["settings"].items()
            )
            rows.append([*lead, f"{row['score']:.3f}", fresh, words])
    return ["agent", "settings tried", "", "score", "fresh runs", "settings"], rows


def _default(value: Any) -> str:
    if isinstance(value, dict):
        return f"Autostep({value['initial_step']:g}, {value['meta_step']:g})"
    return f"{value:g}"


TABLES: dict[str, Callable[..., Table]] = {
    "verdict-counts": verdict_counts,
    "parameters": parameters,
    "defaults": defaults,
}


def make_table(words: str) -> list[str]:
    """Return the lines of the table that a comment asks for."""
    name, *more = shlex.split(words)
    asked = dict(word.split("=", 1) for word in (name, *more) if "=" in word)
    if not asked or "=" not in name:
        head, body = TABLES[name](*more)
    elif "from" in asked:
        head, body = stored_table(asked)
    elif "claims" in asked:
        head, body = claims_table(asked["claims"])
    elif "answers" in asked:
        head, body = answers_table(asked["answers"], asked["figure"], asked.get("asking", ""))
    else:
        head, body = tuned_table(asked["tuned"]) if "tuned" in asked else study_table(asked)
    lines = [f"| {' | '.join(row)} |" for row in (head, *body)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def fill_page(text: str) -> str:
    """Return a page with its tables, and the sentence that counts verdicts, made again."""
    text = MARK.sub(lambda mark: mark[1] + "\n".join(make_table(mark[2])) + "\n\n", text)
    return SENTENCE.sub(lambda mark: f"{mark[1]}{verdicts_sentence()}\n\n", text)


def pages() -> list[Path]:
    """Return the pages with marked tables or sentences."""
    every = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
    marked = re.compile("<!-- (table|sentence): ")
    return [page for page in every if marked.search(page.read_text("utf-8"))]


if __name__ == "__main__":
    for page in pages():
        page.write_text(fill_page(page.read_text("utf-8")), "utf-8")
