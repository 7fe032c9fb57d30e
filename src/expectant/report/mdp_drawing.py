"""Drawings of small MDPs, made from their own tables: states, what actions lead to, what it pays.

A domain whose states are a row is drawn as one, between its exits; any other is drawn from left to
right by how far its states are from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.core.interfaces import Domain, Drawing
from expectant.domains.finite import END, FiniteMDP
from expectant.report.figure import SMALL, WIDTH, new_figure, own_settings, rendered, write_figure
from expectant.report.wording import shown_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STATES = 12  # of a world that is drawn
RADIUS, LINE, INK = 0.3, 0.9, "#333333"


class Arrow(NamedTuple):
    """An outcome of an action: ``pays`` is the reward in each phase, ``target`` −1 the end."""

    state: int
    action: int
    target: int
    probability: float
    pays: tuple[float, ...]


def arrows_of(mdp: FiniteMDP) -> list[Arrow]:
    """Everything that can happen in a finite MDP, whose probabilities are alike in all phases."""
    table = mdp.outcomes
    chances, found = table.probabilities[0], []
    for state, action, o in np.argwhere(chances > 0.0).tolist():
        pays = tuple(table.rewards[:, state, action, o].tolist())
        target = int(table.successors[state, action, o])
        found.append(Arrow(state, action, target, float(chances[state, action, o]), pays))
    return found


def draw_world(domain: Domain, path_stem: str | Path) -> list[Path]:
    """Draw a domain that is a small finite MDP into ``<path_stem>.png`` and ``.svg``."""
    return write_figure(lambda: world_figure(domain), path_stem)


def world_picture(domain: Domain) -> bytes:
    """The same as the bytes of a PNG."""
    with own_settings():
        return rendered(world_figure(domain), "png")


def world_figure(domain: Domain) -> Figure:
    """A small finite MDP as a figure of matplotlib."""
    mdp = domain.mdp()
    if mdp is None or mdp.states > MOST_STATES:
        raise ValueError(
            f"draw_world: domain must be a finite MDP of at most {MOST_STATES} states, "
            f"got {domain!r}"
        )
    drawing, arrows = domain.drawing, arrows_of(mdp)
    if drawing is not None and drawing.cells is None and drawing.exits:
        return _row(drawing, arrows, mdp.states)
    return _layers(arrows, mdp)


# ------------------------------------------------------------------------------- from the start


def depths(arrows: Sequence[Arrow], start: np.ndarray) -> list[int]:
    """How many steps every state is from the start."""
    found = [0 if chance > 0.0 else -1 for chance in start]
    for depth in range(len(found)):
        for arrow in arrows:
            if found[arrow.state] == depth and arrow.target != END and found[arrow.target] < 0:
                found[arrow.target] = depth + 1
    return found


def _layers(arrows: Sequence[Arrow], mdp: Any) -> Figure:
    """States in columns; an action is a dot, from which its outcomes go on."""
    depth, actions = depths(arrows, mdp.outcomes.start), mdp.actions
    deepest = max(depth)
    members = [[s for s, d in enumerate(depth) if d == column] for column in range(deepest + 1)]
    most = max(map(len, members))
    places = {
        s: (3.4 * column, 2.2 * ((len(states) - 1) / 2 - row))
        for column, states in enumerate(members)
        for row, s in enumerate(states)
    }
    height = 2.2 * most
    figure = new_figure(WIDTH, 0.55 * height + 0.3)
    axes = _empty(figure, (-0.6, 3.4 * deepest + 3.4), (-height / 2, height / 2))
    for state, (x, y) in places.items():
        _state(axes, x, y, str(state + 1))
        leads_on = any(a.state == state and a.target != END for a in arrows)
        apart = 2.0 if leads_on else 1.1  # so that an end is not in the way of other arrows
        for action in range(actions):
            own = [a for a in arrows if (a.state, a.action) == (state, action)]
            dot = (x + 1.3, y + apart * ((actions - 1) / 2 - action))
            _edge(axes, (x, y), dot, chr(ord("A") + action), head=False)
            axes.plot(*dot, "o", color=INK, markersize=4, zorder=3)
            for arrow in own:
                end = (dot[0] + 1.1, dot[1])
                _edge(axes, dot, places.get(arrow.target, end), _told(arrow), head=True)
                if arrow.target == END:
                    _end(axes, *end)
    return figure


def _told(arrow: Arrow) -> str:
    """The probability, where it is not one, and the reward."""
    chance = "" if arrow.probability == 1.0 else f"{fraction(arrow.probability)}: "
    return f"{chance}{' or '.join(dict.fromkeys(map(shown_number, arrow.pays)))}"


def fraction(probability: float) -> str:
    """A probability as people write it.

    >>> fraction(0.5), fraction(1 / 3), fraction(0.7)
    ('1/2', '1/3', '0.7')
    """
    simple = Fraction(probability).limit_denominator(9)
    short = f"{probability:g}"
    return str(simple) if abs(simple - probability) < 1e-12 and len(short) > 2 else short


# ----------------------------------------------------------------------------------------- a row


def _row(drawing: Drawing, arrows: Sequence[Arrow], states: int) -> Figure:
    """States side by side between the exits; all moves between two neighbours are one arrow."""
    figure = new_figure(WIDTH, 1.75)
    axes = _empty(figure, (-1.7, states + 0.7), (-1.4, 1.3))
    for exit in drawing.exits:
        _end(axes, exit.x, 0.0)
        lines = [
            f"{phase}: {shown_number(pay)}" if len(exit.pays) > 1 else f"pays {shown_number(pay)}"
            for phase, pay in zip(drawing.phases, exit.pays, strict=True)
        ]
        left = exit.x < 0
        place = exit.x + (-0.5 if left else 0.5)
        axes.text(place, -0.75, "\n".join(lines), ha="left" if left else "right", va="top",
                  fontsize=SMALL)  # fmt: skip
    ends = {True: min(e.x for e in drawing.exits), False: max(e.x for e in drawing.exits)}
    for state in range(states):
        _state(axes, state, 0.0, str(state + 1))
    places = {  # the end that is meant is the one beside its state
        (a.state, float(a.target) if a.target != END else ends[a.state < states / 2])
        for a in arrows
    }
    for state, place in sorted(places):
        _edge(axes, (state, 0.0), (place, 0.0), "", head=True, bend=-0.45)
    middle = [a for a in arrows if a.state == states // 2]
    for action, name in enumerate(drawing.actions):
        parts = [
            f"{fraction(a.probability)} to {a.target + 1}"
            for a in sorted(middle, key=lambda a: -a.probability)
            if a.action == action
        ]
        text = f"{name} in {states // 2 + 1}: {', '.join(parts)}"
        axes.text(
            states / 2 - 0.5, 1.25 - 0.3 * action, text, ha="center", va="top", fontsize=SMALL
        )
    inner = dict.fromkeys(shown_number(pay) for a in middle for pay in a.pays if a.target != END)
    axes.text(states / 2 - 0.5, -0.75, f"every other step: {' or '.join(inner)}", ha="center",
              va="top", fontsize=SMALL)  # fmt: skip
    return figure


# ------------------------------------------------------------------------------------ the strokes


def _empty(figure: Figure, across: tuple[float, float], up: tuple[float, float]) -> Axes:
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(*across)
    axes.set_ylim(*up)
    return axes


def _state(axes: Axes, x: float, y: float, name: str) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((x, y), RADIUS, facecolor="white", edgecolor=INK, lw=LINE, zorder=4))
    axes.text(x, y, name, ha="center", va="center", zorder=5)


def _end(axes: Axes, x: float, y: float) -> None:
    from matplotlib.patches import Rectangle

    corner, side = (x - 0.7 * RADIUS, y - 0.7 * RADIUS), 1.4 * RADIUS
    axes.add_patch(
        Rectangle(corner, side, side, facecolor="#bbbbbb", edgecolor=INK, lw=LINE, zorder=4)
    )


def _edge(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str,
    *,
    head: bool,
    bend: float = 0.0,
) -> None:
    """A line from place to place, drawn behind what stands there."""
    look: dict[str, Any] = {"arrowstyle": "-|>" if head else "-", "color": INK, "lw": LINE}
    look |= {"shrinkA": 0, "shrinkB": 11 if head else 0, "connectionstyle": f"arc3,rad={bend}"}
    axes.annotate("", end, start, arrowprops=look, zorder=2)
    if text:
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.text(*middle, text, ha="center", va="center", bbox=box, zorder=3)
