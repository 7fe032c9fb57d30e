"""Put what `expectant reproduce` has found into the documentation.

    python tests/verdict_page.py results/paper/claims.json

writes docs/verdicts.json, and the tables of docs/what-holds.md from it. A claim that the file does
not judge keeps what is there, unless claims or specs have changed since. With a second file, of another seed, docs/second-seed.json is written
too, and the sentence about it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from test_docs import (
    DOCS,
    FLOOR,
    KINDS,
    SECOND,
    SEEDS,
    VERDICTS,
    floor_sentence,
    hash_in,
    seeds_sentence,
    study_hash,
    verdict_rows,
    verdicts_in,
)

from expectant.lab.study import the_paper

KEPT = (
    "id", "reading", "verdict", "effect", "low", "high", "margin", "runs", "chance", "label",
    "unit", "note", "floored",
)  # fmt: skip


def store(claims: list[dict[str, Any]], path: Path) -> None:
    """Write the verdicts, those of other claims kept if the study is still the same."""
    known = verdicts_in(path) if hash_in(path) == study_hash() else []
    found = {(one["id"], one["reading"]): one for one in known}
    for claim in claims:
        if claim["effect"] is not None:
            short = {key: claim[key] for key in KEPT}
            rounded = {k: round(v, 6) if isinstance(v, float) else v for k, v in short.items()}
            found[claim["id"], claim["reading"]] = rounded
    lines = [json.dumps(found[key], ensure_ascii=False) for key in sorted(found)]
    head = f'{{"study": "{study_hash()}", "verdicts": [\n'
    path.write_text(head + ",\n".join(lines) + "\n]}\n", "utf-8")


def counts() -> list[list[str]]:
    """How many claims of which verdict, reading by reading."""
    stored = verdicts_in(VERDICTS)
    lines = []
    for named_set in the_paper().sets:
        own = [one["verdict"] for one in stored if one["reading"] == named_set]
        many = Counter(own)
        said = ", ".join(f"{many[kind]} {kind}" for kind in KINDS)
        lines.append([f"`{named_set}`", str(len(own)), said])
    return lines


def replace_table(text: str, head: str, body: list[list[str]]) -> str:
    """The page with other rows below the head of a table."""
    start = text.index(head)
    first = text.index("\n", text.index("\n", start) + 1) + 1
    end = text.index("\n\n", first) + 1
    return text[:first] + "".join(f"| {' | '.join(cells)} |\n" for cells in body) + text[end:]


if __name__ == "__main__":
    for given, kept in zip(sys.argv[1:], (VERDICTS, SECOND), strict=False):
        store(json.loads(Path(given).read_text("utf-8")), kept)
    page = DOCS / "what-holds.md"
    text = replace_table(page.read_text("utf-8"), "| # | figure | claim |", verdict_rows())
    text = replace_table(text, "| reading | claims judged |", counts())
    for start, sentence in ((SEEDS, seeds_sentence()), (FLOOR, floor_sentence())):
        first = text.index(start)
        text = text[:first] + sentence + text[text.index("\n- ", first + 1) :]
    page.write_text(text, "utf-8")
