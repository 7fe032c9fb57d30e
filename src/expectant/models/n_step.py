"""Linear models of what comes several steps later, if the agent goes on as it does.

The outcome of s and a after n steps is R₁ + γ R₂ + … + γⁿ⁻¹ Rₙ and γⁿ⁻¹ s₍ₙ₎: with the discounts
inside, a backup that counts γ once plans over n steps. What is learned depends on what the agent
does after the first of them, so it is a model of a world *and* a behaviour: news about one place
reaches the states n steps before it only by being there (van Seijen et al. 2020).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.rules import Rule, whole
from expectant.core.vectors import (
    Binary,
    BinaryTable,
    Transition,
    Weighted,
    WeightedTable,
    empty_state,
    empty_table,
)
from expectant.core.verbs import (
    add_expected,
    backed_up_action_value,
    backed_up_value,
    begin,
    delegate,
    fit,
    function,
    load,
    on_truncation,
    save,
)
from expectant.models.expectation import LinearExpectation

FIRST, WAITING = 0, 1  # places in what is counted


class NStepPart(NamedTuple):
    """``model`` is one of single steps, which is given n of them as one.

    Steps whose outcome is still to come wait in a ring of n: their ``states``, ``actions`` (n,) and
    the ``returns`` (n,) so far; ``ring`` (2,) has the place of the oldest and how many there are.
    ``state`` is scratch.
    """

    model: object
    states: BinaryTable | WeightedTable
    actions: np.ndarray
    returns: np.ndarray
    ring: np.ndarray
    state: Binary | Weighted
    discount: float


delegate(NStepPart, "model", backed_up_value, backed_up_action_value, add_expected)


@function
def wait(model, transition):
    """Let a step wait for its outcome, and add its reward to those of the steps before it."""
    steps, count = model.returns.shape[0], model.ring
    place = (count[FIRST] + count[WAITING]) % steps
    save(model.states, place, transition.state)
    model.actions[place] = transition.action
    model.returns[place] = 0.0
    count[WAITING] += 1
    share = 1.0
    for back in range(count[WAITING]):
        model.returns[(place - back) % steps] += share * transition.reward
        share *= model.discount


@function
def fit_oldest(model, transition, alive):
    """Fit the step that has waited longest to where it has led by now; returns the errors."""
    count, place = model.ring, model.ring[FIRST]
    load(model.states, place, model.state)
    action, total = model.actions[place], model.returns[place]
    count[FIRST] = (place + 1) % model.returns.shape[0]
    count[WAITING] -= 1
    return fit(
        model.model, Transition(model.state, action, total, transition.next_state, alive, -1)
    )


@function
def forget_waiting(model):
    model.ring[WAITING] = 0


@fit.register(NStepPart)
def _(model, transition):
    """n steps are over for the oldest one, or for all where the episode has ended."""
    steps, errors = model.returns.shape[0], 0.0
    wait(model, transition)
    if transition.alive == 0.0:
        while model.ring[WAITING] > 0:
            errors += fit_oldest(model, transition, 0.0)
    elif model.ring[WAITING] == steps:
        errors += fit_oldest(model, transition, model.discount ** (steps - 1))
    return errors


@begin.register(NStepPart)
def _(model, state, rng):
    forget_waiting(model)


@on_truncation.register(NStepPart)
def _(model, state, rng):
    """What would have come of the last steps is not known."""
    forget_waiting(model)


def _linear(value: object) -> Model:
    if not (isinstance(value, Model) and value.linear):
        raise ValueError
    return value


class NStepExpectation(Model):
    """A linear model of the outcome ``steps`` steps later, if the agent goes on as it does.

    ``model`` is what learns it, ``LinearExpectation`` or ``SparseExpectation``. Discounts are the
    agent's. An episode that ends sooner has its outcome then; of one that is cut off the last steps
    are not learned.
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
