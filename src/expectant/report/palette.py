"""The style of each agent, on the page and in figures: colour, dash pattern, marker and name.

The colours are those of Okabe and Ito (2008), which people with any colour vision distinguish;
dashes and markers differ as well, for prints in grey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

OPTIMUM_COLOUR = "#555555"
SWITCH_COLOUR = "#9a9a9a"
BAND_OPACITY = 0.18


class Style(NamedTuple):
    """A colour, dashes as on, off, … in line widths (empty: solid), a marker, and a name."""

    colour: str
    dash: tuple[float, ...]
    marker: str
    name: str = ""


AGENTS = {
    "q_learning": Style("#000000", (), "o"),
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
# Those that plan everywhere are blue or green, those that plan near the agent red or brown.
BACKUPS = {
    "none": Style("#000000", (), "o"),
    "all": Style("#0072B2", (), "o"),
    "seen": Style("#56B4E9", (6.0, 1.5), "s"),
    "prioritized": Style("#009E73", (8.0, 1.5, 1.5, 1.5), "^"),
    "sampler": Style("#332288", (2.0, 1.2), "D"),
    "unlimited": Style("#44AA99", (4.0, 1.2, 1.0, 1.2), "v"),
    "replay": Style("#D55E00", (), "X"),
    "recency": Style("#E69F00", (6.0, 1.5), "P"),
    "trajectory": Style("#CC79A7", (3.0, 1.2), "<"),
    "current": Style("#661100", (1.2, 1.2), ">"),
}
COLOURS = ("#332288", "#44AA99", "#882255", "#999933", "#56B4E9", "#AA4499", "#661100")
DASHES: tuple[tuple[float, ...], ...] = (
    (2.5, 1.0), (5.0, 2.5), (3.0, 1.0, 1.0, 1.0), (10.0, 2.0, 4.0, 2.0), (7.0, 3.0),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", ">")
Part = TypeVar("Part")


class Palette(dict[str, Style]):
    """A style for every key in ``names``, which maps keys to labels.

    The paper's agents have the same style on every page, and so have backup distributions unless
    an agent has their colour; the others get unused colours, dashes and markers, by alphabet.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        fixed = {key: AGENTS[key] for key in names if key in AGENTS}
        used_colours = {style.colour for style in fixed.values()}
        for key, style in BACKUPS.items():
            if key in names and style.colour not in used_colours:
                fixed[key] = style
        for number, key in enumerate(sorted(key for key in names if key not in fixed)):
            used = list(fixed.values())
            fixed[key] = Style(
                _unused(COLOURS, [style.colour for style in used], number),
                _unused(DASHES, [style.dash for style in used], number),
                _unused(MARKERS, [style.marker for style in used], number),
            )
        super().__init__({key: fixed[key]._replace(name=name) for key, name in names.items()})


def _unused(choices: Sequence[Part], used: Sequence[Part], number: int) -> Part:
    """Return the first unused choice, or the next in turn."""
    return next((part for part in choices if part not in used), choices[number % len(choices)])
