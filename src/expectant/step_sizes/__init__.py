"""Step sizes: fixed, decaying, or one per weight that adapts (IDBD, Autostep).

An update is w_i += α_i δ x_i. The verb ``adapt`` is called with the error before the weights move,
``rate`` returns α_i. Every step size costs O(k) per update.
"""

from expectant.step_sizes.adaptive import IDBD, Autostep, effective_step
from expectant.step_sizes.step_size import (
    Decaying,
    Fixed,
    StepSize,
    as_shared_step,
    as_step_size,
    build_step,
    step_size,
)

__all__ = [
    "IDBD", "Autostep", "Decaying", "Fixed", "StepSize", "as_shared_step", "as_step_size",
    "build_step", "effective_step", "step_size",
]  # fmt: skip
