"""Tables of the documentation, made from stored results, so that no number is typed.

    python docs/site/tables.py                   # all tables again, from what is stored
    python docs/site/tables.py results/paper     # store what a study's folder has found, first
    python docs/site/tables.py results/readings  # the same of the command `readings`

What studies have found is stored in docs/measured, a file for each. A table stands in a page after
a comment that says what it is:

    <!-- table: study=kudashkina-2021 figure=5b agent=lookahead rows=reading columns=mean,drop -->

``figure``, ``panel``, ``reading`` and ``agent`` pick results (several with commas), ``rows`` are
those of the four that tell rows apart. ``columns`` are measures, "runs" or "optimum"; or one of the
four, and then ``measure`` is what the cells are of. "drop@2" is a measure at the second move of the
goal; where curves are looks, "at:20" is the mean curve after 20 episodes (or steps), "reaches:0.8"
after how many it first is 0.8. ``digits`` are those after the point, ``interval=no`` leaves
intervals away, ``times=20`` multiplies the cells (look-aheads instead of steps); "time" is the µs
of a step. ``claims=STUDY`` alone asks for all claims of a study with their verdicts,
``answers=STUDY figure=…`` for those on some figures (``asking="…"`` has words of them), and
``tuned=STUDY`` for the settings of its arms. A comment with a name instead is a table of its own,
see :func:`named_table`.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "benchmarks")]
import answers  # noqa: E402
import paper_tables  # noqa: E402
import tuned  # noqa: E402

DOCS = Path(__file__).parents[1]
MEASURED = DOCS / "measured"
HUGE = 1e9  # from here on a number has run away, and is written so
SOURCES = (  # modules with STORED and tables
    "guide",
    "adaptation_tables",
    "car_table",
    "speed_table",
    "choose_defaults",
    "untuned",
    "sweeping",
    "sparse",
    "example_tables",
)
PLACES = ("figure", "panel", "reading", "agent")
KEPT = ("mean", "final", "last-third", "shortfall", "regret", "lowest", "drop", "recovery", "last",
        "adaptation", "learned-share", "attainment", "diverged", "worsened")  # fmt: skip
LOOKS = 200  # a curve with more points is not kept
AT_SWITCHES = ("regret", "lowest", "drop", "recovery")
JUDGED = ("id", "figure", "reading", "claim", "verdict", "runs", "margin")  # beside its number
NUMBER = "number (95 % interval)"
RETURN = "return per episode"  # what most curves are of
SWITCHES = 3
MARK = re.compile(r"(<!-- table: ([^\n]*?) -->\n\n)(?:\|[^\n]*\n)*\n?")
SENTENCE = re.compile(r"(<!-- sentence: ([^\n]*?) -->\n\n)(?:[^\n]+\n)*\n?")
CAPTIONS = {
    "runs": "runs", "optimum": "exact, ε-greedy on q*", "agent": "agent", "time": "µs a step",
}  # fmt: skip


# ----------------------------------------------------------------------------------- what is kept


def measured(folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """The name of a study, and what every agent of every panel in a folder of it has come to."""
    from expectant.lab.reproduce import read_stored

    request, panels = read_stored(folder, trust=True)
    times = _times(request.cells(), folder)
    entries = [
        {
            "figure": panel.figure,
            "panel": panel.panel,
            "reading": panel.reading,
            "agent": agent,
            "label": panel.labels[agent],
            "runs": panel.runs,
            "optimum": _rounded(panel.optimum),
            **times.get((panel.figure, panel.panel, panel.reading, agent), {}),
            "measures": dict(_measures(panel, agent)),
            "quantity": panel.quantity,
            **_curve(panel, agent),
        }
        for panel in panels
        for agent in panel.curves
    ]
    return request.study.name, entries


def _times(cells: Sequence[Any], folder: Path) -> dict[tuple[str, ...], dict[str, float]]:
    """The µs of a step of every cell, where they were measured."""
    from expectant.lab.engines.compute import Work
    from expectant.lab.store.store import Store
    from expectant.lab.store.timings import step_nanoseconds

    times = step_nanoseconds(Work(cells, Store(folder)).names, folder)
    return {
        (cell.experiment, cell.panel, cell.reading, cell.agent_key): {"time": _rounded(time / 1e3)}
        for cell, time in zip(cells, times, strict=True)
        if not math.isnan(time)
    }


def _measures(panel: Any, agent: str) -> Iterator[tuple[str, list[float | None]]]:
    """The measures that mean something here, each with its 95 % interval."""
    from expectant.analysis.comparison import Unavailable
    from expectant.lab.clauses import Clause
    from expectant.lab.measures import MEASURES

    panel = replace(panel, floor=math.nan)  # which is for verdicts; here is what runs earned
    wanted = [(name, MEASURES[name]) for name in KEPT]
    for name in AT_SWITCHES:
        at = MEASURES[name].at
        wanted += [(f"{name}@{number}", at(number)) for number in range(1, SWITCHES + 1) if at]
    for name, measure in wanted:
        try:
            found = Clause(measure, (agent,)).find([panel])
        except Unavailable:
            continue
        numbers = [_rounded(number) for number in (found.effect, found.low, found.high)]
        if numbers[0] is not None:
            yield name, numbers


def _curve(panel: Any, agent: str) -> dict[str, Any]:
    """The mean curve itself, where it is of looks and not too long."""
    if panel.points is None or len(panel.points) > LOOKS:
        return {}
    means = panel.curves[agent].mean(axis=0)
    pairs = zip(panel.points.tolist(), means.tolist(), strict=True)
    return {"curve": [[x, _rounded(y)] for x, y in pairs]}


def _rounded(number: float) -> float | None:
    return float(f"{number:.5g}") if number is not None and abs(number) < float("inf") else None


def store(folder: Path) -> Path:
    """Write what a study's folder has found; figures that it does not have keep what is there."""
    name, entries = measured(folder)
    path = MEASURED / f"{name}.json"
    fresh = {entry["figure"] for entry in entries}
    kept = [entry for entry in read(name) if entry["figure"] not in fresh]
    lines = [json.dumps(entry, ensure_ascii=False) for entry in [*kept, *entries]]
    MEASURED.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
    return path


def store_claims(folder: Path, study: str) -> Path:
    """Write the verdicts in a study's folder; claims that it does not judge keep what is there."""
    panels = answers.panels_of(study)
    known = [one for one in read(f"{study}-claims") if not panels or one["id"] in panels]
    found = {(one["id"], one["reading"]): one for one in known}
    for claim in json.loads((folder / "claims.json").read_text("utf-8")):
        if claim["effect"] is not None:
            rounded = {key: _rounded(claim[key]) for key in ("effect", "low", "high")}
            where = {"panel": panels[claim["id"]]} if panels.get(claim["id"]) else {}
            judged = {key: claim[key] for key in JUDGED if key in claim}
            found[claim["id"], claim["reading"]] = judged | where | rounded
    lines = [json.dumps(found[key], ensure_ascii=False) for key in sorted(found)]
    path = MEASURED / f"{study}-claims.json"
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
    return path


def read(study: str) -> list[dict[str, Any]]:
    path = MEASURED / f"{study}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else []


# ---------------------------------------------------------------------------------------- tables


def table(words: str) -> list[str]:
    """The lines of the table that a comment asks for."""
    asked = dict(word.split("=", 1) for word in shlex.split(words) if "=" in word)
    if not asked:
        return named_table(words)
    if "claims" in asked:
        return claims_table(asked["claims"])
    if "answers" in asked:
        return markdown(*answers.table(read(f"{asked['answers']}-claims"), **asked))
    if "tuned" in asked:
        return markdown(*tuned.table(asked["tuned"]))
    known = {*PLACES, "study", "rows", "columns", "measure", "digits", "interval", "times"}
    unknown = set(asked) - known
    if unknown:
        raise ValueError(f"table: unknown {sorted(unknown)} in {words!r}")
    entries = [
        entry
        for entry in read(asked["study"])
        if all(entry[place] in asked[place].split(",") for place in PLACES if place in asked)
    ]
    if not entries:
        raise ValueError(f"table: nothing is stored of {words!r}")
    rows, columns = asked.get("rows", "agent").split(","), asked["columns"].split(",")
    if columns[0] in PLACES:
        return _pivoted(entries, rows, columns[0], asked)
    head = [*rows, *(_title(name, entries[0]) for name in columns)]
    body = [
        [*(_named(entry, place) for place in rows), *(_cell(entry, n, asked) for n in columns)]
        for entry in entries
    ]
    return markdown(head, body)


def claims_table(study: str) -> list[str]:
    """All claims that were judged, with the number that decides, by reading if that varies."""
    claims = read(f"{study}-claims")
    several = len({one["reading"] for one in claims}) > 1
    head = ["#", "figure", *["reading"] * several, "claim", "verdict", "runs", NUMBER]
    return markdown(head, [
        [str(one["id"]), one["figure"], *[f"`{one['reading']}`"] * several, one["claim"],
         one["verdict"], f"{one['runs']:,}", _interval_of(one)]
        for one in claims
    ])  # fmt: skip


def _interval_of(claim: dict[str, Any]) -> str:
    from expectant.show.wording import shown_number as worded

    effect, low, high = (
        "–" if claim[key] is None else worded(claim[key]) for key in ("effect", "low", "high")
    )
    return f"{effect} ({low} to {high})"


def _pivoted(
    entries: Sequence[dict[str, Any]], rows: Sequence[str], across: str, asked: dict[str, str]
) -> list[str]:
    """One measure, with the values of one place as columns."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for entry in entries:
        line = found.setdefault(tuple(_named(entry, place) for place in rows), {})
        line[_named(entry, across)] = _cell(entry, asked["measure"], asked)
    names = list(dict.fromkeys(_named(entry, across) for entry in entries))
    return markdown(
        [*rows, *names],
        [[*row, *(line.get(name, "–") for name in names)] for row, line in found.items()],
    )


def _named(entry: dict[str, Any], place: str) -> str:
    if place == "agent":
        return entry["label"]
    return f"`{entry[place]}`" if place == "reading" else entry[place]


def _title(name: str, entry: dict[str, Any]) -> str:
    from expectant.lab.measures import MEASURES

    if name == "mean" and entry.get("quantity", RETURN) != RETURN:
        return entry["quantity"]
    kind, looked, where = name.partition(":")
    if looked:
        return where if kind == "at" else f"{kind} {where}"
    base, _, switch = name.partition("@")
    if base in CAPTIONS:
        return CAPTIONS[base]
    return MEASURES[base].title + (f" (switch {switch})" if switch else "")


def _cell(entry: dict[str, Any], name: str, asked: dict[str, str]) -> str:
    if name == "runs":
        return f"{entry['runs']:,}"
    digits = int(asked.get("digits", 2))
    if name in ("optimum", "time"):
        return number(entry.get(name), digits)
    times = float(asked.get("times", 1))
    effect, low, high = (
        None if found is None else times * found for found in _numbers(entry, name)
    )
    if low is None or asked.get("interval") == "no":
        return number(effect, digits)
    return f"{number(effect, digits)} ({number(low, digits)} to {number(high, digits)})"


def _numbers(entry: dict[str, Any], name: str) -> list[float | None]:
    """A measure with its interval, or a number of the mean curve, which has none."""
    kind, looked, where = name.partition(":")
    if not looked:
        return entry["measures"].get(name, [None] * 3)
    of = {"at": _height, "reaches": _reached}[kind]
    return [of(entry["curve"], float(where)), None, None]


def _height(curve: Sequence[tuple[float, float | None]], wanted: float) -> float | None:
    """What a curve is at a point."""
    return dict(curve)[wanted]


def _reached(curve: Sequence[tuple[float, float | None]], level: float) -> float | None:
    """Where a curve first is at a level, on the straight line between two looks."""
    before: tuple[float, float] | None = None
    for x, y in curve:
        if y is not None and y >= level:
            return x if before is None else x - (x - before[0]) * (y - level) / (y - before[1])
        before = None if y is None else (x, y)
    return None


def number(value: float | None, digits: int) -> str:
    """A number as pages write it."""
    if value is None:
        return "–"
    form = f",.{digits}f" if abs(value) < HUGE else ".0e"
    return f"{value:{form}}".replace("-", "−")


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown, line by line."""
    rows = [f"| {' | '.join(cells)} |" for cells in body]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *rows]


def named_table(name: str) -> list[str]:
    """A table that is not simply measures of a study."""
    if name in paper_tables.NAMED:
        return markdown(*paper_tables.NAMED[name]())
    for source in map(importlib.import_module, SOURCES):
        found = source.tables(json.loads(source.STORED.read_text("utf-8")))
        if name in found:
            return list(found[name].splitlines())
    raise ValueError(f"table: nobody makes {name!r}")


def with_tables(text: str) -> str:
    """A page with every table and sentence that a comment asks for, as it is by what is stored."""
    text = MARK.sub(lambda found: found[1] + "\n".join(table(found[2])) + "\n\n", text)
    return SENTENCE.sub(lambda found: f"{found[1]}{sentence(found[2])}\n\n", text)


def sentence(name: str) -> str:
    """A sentence that is made from what is stored."""
    if name not in paper_tables.SENTENCES:
        raise ValueError(f"sentence: nobody makes {name!r}")
    return paper_tables.SENTENCES[name]()


def pages() -> list[Path]:
    """The pages that have such tables."""
    every = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
    marks = ("<!-- table: ", "<!-- sentence: ")
    return [page for page in every if any(mark in page.read_text("utf-8") for mark in marks)]


if __name__ == "__main__":
    for word in sys.argv[1:]:
        folder = Path(word)
        found = [tuned.store(folder)] if tuned.is_sweep(folder) else paper_tables.store(folder)
        if not found:
            path = store(folder)
            found = [path, store_claims(folder, path.stem)]
        print(f"stored in {', '.join(map(str, found))}")
    for page in pages():
        page.write_text(with_tables(page.read_text("utf-8")), "utf-8")
