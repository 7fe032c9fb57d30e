"""The test as data, a figure and a page."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from expectant.files import write_text
from expectant.lab.store.store import versions
from expectant.loca.cases import LABELS
from expectant.loca.measures import HORIZON, References, references
from expectant.loca.protocol import EVERY, course
from expectant.loca.rows import Row
from expectant.loca.runs import Request
from expectant.loca.verdicts import as_data, score
from expectant.show import (
    Adaptation,
    Chart,
    Curves,
    Environment,
    Header,
    Palette,
    Parameters,
    draw_chart,
    write_page,
)
from expectant.show.chart import Curve, Level, Plot, curve_of
from expectant.show.palette import BACKUPS

TITLE = "Local-change adaptation test"


def rows_as_data(rows: Sequence[Row], request: Request) -> list[dict[str, Any]]:
    """One dictionary per row: names, scores per seed, means, verdict."""
    known, phases = references(request.domain), course(request.domain).phases
    return [
        {
            "agent": row.case.agent,
            "backups": row.case.backups,
            "settings": settings_of(row.case.description),
            **as_data(score(row.measures, phases, known)),
        }
        for row in rows
    ]


def settings_of(description: Any) -> str:
    """An agent without its backups, which the row names, and without what has its default."""
    given = [
        f"{field.name}={getattr(description, field.name)!r}"
        for field in dataclasses.fields(description)
        if field.name != "backups" and getattr(description, field.name) != field.default
    ]
    return f"{type(description).__name__}({', '.join(given)})"


def write_report(rows: Sequence[Row], request: Request, folder: Path) -> list[Path]:
    """loca.json, loca.png, loca.svg and loca.html."""
    data = rows_as_data(rows, request)
    known = references(request.domain)
    content = {"references": known._asdict(), "seed": request.seed, "rows": data}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    chart, title = chart_of(rows, request, known), f"{TITLE}: mean of {request.runs} runs"
    names = {key: "no planning" if key == "none" else key for key in chart.keys}
    palette = Palette(names, BACKUPS)
    subtitle = (
        f"{len(rows)} agents and backup distributions, {request.runs} runs each, seed "
        f"{request.seed}"
    )
    sections = [
        Header(TITLE, subtitle, _text(known)),
        Adaptation(data, LABELS),
        Curves("curves", "expected return of the greedy policy, agent by agent", chart),
        Parameters([("", list({LABELS[row["agent"]]: row["settings"] for row in data}.items()))]),
        Environment(
            [*versions().items(), ("domain", repr(request.domain)), ("seed", request.seed)]
        ),
    ]
    return [
        write_text(folder / "loca.json", text),
        *draw_chart(chart, title, folder / "loca", palette),
        write_page(folder / "loca.html", sections, palette),
    ]


def chart_of(rows: Sequence[Row], request: Request, known: References) -> Chart:
    """One plot for every agent, one curve for every backup distribution."""
    first, second, third = request.domain.phase_steps
    end, steps = first + second + third, course(request.domain).steps
    levels = (
        Level(0, first, known.before, "optimum"),
        Level(first, end, known.after, "optimum"),
        Level(first, end, known.outdated, "outdated policy"),
    )
    curves: dict[str, list[Curve]] = {}
    for row in rows:
        curve = curve_of(row.case.backups, row.measures)
        curves.setdefault(row.case.agent, []).append(curve)
    plots = [
        Plot(LABELS[agent], steps, end, found, (first, first + second), levels)
        for agent, found in curves.items()
    ]
    return Chart(plots, min(len(plots), 2), "step", "expected return", "next phase")


def _text(known: References) -> list[str]:
    return [
        "The right exit of a grid pays 4 at first, the left one 2. Then the right exit pays 1, and "
        "for a while the agent starts next to it and cannot get anywhere else. An agent that plans "
        "can draw the conclusion for all other states: to go left. In the third phase it starts "
        "everywhere again. Nothing is reset and no phase is announced.",
        f"Every {EVERY} steps the greedy policy is measured exactly: its expected discounted return"
        f" within {HORIZON} steps, mean over all states, under the present rewards. The optimum is "
        f"{known.before:.3f} before the change and {known.after:.3f} after it; the policy that was "
        f"best before gets {known.outdated:.3f} after it.",
        "P1 is the share of the optimum reached at the end of the first phase. Adaptation is how "
        "far the policy has come at the end of the second, from the outdated policy (0) to the "
        "new optimum (1). Adaptive: P1 at least 0.93 and adaptation at least 0.8. Not adaptive: P1 "
        "at least 0.9 and adaptation at most 0.3. Means over all runs, none dropped.",
    ]
