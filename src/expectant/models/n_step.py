"""Linear models of the outcome n steps later, under the agent's own behaviour.

The n-step outcome of s and a is R₁ + γ R₂ + … + γⁿ⁻¹ Rₙ and γⁿ⁻¹ s₍ₙ₎: with the discounts inside, a
backup that multiplies by γ once plans over n steps. The model depends on the behaviour after the
first step, so a local change reaches states n steps before it only through new experience (van
Seijen et al. 2020).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.rules import Rule, whole
from expectant.core.vectors import Table, Transition, Vector, empty_state, empty_table
from expectant.core.verbs import delegate, function
from expectant.models.expectation import LinearExpectation

FIRST, LENGTH = 0, 1


class NStepPart(NamedTuple):
    """``model`` is fitted to n steps as if they were one.

    The last steps wait for their outcome in a queue: a ring of n ``states``, ``actions`` (n,) and
    ``returns`` (n,) so far; ``queue`` (2,) is the position of its first and its length. ``state``
    is scratch.
    """

    model: object
    states: Table
    actions: np.ndarray
    returns: np.ndarray
    queue: np.ndarray
    state: Vector
    discount: float


delegate(
    NStepPart, "model", verbs.backed_up_value, verbs.backed_up_action_value, verbs.add_expected
)


@function
def enqueue(model, transition):
    """Append a step to the queue and add its reward to all returns there."""
    steps, queue = model.returns.shape[0], model.queue
    position = (queue[FIRST] + queue[LENGTH]) % steps
    verbs.save(model.states, position, transition.state)
    model.actions[position] = transition.action
    model.returns[position] = 0.0
    queue[LENGTH] += 1
    share = 1.0
    for back in range(queue[LENGTH]):
        model.returns[(position - back) % steps] += share * transition.reward
        share *= model.discount


@function
def fit_oldest(model, transition, alive):
    """Fit the first step of the queue to the present outcome; returns the errors."""
    queue, position = model.queue, model.queue[FIRST]
    verbs.load(model.states, position, model.state)
    action, total = model.actions[position], model.returns[position]
    queue[FIRST] = (position + 1) % model.returns.shape[0]
    queue[LENGTH] -= 1
    return verbs.fit(
        model.model, Transition(model.state, action, total, transition.next_state, alive, -1)
    )


@verbs.fit.register(NStepPart)
def _(model, transition):
    """Fit the step n steps ago, or all in the queue at the end of an episode."""
    steps, errors = model.returns.shape[0], 0.0
    enqueue(model, transition)
    if transition.alive == 0.0:
        while model.queue[LENGTH] > 0:
            errors += fit_oldest(model, transition, 0.0)
    elif model.queue[LENGTH] == steps:
        errors += fit_oldest(model, transition, model.discount ** (steps - 1))
    return errors


@verbs.begin.register(NStepPart)
@verbs.on_truncation.register(NStepPart)
def _(model, state, rng):
    model.queue[LENGTH] = 0


def _linear(value: object) -> Model:
    if not (isinstance(value, Model) and value.linear):
        raise ValueError
    return value


class NStepExpectation(Model):
    """A linear model of the outcome ``steps`` steps later, under the agent's own behaviour.

    ``model`` learns it: ``LinearExpectation`` or ``SparseExpectation``. An episode that terminates
    earlier has its outcome then; the last steps of a truncated one are not learned.
    """

    predicts_means: ClassVar[bool] = True
    several_steps: ClassVar[bool] = True

    steps: int = parameter(whole(1), default=2)
    model: Model = parameter(
        Rule("ex.models.LinearExpectation or ex.models.SparseExpectation", _linear),
        default=LinearExpectation(),
    )

    def build(self, context: BuildContext) -> NStepPart:
        return NStepPart(
            self.model.build(context),
            empty_table(context.shape, self.steps),
            np.zeros(self.steps, np.int64),
            np.zeros(self.steps),
            np.zeros(2, np.int64),
            empty_state(context.shape),
            context.discount,
        )
