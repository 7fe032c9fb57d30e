"""Numbers, names and addresses as people read them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

EDGE = " (edge)"
EDGE_NOTE = "(edge): the last value of its grid; a better one may lie beyond, so widen the grid."


def shown_number(value: Any) -> str:
    """A number for people: four digits, a true minus sign, a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return str(value)
    amount = float(value)
    if math.isnan(amount):
        return "–"
    text = f"{amount:,.0f}" if 1000 <= abs(amount) < 1e7 else f"{amount:.4g}"
    # The minus of an exponent stays: 1e-05.
    return text.replace("-", "−", 1) if amount < 0 else text


def setting_in_words(setting: Mapping[str, Any], at_edge: Collection[str]) -> str:
    """The values of a setting, and which are the last of their grid; empty if there is none.

    >>> setting_in_words({"agent.value_step": 0.5, "planning_steps": 5}, ["agent.value_step"])
    'value_step 0.5 (edge), planning_steps 5'
    """
    return ", ".join(
        f"{name.removeprefix('agent.')} {shown_number(value)}{EDGE * (name in at_edge)}"
        for name, value in setting.items()
    )


def share(value: float) -> str:
    """A probability in per cent, which no line breaks before its sign."""
    return f"{100.0 * value:.0f}\N{NO-BREAK SPACE}%"


def two_digits(value: float | None) -> str:
    """Two digits after the point, with a true minus sign; a dash where there is no number."""
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def shown_interval(low: Any, high: Any) -> str:
    """The two ends of an interval; empty where there is none. An end of 0 is an end.

    >>> shown_interval(0.0, 1)
    '0 to 1'
    """
    return "" if low is None or high is None else f"{shown_number(low)} to {shown_number(high)}"


def figure_name(figure: str) -> str:
    """What a figure is called: "Figure 5a", or its own name if it does not start with a digit.

    >>> figure_name("q_learning")
    'Q-learning'
    """
    name = figure[:1].upper() + figure[1:].replace("_", "-")
    return f"Figure {figure}" if figure[:1].isdigit() else name


def setting_name(setting: str) -> str:
    """A column of the table of trials as people would call it: agent.value_step, value step.

    >>> setting_name("agent.model.step")
    'model step'
    """
    return setting.removeprefix("agent.").replace("_", " ").replace(".", " ")


def slug(text: object) -> str:
    """Letters and digits of a text, for an address within the page.

    >>> slug("5a (left)")
    '5a-left'
    """
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "x"


def names_of(agents: Sequence[Any]) -> list[str]:
    """Name every agent, no two alike: by class, number in the paper and differing settings.

    >>> names_of([QLearning(), Lookahead(epsilon=0.1), Lookahead(epsilon=0.2)])
    ['QLearning', 'Lookahead (Algorithm 1, epsilon=0.1)', 'Lookahead (Algorithm 1, epsilon=0.2)']
    """
    names: list[str] = []
    for agent in agents:
        alike = [other for other in agents if type(other) is type(agent)]
        fields = dataclasses.fields(agent) if dataclasses.is_dataclass(agent) else ()
        told = [vars(type(agent)).get("algorithm", "")]
        for field in fields:
            value = getattr(agent, field.name)
            if any(getattr(other, field.name) != value for other in alike):
                told.append(f"{field.name}={value!r}")
        listed = ", ".join(filter(None, told))
        name = type(agent).__name__ + (f" ({listed})" if listed else "")
        count = sum(other.split(" no. ")[0] == name for other in names)
        names.append(f"{name} no. {count + 1}" if count else name)
    return names
