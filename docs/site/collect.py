"""Store results for the tables of the documentation (docs/site/tables.py).

    python docs/site/collect.py results/paper                 # a study: metrics and claims
    python docs/site/collect.py results/second second-seed    # its claims under another name
    python docs/site/collect.py results/NAME-tuning           # the settings that a sweep chose
    python docs/site/collect.py guide results/small results/car    # docs/which-agent.json
    python docs/site/collect.py loca results/loca             # docs/loca.json
    python docs/site/collect.py examples                      # runs examples of the documentation

Benchmarks store their own results.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MEASURED = DOCS / "measured"
KEPT = ("mean", "final", "last-third", "shortfall", "regret", "lowest", "drop", "recovery", "last",
        "adaptation", "learned-share", "attainment", "diverged", "worsened")  # fmt: skip
AT_SWITCHES = ("regret", "lowest", "drop", "recovery")
SWITCHES = 3
POINTS = 200  # a longer curve is not stored
CLAIM = ("id", "figure", "interpretation", "claim", "verdict", "runs", "margin", "effect", "low",
         "high", "replication_probability", "unit", "note", "floored")  # fmt: skip
Row = dict[str, Any]


def rounded(number: Any) -> Any:
    """Round numbers to five significant digits; None for what is not finite."""
    if not isinstance(number, float):
        return number
    return float(f"{number:.5g}") if math.isfinite(number) else None


def write(path: Path, content: Any) -> None:
    """Write JSON, with a line for every entry of a list."""
    if isinstance(content, list):
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in content)
        text = f"[\n{lines}\n]\n"
    else:
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, "utf-8")
    print(f"stored {path}")


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else []


# ----------------------------------------------------------------------------------------- studies


def store_study(folder: Path, name: str = "") -> None:
    """Store what a study found; figures and claims that it does not have keep what is there."""
    from expectant.experiments.reproduce import read_stored
    from expectant.experiments.study import packaged, read_study

    request, panels = read_stored(folder, trust=True)
    study = request.study.name
    if not name:
        times = step_times(request.trials(), folder)
        entries = [summarise(panel, agent, times) for panel in panels for agent in panel.curves]
        fresh = {entry["figure"] for entry in entries}
        path = MEASURED / f"{study}.json"
        write(path, [*(entry for entry in read(path) if entry["figure"] not in fresh), *entries])
    about = {one.id: one.panel for one in read_study(packaged()[study]).claims}
    path = MEASURED / f"{name or study}-claims.json"
    claims = {(one["id"], one["interpretation"]): one for one in read(path) if one["id"] in about}
    for claim in read(folder / "claims.json"):
        if claim["effect"] is not None:
            where = {"panel": about[claim["id"]]} if about[claim["id"]] else {}
            kept = {key: rounded(claim[key]) for key in CLAIM if key in claim}
            claims[claim["id"], claim["interpretation"]] = kept | where
    write(path, [claims[key] for key in sorted(claims)])


def summarise(panel: Any, agent: str, times: dict[tuple[str, ...], float]) -> Row:
    """Return the metrics of one agent in one panel, and its curve if it is short."""
    place = (panel.figure, panel.panel, panel.interpretation, agent)
    entry = dict(zip(("figure", "panel", "interpretation", "agent"), place, strict=True))
    entry |= {"label": panel.labels[agent], "runs": panel.runs, "optimum": rounded(panel.optimum)}
    if place in times:
        entry["time"] = rounded(times[place])
    entry |= {"metrics": dict(metrics(panel, agent)), "quantity": panel.quantity}
    if panel.points is not None and len(panel.points) <= POINTS:
        means = panel.curves[agent].mean(axis=0).tolist()
        pairs = zip(panel.points.tolist(), means, strict=True)
        entry["curve"] = [[x, rounded(y)] for x, y in pairs]
    return entry


def metrics(panel: Any, agent: str) -> Iterator[tuple[str, list[float | None]]]:
    """Yield the metrics that are defined here, each with its 95 % interval, nothing clipped."""
    from expectant.analysis.panel import Unavailable
    from expectant.experiments.clauses import Clause
    from expectant.experiments.metrics import METRICS

    wanted = [(name, METRICS[name]) for name in KEPT]
    for name in AT_SWITCHES:
        at = METRICS[name].at
        wanted += [(f"{name}@{number}", at(number)) for number in range(1, SWITCHES + 1) if at]
    for name, metric in wanted:
        try:
            found = Clause(metric, (agent,)).find([replace(panel, floor=math.nan)])
        except Unavailable:
            continue
        numbers = [rounded(float(number)) for number in (found.effect, found.low, found.high)]
        if numbers[0] is not None:
            yield name, numbers


def step_times(trials: Any, folder: Path) -> dict[tuple[str, ...], float]:
    """Return the µs of a step of every trial that was timed."""
    from expectant.experiments.runner import Work
    from expectant.experiments.store import Store
    from expectant.experiments.timings import step_nanoseconds

    times = step_nanoseconds(Work(trials, Store(folder)).names, folder)
    places = [
        (trial.experiment, trial.panel, trial.interpretation, trial.agent_key) for trial in trials
    ]
    return {at: time / 1e3 for at, time in zip(places, times, strict=True) if not math.isnan(time)}


# ------------------------------------------------------------------------------------------ sweeps


def store_tuning(folder: Path) -> None:
    """Store the settings that a sweep chose for the arms of a study."""
    from expectant.experiments.best import choose_in_group
    from expectant.experiments.study import packaged, read_study
    from expectant.experiments.sweep_results import read_folder

    sweep = read_folder(folder)
    name = sweep.experiment.name
    study = next(study for study in packaged() if name.startswith(f"{study}-"))
    figure = name.removeprefix(f"{study}-").removesuffix("-tuning")
    path = MEASURED / f"{study}-tuning.json"
    entries = [entry for entry in read(path) if entry["figure"] != figure]
    for group in sweep.groups:
        found = choose_in_group(group, sweep.values, split=False)
        if found.best is None:
            raise ValueError(f"{folder}: every setting of {group.agent} diverged: widen its grid")
        entries.append({
            "figure": figure, "panel": group.panel.name, "agent": group.agent,
            "label": group.label, "settings": found.settings(found.best),
            "edge": list(found.at_edge), "tried": found.tried, "diverged": found.diverged,
            "runs": sweep.experiment.runs, "seed": sweep.experiment.seed,
        })  # fmt: skip
    order = list(read_study(packaged()[study]).figures)
    write(path, sorted(entries, key=lambda entry: order.index(entry["figure"])))


def list_settings(settings: dict[str, float], quote: str = "", edge: Any = ()) -> str:
    return ", ".join(
        f"{quote}{name.removeprefix('agent.')}{quote} {value:g}{' (edge)' * (name in edge)}"
        for name, value in settings.items()
    )


def store_guide(folders: list[Path]) -> None:
    """Store the choice of every agent on every problem of docs/which-agent.md."""
    from expectant.experiments.best import best

    labels = {"q_learning": "Q-learning", "q_planning": "Q-planning",
              "lookahead": "look-ahead (Algorithm 1)",
              "cached_values": "cached values (Algorithm 2)"}  # fmt: skip
    rows = []
    for folder in folders:
        made = best(folder)
        for choice, data in zip(made.choices, made.as_data()["choices"], strict=True):
            kept = ("agent", "problem", "settings", "at_edge", "reported", "tried", "diverged")
            row = {key: data[key] for key in kept} | {"label": labels[data["agent"]]}
            row["numbers"] = list_settings(data["settings"], "`", data["at_edge"])
            for name in ("planning_steps", "model_step"):
                row[f"by_{name}"] = best_by(name, made.folder, choice)
            rows.append(row)
    write(DOCS / "which-agent.json", rows)


def best_by(name: str, folder: Any, choice: Any) -> dict[str, float]:
    """Return the best mean over all runs for each value of a parameter."""
    column = choice.group.settings.get(f"agent.{name}", ())
    means = folder.values[choice.group.rows].mean(axis=1).tolist()
    found: dict[str, float] = {}
    for value, mean in zip(column, means, strict=True) if len(column) else ():
        if math.isfinite(mean):  # no run diverged
            found[str(value)] = round(max(mean, found.get(str(value), mean)), 4)
    return found


# -------------------------------------------------------------------------------- loca and examples


def store_loca(folder: Path) -> None:
    """Store the rows of the adaptation test."""
    labels = {"q_planning_distribution": "Q-planning, distribution",
              "q_planning_expectation": "Q-planning, expectation", "lookahead": "Look-ahead",
              "cached_values": "Cached action values", "cached_policy": "Cached policy",
              "q_learning": "Q-learning"}  # fmt: skip
    published = {
        "all": ("planning alone, uniformly random states", "adapts"),
        "current": ("planning alone, the current state", "does not"),
        "two_step": ("planning alone, uniformly random states, two-step model", "does not"),
        "sarsa": ("Sarsa(λ) with dutch traces", "does not"),
    }
    kept = ("agent", "backups", "P1", "adaptation", "adaptation_low", "adaptation_high",
            "adapted_seeds", "verdict", "adaptation_by_seed")  # fmt: skip
    found = read(folder / "loca.json")
    rows = []
    for row in found["rows"]:
        mark = {"adaptive": "**", "undecided": "*"}.get(row["verdict"], "")
        more = {"label": labels.get(row["agent"]), "mark": mark}
        if row["agent"] == "published":
            more["label"], more["published"] = published[row["backups"]]
        rows.append({key: row[key] for key in kept} | more)
    write(DOCS / "loca.json", {"seed": found["seed"], "rows": rows})


def store_examples() -> None:
    """Run the sweep of docs/choosing.md, examples/memory.py and examples/mountain_car.py."""
    sys.path.insert(0, str(ROOT / "examples"))
    import memory
    import mountain_car as car
    import numpy as np

    import expectant as ex

    earned = {name: memory.earned(features) for name, features in memory.FEATURES.items()}
    write(MEASURED / "examples.json", {"choosing": choose_as_documented(), "memory": earned})
    rows = {}
    for name, agent in car.agents.items():
        result = ex.run(car.domain, car.features, agent, episodes=200, runs=30)
        steps = {key: step.step for key, step in vars(agent).items() if key.endswith("_step")}
        needed = np.array([car.steps_to_level(row) for row in result.lengths])
        rows[name] = {
            "settings": ", ".join(f"{key[:-5]} {value}" for key, value in steps.items()),
            "late": ex.analysis.interval(result.lengths[:, 100:].mean(axis=1)),
            "needed": ex.analysis.interval(needed),
        }
    write(MEASURED / "mountain-car.json", rows)


def choose_as_documented() -> list[Row]:
    """Return what the sweep of docs/choosing.md chooses, by its own runs and by fresh ones."""
    import expectant as ex
    from expectant.experiments.best import best

    text = (DOCS / "choosing.md").read_text("utf-8")
    found = re.search(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    with tempfile.TemporaryDirectory() as folder:
        ex.Sweep.from_toml(found[1]).run(folder)
        halves, fresh = (
            best(Path(folder), confirm=runs).as_data()["choices"] for runs in (None, 30)
        )
    rows = []
    for half, one in zip(halves, fresh, strict=True):
        same = half["settings"] == one["settings"]
        rows.append({
            "label": one["label"], "best": list_settings(one["settings"]),
            "other": "" if same else list_settings(half["settings"]),
            "picked": one["picked"]["mean"],
            "half": [half["reported"][key] for key in ("mean", "low", "high")],
            "fresh": [one["reported"][key] for key in ("mean", "low", "high")],
            "no_worse": one["no_worse"], "tried": one["tried"],
        })  # fmt: skip
    return rows


if __name__ == "__main__":
    kind, *more = sys.argv[1:]
    if kind == "examples":
        store_examples()
    elif kind == "guide":
        store_guide([Path(folder) for folder in more])
    elif kind == "loca":
        store_loca(Path(*more))
    elif kind.rstrip("/").endswith("-tuning"):
        store_tuning(Path(kind))
    else:
        store_study(Path(kind), *more)
