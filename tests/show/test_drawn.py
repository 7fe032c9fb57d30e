"""Every stroke of every kind of drawing is where it was when somebody last looked at it.

The descriptions are beside this file, in ``drawn``: whoever changes a drawing on purpose looks at
it and takes over what the test has written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import result_of
from matplotlib.figure import Figure

import expectant as ex
from expectant.analysis.panel import Panel
from expectant.show.animation.drawing import stage
from expectant.show.animation.frames import GRID, PLANE, ROW
from expectant.show.canvas import add_legend, agent_key, new_figure
from expectant.show.chart import chart_of, palette_of
from expectant.show.palette import AGENTS, BACKUPS, Palette, Style
from expectant.show.rendering import own_settings
from expectant.show.sensitivity import HeatMap, Sensitivity
from expectant.show.sensitivity_figures import _heat_figure, sensitivity_figure
from expectant.show.static_curves import chart_figure
from expectant.show.worlds import world_figure
from show.describing import described
from show.test_animation import COLOUR, made_up
from show.test_sensitivity import LINES, NAN, PALETTE

DRAWN = Path(__file__).parent / "drawn"


def panel(name: str, reading: str = "text", bins: int = 12, **changes: Any) -> Panel:
    """Three runs of two agents that rise; one of them falls far below, one run of it diverges."""
    rise = np.linspace(-4.0, 9.0, bins)
    noise = np.array([[-1.0], [0.0], [1.0]])
    other = 0.5 * rise + noise
    other[:, 1], other[2, -2:] = -900.0, np.nan
    curves = {"plain": rise + noise, "other": other, "third": rise - 2.0 + 0.5 * noise}
    labels = {"plain": "Plain", "other": "The other"}
    made = Panel("5a", name, reading, 10, 40, 9.5, curves, labels)
    return replace(made, **changes)


def curves(panels: list[Panel]) -> Figure:
    return chart_figure(chart_of(panels), "A title", palette_of(panels))


def animated(kind: str) -> Figure:
    recording = made_up(kind)
    with stage(recording, COLOUR) as (figure, update):
        update(recording.frames[-2])
        return figure


def long_curve() -> Figure:
    recording = made_up(ROW, model=False)
    curve, times = np.sin(np.arange(200.0)), np.arange(1, 201)
    recording = dataclasses.replace(recording, curve=curve, times=times, length=200)
    with stage(recording, COLOUR) as (figure, _):
        return figure


def notebook() -> Figure:
    returns = np.linspace(-20.0, 12.0, 48).reshape(3, 16)
    fallen = returns.copy()
    fallen[0, 3], fallen[2, 12:] = -4000.0, np.nan
    domain = ex.Corridor(switch_every=5)
    results = {
        "one": result_of(returns, domain=domain),
        "an agent with a long name that goes on and on " * 2: result_of(fallen, domain=domain),
        "_third": result_of(returns[::-1], domain=domain),
    }
    return ex.plot(results)


def maps() -> Figure:
    means = np.arange(12.0).reshape(4, 3)
    means[0, 0], means[3, 0] = NAN, -1e6
    wide = np.arange(60.0).reshape(20, 3) % 17
    found = [
        HeatMap("One", "agent.a", "features.b", [1, 2, 3, 4], ["x", "y", "z"], means, np.isnan(means)),
        HeatMap("Two", "agent.a", "agent.b", list(range(20)), [0.1, 0.2, 0.3], wide, wide > 15),
    ]  # fmt: skip
    return _heat_figure(found, "Title", "mean")


def settings() -> Figure:
    many = np.stack([np.arange(20.0), np.arange(20.0) - 1, np.arange(20.0) + 2], axis=1)
    long = Sensitivity("two", "features.size", list(range(20)), many)
    words = Sensitivity("one", "agent.model.kind", ["a long word", "another one"], many[:2])
    return sensitivity_figure([*LINES, long, words], "Title", "mean", PALETTE)


def looks() -> Figure:
    """The legend of everything that has a look of its own, and of agents that have none."""
    figure = new_figure(6.0, 3.0)
    named = [Style(key, *look) for looks in (AGENTS, BACKUPS) for key, look in looks.items()]
    others = Palette({f"agent {n}": f"Agent {n}" for n in range(9)})
    add_legend(figure, [agent_key(style) for style in (*named, *others.values())])
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "world-layers": lambda: world_figure(ex.Counterexample()),
    "world-row": lambda: world_figure(ex.Corridor(cells=4, slip=0.25, switch_every=5)),
    "curves": lambda: curves([panel("")]),
    "curves-long": lambda: curves([panel("", bins=400, switch_every=None), panel("a · b" * 9)]),
    "curves-many": lambda: curves(
        [panel(name, reading) for name in "abc" for reading in ("text", "code")]
        + [panel("a long name " * 3, "code", switch_every=None, optimum=NAN)]
    ),
    "settings": settings,
    "maps": maps,
    "animation-row": lambda: animated(ROW),
    "animation-grid": lambda: animated(GRID),
    "animation-plane": lambda: animated(PLANE),
    "animation-curve": long_curve,
    "notebook": notebook,
    "looks": looks,
}


@pytest.mark.parametrize("name", FIGURES)
def test_drawings_are_as_they_were(name, tmp_path):
    with own_settings():
        found = described(FIGURES[name]())
    (tmp_path / f"{name}.txt").write_text(f"{found}\n", encoding="utf-8")
    known = (DRAWN / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
    assert found.splitlines() == known.splitlines(), f"{tmp_path}/{name}.txt is what is drawn now"
