"""Steps through options and their models alone, to compare compiled code with plain at little cost."""

from __future__ import annotations

from expectant.dispatch import borrowed
from expectant.features.vector import Transition
from expectant.verbs import backed_up_value, fit_options, function, learn_options


@function
def teach(choices, first, second, behaviour, weights, steps):
    """Go to and fro between two states; returns what the last option promises in the first."""
    choices, first, second = borrowed(choices), borrowed(first), borrowed(second)
    behaviour, weights = borrowed(behaviour), borrowed(weights)
    for n in range(steps):
        alive = 0.0 if n % 5 == 4 else 1.0
        there = Transition(first, 1, -1.0, second, alive, 0)
        learn_options(choices.options, there, behaviour, weights, 0.9)
        fit_options(choices.extended, choices.options, there, behaviour, 0.9)
        back = Transition(second, 0, 0.5, first, 1.0, 0)
        learn_options(choices.options, back, behaviour, weights, 0.9)
        fit_options(choices.extended, choices.options, back, behaviour, 0.9)
    return backed_up_value(choices, first, choices.actions, weights, 0.9)
