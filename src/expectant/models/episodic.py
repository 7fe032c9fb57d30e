"""General episodic expectation models (GEEM): r, termination β, and ŝ given no termination."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import BuildContext, Model
from expectant.core.updates import move
from expectant.core.vectors import dot
from expectant.core.verbs import (
    add_expected,
    backed_up_action_value,
    backed_up_value,
    dot_through,
    expected_next_state,
    fit,
    function,
)
from expectant.domains.finite import require_mdp
from expectant.models.expectation import (
    ExactExpectation,
    ExactPart,
    LinearExpectation,
    LinearPart,
    max_dot,
    predict,
)
from expectant.step_sizes import StepSize, as_shared_step, step_size


class EpisodicPart(NamedTuple):
    """``model`` holds r and ŝ, ``endings`` (A, D) the weights of β(s, a), clipped to [0, 1]."""

    model: LinearPart
    endings: np.ndarray


@function
def survival(model, state, action):
    """1 − β(s, a)."""
    ending = dot(state, model.endings[action])
    if ending < 0.0:
        return 1.0
    return 1.0 - ending if ending < 1.0 else 0.0


@fit.register(EpisodicPart)
def _(episodic, transition):
    """Move β and r always, ŝ only if there is a next state."""
    model, action = episodic.model, transition.action
    ended = 1.0 - transition.alive
    errors = abs(move(episodic.endings[action], transition.state, ended, model.step))
    if transition.alive > 0.0:
        return errors + fit(model, transition)
    row = model.rewards[action]
    return errors + abs(move(row, transition.state, transition.reward, model.step))


@backed_up_value.register(EpisodicPart)
def _(episodic, state, action, weights, discount):
    """r + γ (1 − β) wᵀŝ: the bracket of EVI's target."""
    model = episodic.model
    future = dot_through(state, model.rows, action, weights)
    alive = survival(episodic, state, action)
    return dot(state, model.rewards[action]) + discount * alive * future


@backed_up_action_value.register(EpisodicPart)
def _(episodic, state, action, weights, discount):
    """The invalid target: r + γ (1 − β) max_a' w_a'ᵀ ŝ."""
    model = episodic.model
    predict(model, state, action)
    alive, future = survival(episodic, state, action), max_dot(weights, model.work[0])
    return dot(state, model.rewards[action]) + discount * alive * future


@add_expected.register(EpisodicPart)
def _(episodic, state, action, weights, amount):
    """s̄ = (1 − β) ŝ."""
    alive = survival(episodic, state, action)
    add_expected(episodic.model, state, action, weights, amount * alive)


@expected_next_state.register(EpisodicPart)
def _(episodic, state, action, expected):
    """Write ŝ; return 1 − β."""
    predict(episodic.model, state, action)
    for i in range(expected.shape[0]):
        expected[i] = episodic.model.work[0, i]
    return survival(episodic, state, action)


class EpisodicExpectation(Model):
    """A linear general episodic expectation model, learned by gradient descent from zero.

    All weights share one step size; of an adaptive one only the initial step is used.
    """

    predicts_means: ClassVar[bool] = True

    step: float | StepSize = parameter(step_size(), default=0.1)

    def build(self, context: BuildContext) -> EpisodicPart:
        model = LinearExpectation(as_shared_step(self.step)).build(context)
        return EpisodicPart(model, np.zeros_like(model.rewards))


class ExactEpisodic(Model):
    """The general episodic expectation model aligned with a known finite MDP."""

    predicts_means: ClassVar[bool] = True
    learns = False

    def build(self, context: BuildContext) -> ExactPart:
        table = require_mdp(context, "ExactEpisodic").outcomes
        zero_terminal = ExactExpectation().build(context)
        alive = (table.probabilities * (table.successors >= 0)).sum(axis=-1).ravel()
        expected = zero_terminal.expected / np.where(alive > 0.0, alive, 1.0)[:, None]
        return zero_terminal._replace(expected=expected, survival=1.0 - (1.0 - alive))
