"""Drawings of small finite MDPs: states, transitions and rewards.

A domain whose states form a row is drawn as one, between its exits; any other from left to right
by the distance of its states from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from expectant.core.interfaces import Domain, Drawing
from expectant.domains.finite import END, FiniteMDP
from expectant.report.figure import SMALL, WIDTH, new_figure, render, use_style
from expectant.report.formatting import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_STATES = 12
RADIUS, LINE, INK = 0.3, 0.9, "#333333"


class Arrow(NamedTuple):
    """An outcome of an action; ``rewards`` has one per phase, ``target`` −1 is the end."""

    state: int
    action: int
    target: int
    probability: float
    rewards: tuple[float, ...]


def arrows_of(mdp: FiniteMDP) -> list[Arrow]:
    """List all outcomes of an MDP whose probabilities are the same in all phases."""
    table = mdp.outcomes
    probabilities, arrows = table.probabilities[0], []
    for state, action, o in np.argwhere(probabilities > 0.0).tolist():
        rewards = tuple(table.rewards[:, state, action, o].tolist())
        target = int(table.successors[state, action, o])
        arrows.append(Arrow(state, action, target, float(probabilities[state, action, o]), rewards))
    return arrows


def world_picture(domain: Domain) -> bytes:
    """Return the drawing as the bytes of a PNG."""
    with use_style():
        return render(world_figure(domain), "png")


def world_figure(domain: Domain) -> Figure:
    """Return the drawing of a small finite MDP as a figure."""
    mdp = domain.mdp()
    if mdp is None or mdp.states > MOST_STATES:
        raise ValueError(
            f"world_picture: domain must be a finite MDP of at most {MOST_STATES} states, "
            f"got {domain!r}"
        )
    drawing, arrows = domain.sketch, arrows_of(mdp)
    if drawing is not None and drawing.cells is None and drawing.exits:
        return _draw_row(drawing, arrows, mdp.states)
    return _draw_layers(arrows, mdp)


def depths(arrows: Sequence[Arrow], start: np.ndarray) -> list[int]:
    """Return the distance of every state from the start, in steps."""
    distances = [0 if probability > 0.0 else -1 for probability in start]
    for depth in range(len(distances)):
        for state, _, target, *_ in arrows:
            if distances[state] == depth and target != END and distances[target] < 0:
                distances[target] = depth + 1
    return distances


def _draw_layers(arrows: Sequence[Arrow], mdp: Any) -> Figure:
    """Draw states in columns; an action is a dot, from which arrows lead to its outcomes."""
    depth, actions = depths(arrows, mdp.outcomes.start), mdp.actions
    deepest = max(depth)
    layers = [[s for s, d in enumerate(depth) if d == column] for column in range(deepest + 1)]
    positions = {
        s: (3.4 * column, 2.2 * ((len(states) - 1) / 2 - row))
        for column, states in enumerate(layers)
        for row, s in enumerate(states)
    }
    height = 2.2 * max(map(len, layers))
    figure = new_figure(WIDTH, 0.55 * height + 0.3)
    axes = _empty_axes(figure, (-0.6, 3.4 * deepest + 3.4), (-height / 2, height / 2))
    for state, (x, y) in positions.items():
        _draw_state(axes, x, y, str(state + 1))
        leads_on = any(a.state == state and a.target != END for a in arrows)
        distance = 2.0 if leads_on else 1.1  # keeps ends out of the way of other arrows
        for action in range(actions):
            dot = (x + 1.3, y + distance * ((actions - 1) / 2 - action))
            _draw_edge(axes, (x, y), dot, chr(ord("A") + action), head=False)
            axes.plot(*dot, "o", color=INK, markersize=4, zorder=3)
            end = (dot[0] + 1.1, dot[1])
            for arrow in arrows:
                if (arrow.state, arrow.action) == (state, action):
                    target = positions.get(arrow.target, end)
                    _draw_edge(axes, dot, target, _arrow_label(arrow), head=True)
                    if arrow.target == END:
                        _draw_end(axes, *end)
    return figure


def _arrow_label(arrow: Arrow) -> str:
    """Return the probability, unless it is one, and the reward."""
    probability = "" if arrow.probability == 1.0 else f"{fraction(arrow.probability)}: "
    return f"{probability}{' or '.join(dict.fromkeys(map(format_number, arrow.rewards)))}"


def fraction(probability: float) -> str:
    """Format a probability as a fraction if that is simple.

    >>> fraction(0.5), fraction(1 / 3), fraction(0.7)
    ('1/2', '1/3', '0.7')
    """
    simple = Fraction(probability).limit_denominator(9)
    short = f"{probability:g}"
    return str(simple) if abs(simple - probability) < 1e-12 and len(short) > 2 else short


def _draw_row(drawing: Drawing, arrows: Sequence[Arrow], states: int) -> Figure:
    """Draw states side by side between the exits; moves between two neighbours are one arrow."""
    figure = new_figure(WIDTH, 1.75)
    axes = _empty_axes(figure, (-1.7, states + 0.7), (-1.4, 1.3))

    def write(x: float, y: float, text: str, align: str = "center") -> None:
        axes.text(x, y, text, ha=align, va="top", fontsize=SMALL)

    for exit in drawing.exits:
        _draw_end(axes, exit.x, 0.0)
        lines = [
            f"{phase}: {format_number(pay)}" if len(exit.pays) > 1 else f"pays {format_number(pay)}"
            for phase, pay in zip(drawing.phases, exit.pays, strict=True)
        ]
        is_left = exit.x < 0
        x = exit.x + (-0.5 if is_left else 0.5)
        write(x, -0.75, "\n".join(lines), "left" if is_left else "right")
    for state in range(states):
        _draw_state(axes, state, 0.0, str(state + 1))
    left, right = min(exit.x for exit in drawing.exits), max(exit.x for exit in drawing.exits)
    moves = {
        (a.state, (left if a.state < states / 2 else right) if a.target == END else float(a.target))
        for a in arrows
    }
    for state, target in sorted(moves):
        _draw_edge(axes, (state, 0.0), (target, 0.0), "", head=True, bend=-0.45)
    middle, center = [a for a in arrows if a.state == states // 2], states / 2 - 0.5
    for action, name in enumerate(drawing.actions):
        parts = [
            f"{fraction(a.probability)} to {a.target + 1}"
            for a in sorted(middle, key=lambda a: -a.probability)
            if a.action == action
        ]
        write(center, 1.25 - 0.3 * action, f"{name} in {states // 2 + 1}: {', '.join(parts)}")
    rewards = dict.fromkeys(format_number(r) for a in middle for r in a.rewards if a.target != END)
    write(center, -0.75, f"every other step: {' or '.join(rewards)}")
    return figure


def _empty_axes(figure: Figure, across: tuple[float, float], up: tuple[float, float]) -> Axes:
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(*across)
    axes.set_ylim(*up)
    return axes


def _draw_state(axes: Axes, x: float, y: float, name: str) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle((x, y), RADIUS, facecolor="white", edgecolor=INK, lw=LINE, zorder=4))
    axes.text(x, y, name, ha="center", va="center", zorder=5)


def _draw_end(axes: Axes, x: float, y: float) -> None:
    from matplotlib.patches import Rectangle

    corner, side = (x - 0.7 * RADIUS, y - 0.7 * RADIUS), 1.4 * RADIUS
    axes.add_patch(
        Rectangle(corner, side, side, facecolor="#bbbbbb", edgecolor=INK, lw=LINE, zorder=4)
    )


def _draw_edge(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str,
    *,
    head: bool,
    bend: float = 0.0,
) -> None:
    """Draw a line or an arrow behind states, dots and ends."""
    style: dict[str, Any] = {"arrowstyle": "-|>" if head else "-", "color": INK, "lw": LINE}
    style |= {"shrinkA": 0, "shrinkB": 11 if head else 0, "connectionstyle": f"arc3,rad={bend}"}
    axes.annotate("", end, start, arrowprops=style, zorder=2)
    if text:
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.text(*middle, text, ha="center", va="center", bbox=box, zorder=3)
