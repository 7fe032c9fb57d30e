"""Detection of changes of the rewards: Page's test of a filter against a faster one.

A slow filter, the model, predicts rewards with errors e, and a fast one, of normalised steps, with
errors ẽ. The evidence for a change at the active features is the log-likelihood ratio of Gaussian
errors,

    Λ ← max(0, Λ + min((e² − ẽ²) / 2σ², 4)),

where σ² is the running mean of e² (Page 1954). Without a change the fast filter is the noisier one,
and Λ falls. A change is reported when Λ exceeds 5 at all active features: after two rewards at
least, and after more where rewards are random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import BuildContext
from expectant.core.memory import zeros
from expectant.core.vectors import add, dot
from expectant.core.verbs import function, index, size, value

SURE, AT_ONCE = 5.0, 4.0  # evidence of a change, and the most that one reward can add
FAST_STEP, SLOWEST = 0.5, 0.02  # steps of the fast filter and, at least, of σ²


class ChangeTest(NamedTuple):
    """``fast`` (A, D) is the fast filter, ``spread`` σ², ``evidence`` Λ, ``visits`` counts fits.

    Arrays without actions (A = 0) detect nothing.
    """

    fast: np.ndarray
    spread: np.ndarray
    evidence: np.ndarray
    visits: np.ndarray


def build_change_test(context: BuildContext, enabled: bool) -> ChangeTest:
    """Build a test that has seen nothing; without ``enabled`` it detects nothing."""
    shape = (context.actions if enabled else 0, context.width)
    return ChangeTest(zeros(shape), zeros(shape), zeros(shape), zeros(shape))


@function
def detect_change(test, transition, error, length):
    """Note the error e of a model in a state with sᵀs = ``length``; return True for a change."""
    state, action = transition.state, transition.action
    if test.fast.shape[0] == 0 or length == 0.0:
        return False
    fast_error = transition.reward - dot(state, test.fast[action])
    add(state, test.fast[action], FAST_STEP * fast_error / length)
    spread = 0.0
    for n in range(size(state)):
        spread += value(state, n) ** 2 * test.spread[action, index(state, n)] / length
    ratio = (error * error - fast_error * fast_error) / (2.0 * max(spread, 1e-12))
    least = np.inf
    for n in range(size(state)):
        i = index(state, n)
        if value(state, n) != 0.0:
            test.visits[action, i] += 1.0
            rate = max(1.0 / test.visits[action, i], SLOWEST)
            test.spread[action, i] += rate * (error * error - test.spread[action, i])
            test.evidence[action, i] = max(0.0, test.evidence[action, i] + min(ratio, AT_ONCE))
            least = min(least, test.evidence[action, i])
    if least <= SURE:
        return False
    for n in range(size(state)):
        test.evidence[action, index(state, n)] *= value(state, n) == 0.0
    return True
