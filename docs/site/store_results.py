"""Store results for the tables of the documentation (docs/site/fill_tables.py).

    python docs/site/store_results.py results/paper                 # a study: metrics and claims
    python docs/site/store_results.py results/second second-seed    # its claims, another name
    python docs/site/store_results.py results/NAME-tuning           # what a sweep selected
    python docs/site/store_results.py guide results/small results/car    # docs/which-agent.json
    python docs/site/store_results.py loca results/loca             # docs/loca.json

Benchmarks store their own results.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
MEASURED = DOCS / "measured"
KEPT = ("mean", "final", "last-third", "shortfall", "regret", "lowest", "drop", "recovery", "last",
        "adaptation", "learned-share", "attainment", "diverged", "worsened")  # fmt: skip
AT_SWITCHES = ("regret", "lowest", "drop", "recovery")
SWITCHES = 3
TIE_RULE = {
    "iterated-backups-corridor-9-tuning"
}  # sweeps whose steps are chosen with a rule for ties
POINTS = 200  # a longer curve is not stored
CLAIM = ("id", "figure", "interpretation", "claim", "verdict", "runs", "margin", "effect", "low",
         "high", "replication_probability", "unit", "note", "floored", "median", "ahead", "floors",
         "q_value", "judged_by")  # fmt: skip
Row = dict[str, Any]


def round_number(number: Any) -> Any:
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


def store_study(folder: Path, name: str = "") -> None:
    """Store the results of a study; figures and claims that it lacks stay as they are.

    After a change of the judging code run `expectant report FOLDER` first, which judges again.
    """
    from expectant.experiments.claims import judging_hash
    from expectant.experiments.reproduce import read_stored
    from expectant.experiments.study import packaged_studies, read_study

    request, panels = read_stored(folder, trust=True)
    study = request.study.name
    if not name:
        judged_by = {"judged_by": judging_hash()}
        entries = [
            summarise(panel, agent) | judged_by for panel in panels for agent in panel.curves
        ]
        fresh = {entry["figure"] for entry in entries}
        path = MEASURED / f"{study}.json"
        write(path, [*(entry for entry in read(path) if entry["figure"] not in fresh), *entries])
    panel_of = {claim.id: claim.panel for claim in read_study(packaged_studies()[study]).claims}
    path = MEASURED / f"{name or study}-claims.json"
    claims = {
        (row["id"], row["interpretation"]): row for row in read(path) if row["id"] in panel_of
    }
    for claim in read(folder / "claims.json"):
        if claim["effect"] is not None:
            row = {key: round_number(claim[key]) for key in CLAIM if key in claim}
            row |= {"panel": panel_of[claim["id"]]} if panel_of[claim["id"]] else {}
            claims[claim["id"], claim["interpretation"]] = row
    write(path, [claims[key] for key in sorted(claims)])


def summarise(panel: Any, agent: str) -> Row:
    """Return the metrics of one agent in one panel, and its curve if it is short."""
    from expectant.analysis.adaptation import is_adaptation_test, score_adaptation

    place = (panel.figure, panel.panel, panel.interpretation, agent)
    entry = dict(zip(("figure", "panel", "interpretation", "agent"), place, strict=True))
    entry |= {
        "label": panel.labels[agent],
        "runs": panel.runs,
        "optimum": round_number(panel.optimum),
    }
    entry |= {"metrics": dict(metrics(panel, agent)), "quantity": panel.quantity}
    if is_adaptation_test(panel):
        score = score_adaptation(panel, panel.curves[agent])
        entry["learned_by_run"] = [round(share, 2) for share in score.first.tolist()]
        entry["adaptation_by_run"] = [round(share, 2) for share in score.adaptation.tolist()]
        entry["adapted_runs"] = score.adapted_runs
    if panel.points is not None and len(panel.points) <= POINTS:
        means = panel.curves[agent].mean(axis=0).tolist()
        pairs = zip(panel.points.tolist(), means, strict=True)
        entry["curve"] = [[x, round_number(y)] for x, y in pairs]
    return entry


def metrics(panel: Any, agent: str) -> Iterator[tuple[str, list[float | None]]]:
    """Yield the metrics that are defined here, each with its 95 % interval, nothing clipped."""
    from expectant.analysis.panel import Unavailable
    from expectant.experiments.clauses import Clause
    from expectant.experiments.metrics import find_metric

    switches = [f"{name}@{number + 1}" for name in AT_SWITCHES for number in range(SWITCHES)]
    for name in (*KEPT, *switches):
        try:
            estimate = Clause(metric=find_metric(name), of=(agent,)).find(
                [replace(panel, floor=math.nan)]
            )
        except Unavailable:
            continue
        ends = estimate.effect, estimate.low, estimate.high
        numbers = [round_number(float(number)) for number in ends]
        if numbers[0] is not None:
            yield name, numbers


def break_ties(choice: Any, values: Any) -> Any:
    """Return the setting with the smallest steps that is not clearly worse than the best.

    The one-standard-error rule: no more below the best mean than the standard error of the paired
    difference. Of equals the one with the smallest value or action step is taken, then the one with
    the smallest step or forgetting of its model. Settings of which a run diverged are left out.
    """
    import numpy as np

    group = choice.group
    behind = values[choice.best] - values[group.rows]
    errors = behind.std(axis=1, ddof=1) / behind.shape[1] ** 0.5
    names = sorted(group.settings, key=lambda name: "model" in name)
    tied = [
        (*(group.settings[name][n] for name in names), row)
        for n, row in enumerate(group.rows.tolist())
        if np.isfinite(values[row]).all() and behind[n].mean() <= errors[n]
    ]
    return replace(choice, best=min(tied)[-1])


def store_tuning(folder: Path) -> None:
    """Store the parameters that a sweep selected for the arms of a study."""
    from expectant.experiments.best import choose_in_group
    from expectant.experiments.study import packaged_studies, read_study
    from expectant.experiments.sweep_results import read_folder

    sweep = read_folder(folder)
    name = sweep.experiment.name
    study = next(study for study in packaged_studies() if name.startswith(f"{study}-"))
    figure = name.removeprefix(f"{study}-").removesuffix("-tuning")
    path = MEASURED / f"{study}-tuning.json"
    fresh = {(figure, group.problem, group.agent) for group in sweep.groups}
    entries = [
        entry
        for entry in read(path)
        if (entry["figure"], entry["panel"], entry["agent"]) not in fresh
    ]
    for group in sweep.groups:
        choice = choose_in_group(group, sweep.values, split=False)
        if choice.best is None:
            raise ValueError(f"{folder}: every setting of {group.agent} diverged: widen its grid")
        if name in TIE_RULE:
            choice = break_ties(choice, sweep.values)
        entries.append({
            "figure": figure, "panel": group.problem, "agent": group.agent,
            "label": group.label, "settings": {k: float(v) for k, v in choice.settings.items()},
            "edge": list(choice.at_edge), "tried": choice.tried, "diverged": choice.diverged,
            "runs": sweep.experiment.runs, "seed": sweep.experiment.seed,
        })  # fmt: skip
    order = list(read_study(packaged_studies()[study]).figures)
    write(path, sorted(entries, key=lambda entry: order.index(entry["figure"])))


def store_guide(folders: list[Path]) -> None:
    """Store the selection of every agent on every problem of docs/which-agent.md."""
    from expectant.experiments.best import best

    rows = []
    for folder in folders:
        selection = best(folder)
        for choice, data in zip(selection.choices, selection.as_data()["choices"], strict=True):
            keys = ("agent", "label", "problem", "settings", "at_edge", "reported", "tried",
                    "diverged")  # fmt: skip
            row = {key: data[key] for key in keys}
            row["numbers"] = ", ".join(
                f"`{name.removeprefix('agent.')}` {value:g}{' (edge)' * (name in data['at_edge'])}"
                for name, value in data["settings"].items()
            )
            for name in ("planning_steps", "model_step"):
                row[f"by_{name}"] = best_by(name, selection.folder, choice)
            rows.append(row)
    write(DOCS / "which-agent.json", rows)


def best_by(name: str, folder: Any, choice: Any) -> dict[str, float]:
    """Return the best mean over all runs for each value of a parameter."""
    column = choice.group.settings.get(f"agent.{name}", ())
    means = folder.values[choice.group.rows].mean(axis=1).tolist()
    best: dict[str, float] = {}
    for value, mean in zip(column, means, strict=True) if len(column) else ():
        if math.isfinite(mean):  # no run diverged
            best[str(value)] = round(max(mean, best.get(str(value), mean)), 4)
    return best


def store_loca(folder: Path) -> None:
    """Store the rows of the adaptation test; labels and published verdicts stay as they are."""
    path, results = DOCS / "loca.json", read(folder / "loca.json")
    stored = {(row["agent"], row["backups"]): row for row in read(path)["rows"]}
    rows = []
    for row in results["rows"]:
        mark = {"adaptive": "**", "undecided": "*"}.get(row["verdict"], "")
        before = stored[row["agent"], row["backups"]]
        rows.append({key: row.get(key, before[key]) for key in before} | {"mark": mark})
    write(path, {"seed": results["seed"], "rows": rows})


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    if kind == "guide":
        store_guide([Path(folder) for folder in arguments])
    elif kind == "loca":
        store_loca(Path(*arguments))
    elif kind.rstrip("/").endswith("-tuning"):
        store_tuning(Path(kind))
    else:
        store_study(Path(kind), *arguments)
