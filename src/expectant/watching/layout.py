"""Where the states of a domain lie when it is drawn: in a row, in a grid or in a plane.

A domain says it itself (``Domain.drawing``); of one that does not, the numbers of its states and
actions are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from expectant.parts import Domain, Drawing
from expectant.show.animation.frames import GRID, PLANE, ROW, Layout

WATCHABLE = "a domain with numbered states, or with two components that have finite bounds"


def layout_of(domain: Domain, lattice: int) -> Layout:
    """How a domain is drawn; a plane is looked at in ``lattice`` × ``lattice`` points."""
    drawing = domain.drawing or by_numbers(domain)
    if domain.states is not None:
        states = np.arange(domain.states, dtype=np.int64).reshape(-1, 1)
        return _row(states, drawing) if drawing.cells is None else _grid(states, drawing)
    bounds = domain.bounds or ()
    if len(bounds) == 2 and all(math.isfinite(end) for bound in bounds for end in bound):
        return _plane(bounds, drawing, lattice)
    raise ValueError(f"watch: domain must be {WATCHABLE}, got {domain!r}")


def by_numbers(domain: Domain) -> Drawing:
    """What can be said of any domain."""
    phases = domain.phases
    words = tuple(f"phase {phase + 1} of {phases}" for phase in range(phases))
    return Drawing(
        names=("state", "") if domain.states is not None else ("component 0", "component 1"),
        actions=tuple(f"action {action}" for action in range(domain.actions)),
        phases=words if phases > 1 else ("",),
    )


def _directions(drawing: Drawing) -> np.ndarray | None:
    return None if drawing.directions is None else np.array(drawing.directions, float)


def _row(states: np.ndarray, drawing: Drawing) -> Layout:
    """States in the order of their numbers."""
    across, along = states[:, 0].astype(float), np.zeros(1)
    return Layout(
        ROW, across, along, drawing.names, states, drawing.actions,
        _directions(drawing), drawing.exits, drawing.phases,
    )  # fmt: skip


def _grid(states: np.ndarray, drawing: Drawing) -> Layout:
    """States in their cells; exits may lie in cells of their own."""
    cells = np.array(drawing.cells, np.int64).reshape(-1, 2)
    inside = [(place.x, place.y) for place in drawing.exits if place.x >= 0 and place.y >= 0]
    columns, rows = cells.max(axis=0) + 1
    if len(cells) < columns * rows:  # some of the missing ones may be exits at the edge
        columns, rows = (int(n) for n in np.vstack([cells, *inside]).max(axis=0) + 1)
    places = cells[:, 1] * columns + cells[:, 0]
    whole = np.array_equal(places, np.arange(columns * rows))
    across, along = np.arange(columns, dtype=float), np.arange(rows, dtype=float)
    return Layout(
        GRID, across, along, drawing.names, states, drawing.actions,
        _directions(drawing), drawing.exits, drawing.phases, None if whole else places,
    )  # fmt: skip


def _plane(bounds: Sequence[tuple[float, float]], drawing: Drawing, lattice: int) -> Layout:
    """The middles of ``lattice`` × ``lattice`` equal cells of the bounds."""
    across, along = (_middles(low, high, lattice) for low, high in bounds)
    pairs = np.stack(np.meshgrid(across, along), axis=-1).reshape(-1, 2)
    return Layout(
        PLANE, across, along, drawing.names, pairs, drawing.actions,
        _directions(drawing), drawing.exits, drawing.phases,
    )  # fmt: skip


def _middles(low: float, high: float, cells: int) -> np.ndarray:
    return low + (high - low) * (np.arange(cells) + 0.5) / cells
