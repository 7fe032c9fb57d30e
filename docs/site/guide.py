"""docs/which-agent.md from the study of that name: choices in a file, tables in the page.

    expectant sweep src/expectant/studies/which-agent/small.toml
    expectant sweep src/expectant/studies/which-agent/car.toml
    python docs/site/guide.py results/small results/car

Without folders only the tables are written again, from what is stored in docs/which-agent.json.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "which-agent.md"
STORED = PAGE.with_suffix(".json")
VARIED = {"planning_steps": ("1", "5", "20"), "model_step": ("0.1", "0.5")}
NAMES = {
    "q_learning": "Q-learning",
    "q_planning": "Q-planning",
    "lookahead": "look-ahead (Algorithm 1)",
    "cached_values": "cached values (Algorithm 2)",
}


def gathered(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """The choice of every agent on every problem, and the best by number of planning steps."""
    from expectant.lab.choosing.best_command import best

    found = []
    for folder in folders:
        made = best(folder)
        for choice, data in zip(made.choices, made.as_data()["choices"], strict=True):
            kept = ("agent", "problem", "settings", "at_edge", "reported", "tried", "diverged")
            varied = {f"by_{name}": by(name, made.folder, choice) for name in VARIED}
            found.append({**{key: data[key] for key in kept}, **varied})
    return found


def by(name: str, folder: Any, choice: Any) -> dict[str, float]:
    """For every value of a setting the best mean over all runs, whatever the others are."""
    column = choice.group.settings.get(f"agent.{name}", ())
    means = folder.values[choice.group.rows].mean(axis=1)
    found: dict[str, float] = {}
    for value, mean in zip(column, means.tolist(), strict=True) if len(column) else ():
        if math.isfinite(mean):  # no run diverged
            found[str(value)] = round(max(mean, found.get(str(value), mean)), 4)
    return found


def tables(choices: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The tables of the page by their names."""
    made = {"choices": "\n".join(_choices(choices))}
    return made | {name: "\n".join(_varied(choices, name)) for name in VARIED}


def _choices(choices: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| problem | agent | mean return (95 %) | best numbers |"
    yield "|---|---|---|---|"
    for choice in choices:
        reported = choice["reported"]
        value = f"{reported['mean']:.2f} ({reported['low']:.2f} to {reported['high']:.2f})"
        numbers = ", ".join(
            f"`{name.removeprefix('agent.')}` {number:g}" + " (edge)" * (name in choice["at_edge"])
            for name, number in choice["settings"].items()
        )
        yield f"| {choice['problem']} | {NAMES[choice['agent']]} | {value} | {numbers} |"


def _varied(choices: Sequence[dict[str, Any]], name: str) -> Iterator[str]:
    values = VARIED[name]
    yield f"| problem | agent | {' | '.join(f'`{name}` {value}' for value in values)} |"
    yield "|---|---|" + "---|" * len(values)
    for choice in choices:
        found = choice[f"by_{name}"]
        if found:
            cells = [f"{found[value]:.2f}" if value in found else "–" for value in values]
            yield f"| {choice['problem']} | {NAMES[choice['agent']]} | {' | '.join(cells)} |"


def with_tables(text: str, made: dict[str, str]) -> str:
    """The page with its tables replaced; each stands after a comment with its name."""
    for name, table in made.items():
        place = rf"(<!-- table: {name} -->\n\n)(?:\|.*\n)*\n*"
        text = re.sub(place, lambda found, table=table: f"{found[1]}{table}\n\n", text)
    return text


if __name__ == "__main__":
    if sys.argv[1:]:
        content = gathered([Path(name) for name in sys.argv[1:]])
        STORED.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(with_tables(PAGE.read_text(), tables(json.loads(STORED.read_text()))))
