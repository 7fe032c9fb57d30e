"""The options of an agent, how their models are had and how they are followed.

To planning a choice is an action or an option: choices below A are the actions, those from A on
the options. So a model of both is one model, and agents plan with it as with any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from expectant.core.config import parameter
from expectant.core.interfaces import Buildable, BuildContext, Model, Option
from expectant.core.rules import Rule, at_least, between, flag, one_of
from expectant.core.verbs import (
    add_expected,
    backed_up_value,
    begin,
    delegate,
    duration,
    fit,
    learn_options,
    next_predecessor,
    on_truncation,
    policy_of,
    predecessor,
    sample_next,
    stop_of,
    unwrapped,
)
from expectant.options.models import exact_models, learned_models


class SeveralOptionsPart(NamedTuple):
    """``first`` has the options below ``held``, ``rest`` those from there on."""

    first: object
    held: int
    rest: object


@policy_of.register(SeveralOptionsPart)
def _(options, number, state, probabilities):
    if number < options.held:
        policy_of(options.first, number, state, probabilities)
    else:
        policy_of(options.rest, number - options.held, state, probabilities)


@stop_of.register(SeveralOptionsPart)
def _(options, number, state):
    if number < options.held:
        return stop_of(options.first, number, state)
    return stop_of(options.rest, number - options.held, state)


@learn_options.register(SeveralOptionsPart)
def _(options, transition, behaviour, weights, discount):
    errors = learn_options(options.first, transition, behaviour, weights, discount)
    return errors + learn_options(options.rest, transition, behaviour, weights, discount)


@begin.register(SeveralOptionsPart)
def _(options, state, rng):
    begin(options.first, state, rng)
    begin(options.rest, state, rng)


def build_options(options: Sequence[Option], context: BuildContext) -> object:
    """One part for all, in their order; neighbours of one kind share their arrays."""
    built: list[tuple[int, object]] = []
    for _, group in groupby(options, type):
        found = list(group)
        together = found[0].build_together(found, context)
        if together is None:
            built += [(1, option.build(context)) for option in found]
        else:
            built.append((len(found), together))
    (_, joined), *before = reversed(built)
    for count, part in before:
        joined = SeveralOptionsPart(part, count, joined)
    return joined


class ChoicesPart(NamedTuple):
    """A ``model`` of the ``actions``, the ``extended`` models of the ``options``, and these.

    ``discount`` is the one that is inside the models of options, ``rate`` (1,) the agent's R̄.
    """

    model: object
    extended: object
    options: object
    actions: int
    discount: float
    rate: np.ndarray


delegate(ChoicesPart, "model", fit, next_predecessor, predecessor, on_truncation)


@backed_up_value.register(ChoicesPart)
def _(choices, state, action, weights, discount):
    """b(s, a, w) of an action; of an option b_oᵀ s + wᵀ F_o s, whose discount is inside.

    Who asks takes R̄ off once, as for an action; an option costs it at every step, so what is
    missing of R̄ · duration is taken off here (Wan, Naik & Sutton 2021).
    """
    if action < choices.actions:
        return backed_up_value(choices.model, state, action, weights, discount)
    which = action - choices.actions
    worth = backed_up_value(choices.extended, state, which, weights, 1.0)
    if choices.rate[0] != 0.0:
        worth -= choices.rate[0] * (duration(choices.extended, state, which) - 1.0)
    return worth


@add_expected.register(ChoicesPart)
def _(choices, state, action, weights, amount):
    """Who asks has multiplied by γ, as for an action; an option's next state has it already."""
    if action < choices.actions:
        add_expected(choices.model, state, action, weights, amount)
    elif choices.discount > 0.0:
        inside = amount / choices.discount
        add_expected(choices.extended, state, action - choices.actions, weights, inside)


@duration.register(ChoicesPart)
def _(choices, state, action):
    if action < choices.actions:
        return duration(choices.model, state, action)
    return duration(choices.extended, state, action - choices.actions)


@sample_next.register(ChoicesPart)
def _(choices, state, action, successor):
    if action < choices.actions:
        return sample_next(choices.model, state, action, successor)
    return sample_next(choices.extended, state, action - choices.actions, successor)


@unwrapped.register(ChoicesPart)
def _(choices):
    return choices._replace(model=unwrapped(choices.model))


@begin.register(ChoicesPart)
def _(choices, state, rng):
    begin(choices.model, state, rng)
    begin(choices.extended, state, rng)
    begin(choices.options, state, rng)


def _options(value: object) -> tuple[Option, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError
    if not all(isinstance(item, Option) for item in value):
        raise ValueError
    return tuple(value)


class OptionSet(Buildable):
    """Options for an agent to plan and act with, beside its actions.

    ``models`` says how their models are had: "learned" by linear off-policy learning from the
    agent's own steps, with a total step size ``step`` and traces of decay λ = ``trace``;
    "universal" learns which states an option goes through, and rewards apart; "exact" computes them
    for given options on a finite MDP. ``acting`` says how: the agent chooses "anew" at every step,
    is "committed" to an option until it stops, or takes "actions" only and plans with options.
    ``bounded`` shortens an update that would overshoot, as large ratios of probabilities make it.
    """

    options: Sequence[Option] = parameter(Rule("a list of options", _options))
    models: str = parameter(
        one_of("learned", "universal", "exact"), default="learned", kw_only=True
    )
    step: float = parameter(at_least(0.0), default=0.1, kw_only=True)
    trace: float = parameter(between(0, 1), default=0.0, kw_only=True)
    bounded: bool = parameter(flag(), default=True, kw_only=True)
    acting: str = parameter(one_of("anew", "committed", "actions"), default="anew", kw_only=True)

    def validate(self) -> None:
        if self.models == "exact":
            for found in self.options:
                if found.learns:
                    raise ValueError(
                        "OptionSet: models='exact' needs options that are given, got "
                        f"{found!r}, which is learned"
                    )

    @property
    def extended(self) -> tuple[Option, ...]:
        """The options that are not just an action, which the agent has already."""
        return tuple(found for found in self.options if found.only_action < 0)

    def at(self, context: BuildContext) -> BuildContext:
        """The site of the actions' own model."""
        return dataclasses.replace(context, actions=context.domain.actions)

    def build_around(self, model: Model, context: BuildContext, discount: float) -> ChoicesPart:
        """A model of actions and options; ``site`` counts options as actions."""
        own, count = self.at(context), len(self.extended)
        options = build_options(self.extended, own)
        if self.models == "exact":
            extended: object = exact_models(options, count, own, discount)
        else:
            step = self.step / context.shape.active
            extended = learned_models(
                count, context.shape.size, context.width, own.actions, step, self.trace,
                self.bounded, universal=self.models == "universal",
            )  # fmt: skip
        return ChoicesPart(model.build(own), extended, options, own.actions, discount, np.zeros(1))


def _option_set(value: object) -> OptionSet | None:
    if value is None or isinstance(value, OptionSet):
        return value
    return OptionSet(_options(value))


OPTION_SET = Rule("a list of options, an OptionSet, or None", _option_set)
