"""The search among joint readings as a command has it: in a file, so that it goes on where it was.

What came of each combination is a line. All settings of single agents come first. Then come
combinations, half of the contexts with settings under which all that was published of such an agent
holds, since those are few. Those under which the most claims hold are run again on another seed:
the best of many are partly luck.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from expectant.files import write_text
from expectant.lab.joint import Chosen, Joint
from expectant.lab.study import Study
from expectant.lab.together import answer_from_rows, favoured, to_confirm
from expectant.progress import duration_in_words, say

ROWS = "joint.jsonl"
BATCH = 8  # combinations that are computed together, and lost together if it is stopped

Rows = list[dict[str, Any]]


def joint_of(study: Study, runs: int, seed: int = 0) -> Joint:
    """The search that a study asks for: among all readings of some of its figures."""
    keys = study.joint
    if keys is None:
        raise ValueError(
            f"{study.name}: its study.toml has no table [joint], which says among the readings of "
            "which figures to search, and which claims describe them as published"
        )
    joint = Joint(study, keys.figures, runs, seed, keys.claims, keys.step_limit)
    if not joint.readings:
        raise ValueError(
            f"{study.name}: none of its readings makes a difference to the figures of [joint] "
            f"({', '.join(keys.figures)})"
        )
    return joint


def found(joint: Joint, folder: Path, count: int, threads: int | None) -> dict[str, Any]:
    """What so many combinations say, all settings of single agents, and fresh runs of the best."""
    alone = [
        row
        for agent in joint.alone
        for row in search(joint, folder, joint.settings(agent, count), threads, agent)
    ]
    wanted = list(joint.combinations(count, favoured(alone, joint.published)))
    rows = search(joint, folder, wanted, threads)
    again = to_confirm(rows, joint.published)
    fresh = search(another(joint), folder, again, threads) if again else []
    return answer_from_rows(rows, joint.published, joint.matters, alone, fresh)


def another(joint: Joint) -> Joint:
    """The same search on the next seed."""
    return replace(joint, seed=joint.seed + 1, known={}, judged={})


def search(
    joint: Joint, folder: Path, wanted: Sequence[Chosen], threads: int | None, agent: str = ""
) -> Rows:
    """The rows of combinations, or of one agent's settings; known ones are read from a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ROWS
    there = read_rows(path)
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in there))
    known = {_key(row): row for row in there}
    about = {"runs": joint.runs, "seed": joint.seed, "agent": agent}
    keys = [_key({"readings": chosen, **about}) for chosen in wanted]
    missing = [c for c, key in zip(wanted, keys, strict=True) if key not in known]
    what = f"settings of {agent}" if agent else f"combinations, seed {joint.seed}"
    start, before = time.perf_counter(), len(wanted) - len(missing)
    for first in range(0, len(missing), BATCH):
        batch, done = missing[first : first + BATCH], before + first
        title = f"{done + 1:,} to {done + len(batch):,} of {len(wanted):,} {what}"
        processor = time.process_time()
        rows = joint.rows(batch, threads, title, agent)
        took = (time.process_time() - processor) / len(batch)
        rows = [{**row, "processor_seconds": round(took, 3)} for row in rows]
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        known.update((_key(row), json.loads(json.dumps(row))) for row in rows)
        mean = (time.perf_counter() - start) / (first + len(batch))
        left = mean * (len(missing) - first - len(batch))
        say(
            f"{done + len(batch):,} of {len(wanted):,} {what}, about {duration_in_words(left)} left"
        )
    return [known[key] for key in keys]


def read_rows(path: Path) -> Rows:
    """The rows of a file; a last line that was not written to its end is left out."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text("utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


def _key(row: Mapping[str, Any]) -> str:
    about = (row["readings"], row["runs"], row["seed"], row.get("agent", ""))
    return json.dumps(about, sort_keys=True)
