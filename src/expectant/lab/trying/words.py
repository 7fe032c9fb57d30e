"""Features and numbers as people read them."""

from __future__ import annotations

from dataclasses import fields

from expectant.features.joined import Joined
from expectant.parts import Features


def features_in_brief(features: Features) -> str:
    """Features without bounds and without what has its default; joined ones side by side."""
    if isinstance(features, Joined):
        return f"{features_in_brief(features.first)} + {features_in_brief(features.second)}"
    given = [
        f"{each.name}={value!r}"
        for each in fields(features)  # type: ignore[arg-type]
        if each.name != "bounds" and (value := getattr(features, each.name)) != each.default
    ]
    return f"{type(features).__name__}({', '.join(given)})"


def bounds_in_brief(features: Features) -> str:
    """Between which numbers each component of an observation is taken to lie."""
    while isinstance(features, Joined):
        features = features.first
    pairs = getattr(features, "bounds", None) or ()
    return ", ".join(f"{briefly(low)} to {briefly(high)}" for low, high in pairs)


def briefly(number: float, sign: str = "") -> str:
    """A number with as many digits as people read, and a real minus."""
    return f"{number:{sign}.4g}".replace("-", "−")
