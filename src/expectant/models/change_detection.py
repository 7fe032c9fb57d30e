"""Detection of changes of the environment: Page's test of a filter against a faster one.

A slow filter, the model, has errors e; a fast one, of normalised steps, has errors ẽ. Both predict
the reward and one projection of the next state, with a random sign per feature. The evidence for a
change at the active features is the log-likelihood ratio of Gaussian errors,

    Λ ← max(0, Λ + min(Σ (e² − ẽ²) / 2σ², 4)),

where σ² is the running mean of e² (Page 1954). Without a change the fast filter is the noisier one,
and Λ falls. A change is reported when Λ exceeds 5 at all active features: after two outcomes at
least, and after more where outcomes are random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.core.interfaces import BuildContext
from expectant.core.memory import zeros
from expectant.core.reductions import dot_row
from expectant.core.rng import generator
from expectant.core.vectors import add, dot
from expectant.core.verbs import function, index, size, value

SURE, AT_ONCE = 5.0, 4.0  # evidence of a change, and the most that one transition can add
FAST_STEP, SLOWEST = 0.5, 0.02  # steps of the fast filter and, at least, of σ²


class ChangeTest(NamedTuple):
    """``fast`` and ``spread`` (2, A, D) are the fast filters and σ² of reward and projection.

    ``evidence`` and ``visits`` (A, D) are Λ and the number of fits per feature, ``signs`` (D,) the
    projection. Without actions (A = 0) nothing is detected.
    """

    fast: np.ndarray
    spread: np.ndarray
    evidence: np.ndarray
    visits: np.ndarray
    signs: np.ndarray


def build_change_test(context: BuildContext, enabled: bool) -> ChangeTest:
    """Build a test that has seen nothing; without ``enabled`` it detects nothing."""
    shape = (context.actions if enabled else 0, context.width)
    signs = np.where(generator(0, 0).random(context.width) < 0.5, -1.0, 1.0)
    return ChangeTest(zeros((2, *shape)), zeros((2, *shape)), zeros(shape), zeros(shape), signs)


@function
def compare_filters(test, output, transition, target, error, length):
    """Update the fast filter and σ² of one output; returns (e² − ẽ²) / 2σ²."""
    state, action = transition.state, transition.action
    fast_error = target - dot(state, test.fast[output, action])
    spread = 0.0
    for n in range(size(state)):
        i, x = index(state, n), value(state, n)
        before = test.spread[output, action, i]
        spread += x * x * before / length
        rate = max(1.0 / (test.visits[action, i] + 1.0), SLOWEST) if x != 0.0 else 0.0
        test.spread[output, action, i] = before + rate * (error * error - before)
    add(state, test.fast[output, action], FAST_STEP * fast_error / length)
    return (error * error - fast_error * fast_error) / (2.0 * max(spread, 1e-12))


@function
def detect_change(test, transition, reward_error, errors, length):
    """Note the errors e of a model (of next features in ``errors`` (1, D)); True: a change."""
    state, action, after = transition.state, transition.action, transition.next_state
    if test.visits.shape[0] == 0 or length == 0.0:
        return False
    projected = transition.alive * dot(after, test.signs)
    projected_error = dot_row(errors, 0, test.signs)
    ratio = compare_filters(test, 0, transition, transition.reward, reward_error, length)
    ratio += compare_filters(test, 1, transition, projected, projected_error, length)
    least = np.inf
    for n in range(size(state)):
        i = index(state, n)
        if value(state, n) != 0.0:
            test.visits[action, i] += 1.0
            test.evidence[action, i] = max(0.0, test.evidence[action, i] + min(ratio, AT_ONCE))
            least = min(least, test.evidence[action, i])
    if least <= SURE:
        return False
    for n in range(size(state)):
        test.evidence[action, index(state, n)] *= value(state, n) == 0.0
    return True
