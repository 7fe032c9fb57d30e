"""How each agent looks: one colour, dash pattern and marker, the same in every figure.

The colours are those of Okabe and Ito (2008), told apart by people with any colour vision; dashes
and markers differ as well, so that a figure printed in grey can still be read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

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
OPTIMUM_COLOUR = "#555555"
OPTIMUM_DASH = (5.0, 3.0)
SWITCH_COLOUR = "#9a9a9a"
BAND_OPACITY = 0.18
MANY_BINS = 300  # from here on lines are thin, or noise would smear them into a band


@dataclass(frozen=True)
class Style:
    """How a curve looks.

    ``colour`` is hexadecimal, ``dash`` is on, off, … in line widths (empty: solid), ``marker`` is
    matplotlib's letter for a shape.
    """

    colour: str
    dash: tuple[float, ...]
    marker: str

    @property
    def symbol(self) -> str:
        """Plotly's name for the marker."""
        return SYMBOLS[self.marker]


SOLID: tuple[float, ...] = ()
_STYLES = {
    "q_learning": Style("#000000", SOLID, "o"),
    "q_planning_expectation": Style("#D55E00", (4.0, 1.5), "s"),
    "q_planning_true": Style("#009E73", (6.0, 1.5, 1.0, 1.5), "^"),
    "lookahead": Style("#0072B2", (9.0, 1.5), "D"),
    "cached_values": Style("#E69F00", (1.5, 1.2), "v"),
    "cached_policy": Style("#CC79A7", (6.0, 1.2, 1.0, 1.2, 1.0, 1.2), "X"),
    # More planning is darker, with longer dashes: the family reads as a scale.
    "q_planning_true_1": Style("#6CC9AE", (1.0, 1.0), "<"),
    "q_planning_true_5": Style("#1B9A78", (3.0, 1.2), ">"),
    "q_planning_true_20": Style("#00513B", (8.0, 1.2, 2.0, 1.2), "^"),
}
_OTHER_COLOURS = ("#332288", "#882255", "#56B4E9", "#999933", "#661100", "#AA4499", "#44AA99")
_OTHER_DASHES: tuple[tuple[float, ...], ...] = (
    (2.5, 1.0),
    (5.0, 2.5),
    (3.0, 1.0, 1.0, 1.0),
    (10.0, 2.0, 4.0, 2.0),
    (7.0, 3.0),
)


_told_apart: dict[str, Style] = {}


def tell_apart(agents: Iterable[str]) -> None:
    """Give the unknown agents of one figure or page different colours, in their order."""
    _told_apart.clear()
    unknown = [agent for agent in dict.fromkeys(agents) if agent not in _STYLES]
    markers = tuple(SYMBOLS)
    for number, agent in enumerate(unknown):
        _told_apart[agent] = Style(
            _OTHER_COLOURS[number % len(_OTHER_COLOURS)],
            _OTHER_DASHES[number % len(_OTHER_DASHES)],
            markers[number % len(markers)],
        )


def style_of(agent: str) -> Style:
    """The style of an agent's key; an unknown key gets one from its letters, always the same.

    Two unknown ones may then look alike, unless ``tell_apart`` has been told of them.
    """
    known = _STYLES.get(agent) or _told_apart.get(agent)
    if known is not None:
        return known
    # Python's own hash changes from process to process.
    number = zlib.crc32(agent.encode())
    number, colour = divmod(number, len(_OTHER_COLOURS))
    number, dash = divmod(number, len(_OTHER_DASHES))
    markers = tuple(SYMBOLS)
    return Style(_OTHER_COLOURS[colour], _OTHER_DASHES[dash], markers[number % len(markers)])
