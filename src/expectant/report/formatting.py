"""Numbers, names and anchors as pages, figures and terminals show them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

EDGE = " (edge)"
EDGE_NOTE = "(edge): the last value of its grid; a better one may lie beyond, so widen the grid."


def format_number(value: Any) -> str:
    """Format a number with four digits and a true minus sign; a dash for None and NaN."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return str(value)
    number = float(value)
    if math.isnan(number):
        return "–"
    text = f"{number:,.0f}" if 1000 <= abs(number) < 1e7 else f"{number:.4g}"
    # The minus of an exponent stays: 1e-05.
    return text.replace("-", "−", 1) if number < 0 else text


def format_estimate(value: Any, low: Any, high: Any) -> tuple[str, str]:
    """Format a number and its interval, to two digits of the interval's width.

    >>> format_estimate(0.007778, -0.02545, 0.04101)
    ('0.008', '−0.025 to 0.041')
    """
    if value is None or low is None or high is None or not 0.0 < high - low < 1e7:
        return format_number(value), ""
    decimals = max(0, 1 - math.floor(math.log10(high - low)))
    numbers = [round(number, decimals) + 0.0 for number in (value, low, high)]
    texts = [f"{number:,.{decimals}f}".replace("-", "−") for number in numbers]
    return texts[0], f"{texts[1]} to {texts[2]}"


def format_interval(low: Any, high: Any) -> str:
    """Format the two ends of an interval; empty without them.

    >>> format_interval(0.0, 1)
    '0 to 1'
    """
    return "" if low is None or high is None else f"{format_number(low)} to {format_number(high)}"


def format_percent(probability: float) -> str:
    """Format a probability in per cent, unbreakable."""
    return f"{100.0 * probability:.0f}\N{NO-BREAK SPACE}%"


def format_two_digits(value: float | None) -> str:
    """Format a number with two digits after the point; a dash for None."""
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def format_setting(setting: Mapping[str, Any], at_edge: Collection[str]) -> str:
    """List the values of parameters, marking those at the edge of their grid.

    >>> format_setting({"agent.value_step": 0.5, "planning_steps": 5}, ["agent.value_step"])
    'value_step 0.5 (edge), planning_steps 5'
    """
    return ", ".join(
        f"{name.removeprefix('agent.')} {format_number(value)}{EDGE * (name in at_edge)}"
        for name, value in setting.items()
    )


def figure_name(figure: str) -> str:
    """Return "Figure 5a", or the name itself if it does not start with a digit.

    >>> figure_name("q_learning")
    'Q-learning'
    """
    name = figure[:1].upper() + figure[1:].replace("-", " ").replace("_", "-")
    return f"Figure {figure}" if figure[:1].isdigit() else name


def parameter_name(column: str) -> str:
    """Return the readable name of a column of the table of trials.

    >>> parameter_name("agent.model.step")
    'model step'
    """
    return column.removeprefix("agent.").replace("_", " ").replace(".", " ")


def slug(text: object) -> str:
    """Return letters and digits of a text, for an anchor within the page.

    >>> slug("5a (left)")
    '5a-left'
    """
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "x"


def agent_names(agents: Sequence[Any]) -> list[str]:
    """Name every agent, no two alike: by class, number in the paper and differing parameters.

    >>> agent_names([QLearning(), Lookahead(epsilon=0.1), Lookahead(epsilon=0.2)])
    ['QLearning', 'Lookahead (Algorithm 1, epsilon=0.1)', 'Lookahead (Algorithm 1, epsilon=0.2)']
    """
    names: list[str] = []
    for agent in agents:
        alike = [other for other in agents if type(other) is type(agent)]
        fields = dataclasses.fields(agent) if dataclasses.is_dataclass(agent) else ()
        values = {field.name: getattr(agent, field.name) for field in fields}
        differing = [
            f"{name}={value!r}"
            for name, value in values.items()
            if any(getattr(other, name) != value for other in alike)
        ]
        listed = ", ".join(filter(None, [vars(type(agent)).get("algorithm", ""), *differing]))
        name = type(agent).__name__ + (f" ({listed})" if listed else "")
        count = sum(other.split(" no. ")[0] == name for other in names)
        names.append(f"{name} no. {count + 1}" if count else name)
    return names
