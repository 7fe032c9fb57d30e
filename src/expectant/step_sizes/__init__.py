"""Step sizes: a number, a number that never overshoots, or one per weight that adapts by itself.

An update is w_i += α_i δ x_i. What gives the α_i answers two verbs: ``adapt`` is told of the error
before the weights move, ``rate`` says what to use. A number does the first by doing nothing and
the second by being itself. Descriptions here build parts with arrays; everything costs O(k).
"""

from expectant.step_sizes.adaptive import IDBD, Autostep, effective_step
from expectant.step_sizes.step_size import (
    Decaying,
    Fixed,
    StepSize,
    adapts,
    as_step_size,
    build_step,
    step_size,
    without_adapting,
)

__all__ = [
    "IDBD",
    "Autostep",
    "Decaying",
    "Fixed",
    "StepSize",
    "adapts",
    "as_step_size",
    "build_step",
    "effective_step",
    "step_size",
    "without_adapting",
]
