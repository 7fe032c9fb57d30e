"""Tables of what two examples find: the sweep of docs/choosing.md and examples/memory.py.

python docs/site/example_tables.py     # runs both and stores what came out
python docs/site/tables.py             # writes the tables
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "measured" / "examples.json"
PAGE = ROOT / "docs" / "choosing.md"
FRESH = 30


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The tables by their names."""
    return {
        "choosing": "\n".join(_choosing(stored["choosing"])),
        "memory": "\n".join(_memory(stored["memory"])),
    }


def _choosing(rows: list[dict[str, Any]]) -> Iterator[str]:
    by_runs = "runs of the sweep | second half of them | fresh runs"
    yield f"| agent | best setting | {by_runs} | no worse |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        other = (
            "" if row["half_settings"] == row["settings"] else f", {_named(row['half_settings'])}"
        )
        yield (
            f"| {row['label']} | {_named(row['settings'])} | {row['picked']:.2f} | "
            f"{_interval(row['half'])}{other} | {_interval(row['fresh'])} | "
            f"{row['no_worse']} of {row['tried']} |"
        )


def _named(settings: dict[str, float]) -> str:
    return ", ".join(f"{name.removeprefix('agent.')} {value:g}" for name, value in settings.items())


def _memory(rows: dict[str, list[float]]) -> Iterator[str]:
    yield "| features | mean return of Q-learning, 30 runs (95 % interval) |"
    yield "|---|---|"
    for name, found in rows.items():
        yield f"| {name} | {_interval(found)} |"


def _interval(found: list[float]) -> str:
    mean, low, high = (round(number, 2) + 0.0 for number in found)  # no −0.00
    return f"{mean:.2f} ({low:.2f} to {high:.2f})".replace("-", "−")


def chosen() -> list[dict[str, Any]]:
    """What the sweep that stands in the page chooses, by its own runs and by fresh ones."""
    import expectant as ex
    from expectant.lab.choosing.best_command import best

    found = re.search(r"^```toml\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    with tempfile.TemporaryDirectory() as folder:
        ex.Sweep.from_toml(found[1]).run(folder)
        halves, fresh = (
            best(Path(folder), confirm=confirm).as_data()["choices"] for confirm in (None, FRESH)
        )
    return [
        {
            "label": one["label"],
            "settings": one["settings"],
            "picked": one["picked"]["mean"],
            "half_settings": half["settings"],
            "half": [half["reported"][key] for key in ("mean", "low", "high")],
            "fresh": [one["reported"][key] for key in ("mean", "low", "high")],
            "no_worse": one["no_worse"],
            "tried": one["tried"],
        }
        for half, one in zip(halves, fresh, strict=True)
    ]


def remembered() -> dict[str, Any]:
    """What Q-learning earns in the maze of the example, with every kind of memory."""
    sys.path.insert(0, str(ROOT / "examples"))
    import memory

    return {name: memory.earned(features) for name, features in memory.FEATURES.items()}


if __name__ == "__main__":
    content = {"choosing": chosen(), "memory": remembered()}
    STORED.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
