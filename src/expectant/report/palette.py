"""How each agent looks: one colour, dash pattern, marker and name, on a page and in its figures.

The colours are those of Okabe and Ito (2008), told apart by people with any colour vision; dashes
and markers differ as well, so that a figure printed in grey can still be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

OPTIMUM_COLOUR = "#555555"
SWITCH_COLOUR = "#9a9a9a"
BAND_OPACITY = 0.18

# Matplotlib's letters for shapes, to the names that plotly has for them.
SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "X": "x",
    "P": "cross",
    "<": "triangle-left",
    ">": "triangle-right",
}


class Appearance(NamedTuple):
    """``colour`` is hexadecimal, ``dash`` is on, off, … in line widths (empty: solid), ``marker``
    is matplotlib's letter for a shape."""

    colour: str
    dash: tuple[float, ...]
    marker: str


AGENTS = {
    "q_learning": Appearance("#000000", (), "o"),
    "q_planning_expectation": Appearance("#D55E00", (4.0, 1.5), "s"),
    "q_planning_true": Appearance("#009E73", (6.0, 1.5, 1.0, 1.5), "^"),
    "lookahead": Appearance("#0072B2", (9.0, 1.5), "D"),
    "cached_values": Appearance("#E69F00", (1.5, 1.2), "v"),
    "cached_policy": Appearance("#CC79A7", (6.0, 1.2, 1.0, 1.2, 1.0, 1.2), "X"),
    # More planning is darker, with longer dashes: the family reads as a scale.
    "q_planning_true_1": Appearance("#6CC9AE", (1.0, 1.0), "<"),
    "q_planning_true_5": Appearance("#1B9A78", (3.0, 1.2), ">"),
    "q_planning_true_20": Appearance("#00513B", (8.0, 1.2, 2.0, 1.2), "^"),
}
# Those that plan everywhere are blue or green, those that plan near the agent red or brown.
BACKUPS = {
    "none": Appearance("#000000", (), "o"),
    "all": Appearance("#0072B2", (), "o"),
    "seen": Appearance("#56B4E9", (6.0, 1.5), "s"),
    "prioritized": Appearance("#009E73", (8.0, 1.5, 1.5, 1.5), "^"),
    "sampler": Appearance("#332288", (2.0, 1.2), "D"),
    "unlimited": Appearance("#44AA99", (4.0, 1.2, 1.0, 1.2), "v"),
    "replay": Appearance("#D55E00", (), "X"),
    "recency": Appearance("#E69F00", (6.0, 1.5), "P"),
    "trajectory": Appearance("#CC79A7", (3.0, 1.2), "<"),
    "current": Appearance("#661100", (1.2, 1.2), ">"),
}
COLOURS = ("#332288", "#44AA99", "#882255", "#999933", "#56B4E9", "#AA4499", "#661100")
DASHES: tuple[tuple[float, ...], ...] = (
    (2.5, 1.0),
    (5.0, 2.5),
    (3.0, 1.0, 1.0, 1.0),
    (10.0, 2.0, 4.0, 2.0),
    (7.0, 3.0),
)
MARKERS = tuple(SYMBOLS)
Part = TypeVar("Part")


@dataclass(frozen=True)
class Style:
    """The name and the look of one agent."""

    name: str
    colour: str
    dash: tuple[float, ...]
    marker: str

    @property
    def symbol(self) -> str:
        """Plotly's name for the marker."""
        return SYMBOLS[self.marker]

    def dashes(self, width: float) -> str:
        """The dash pattern of a line so many pixels wide, as plotly and SVG read it."""
        return ",".join(f"{part * width:g}px" for part in self.dash) or "solid"


class Palette(dict[str, Style]):
    """A style for every key in ``names``, which maps keys to the names that people read.

    Agents that are known have their own look on every page, and so have backup distributions where
    that is not taken; the others are given looks that are not taken, in their order.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        looks = {key: AGENTS[key] for key in names if key in AGENTS}
        taken = {look.colour for look in looks.values()}
        looks |= {
            key: look for key, look in BACKUPS.items() if key in names and look.colour not in taken
        }
        for number, key in enumerate([key for key in names if key not in looks]):
            looks[key] = _free_look(list(looks.values()), number)
        super().__init__({key: Style(name, *looks[key]) for key, name in names.items()})


def _free_look(taken: Sequence[Appearance], number: int) -> Appearance:
    """A colour, a dash and a marker that nobody has; where all are taken, the next in turn."""
    return Appearance(
        _free(COLOURS, [look.colour for look in taken], number),
        _free(DASHES, [look.dash for look in taken], number),
        _free(MARKERS, [look.marker for look in taken], number),
    )


def _free(parts: Sequence[Part], taken: Sequence[Part], number: int) -> Part:
    return next((part for part in parts if part not in taken), parts[number % len(parts)])
