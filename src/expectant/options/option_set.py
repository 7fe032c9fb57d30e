"""The options of an agent: how their models are learned and how they are followed.

Planning sees A actions and n options as A + n choices: those below A are actions. A model of all
choices is one model, and agents plan with it as with any other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from expectant.core import verbs
from expectant.core.config import parameter
from expectant.core.interfaces import Buildable, BuildContext, Model, Option
from expectant.core.rules import Rule, at_least, between, flag, instance_of, list_of, one_of
from expectant.core.verbs import delegate
from expectant.options.models import build_exact_models, build_learned_models


class SeveralOptionsPart(NamedTuple):
    """``first`` has the options below ``split``, ``rest`` those from there on."""

    first: object
    split: int
    rest: object


@verbs.policy_of.register(SeveralOptionsPart)
def _(options, number, state, probabilities):
    if number < options.split:
        verbs.policy_of(options.first, number, state, probabilities)
    else:
        verbs.policy_of(options.rest, number - options.split, state, probabilities)


@verbs.stop_of.register(SeveralOptionsPart)
def _(options, number, state):
    if number < options.split:
        return verbs.stop_of(options.first, number, state)
    return verbs.stop_of(options.rest, number - options.split, state)


@verbs.learn_options.register(SeveralOptionsPart)
def _(options, transition, behaviour, weights, discount):
    errors = verbs.learn_options(options.first, transition, behaviour, weights, discount)
    return errors + verbs.learn_options(options.rest, transition, behaviour, weights, discount)


@verbs.begin.register(SeveralOptionsPart)
def _(options, state, rng):
    verbs.begin(options.first, state, rng)
    verbs.begin(options.rest, state, rng)


def build_options(options: Sequence[Option], context: BuildContext) -> object:
    """Build one part for all options in order; neighbours of one class share their arrays."""
    parts: list[tuple[int, object]] = []
    for _, group in groupby(options, type):
        same_class = list(group)
        shared = same_class[0].build_together(same_class, context)
        if shared is None:
            parts += [(1, option.build(context)) for option in same_class]
        else:
            parts.append((len(same_class), shared))
    (_, joined), *others = reversed(parts)
    for count, part in others:
        joined = SeveralOptionsPart(part, count, joined)
    return joined


class ChoicesPart(NamedTuple):
    """A ``model`` of the ``actions``, and the ``extended`` models of the ``options``.

    ``discount`` is γ as contained in the models of options, ``rate`` (1,) the agent's R̄.
    """

    model: object
    extended: object
    options: object
    actions: int
    discount: float
    rate: np.ndarray


delegate(
    ChoicesPart, "model", verbs.fit, verbs.next_predecessor, verbs.predecessor, verbs.on_truncation
)


@verbs.backed_up_value.register(ChoicesPart)
def _(choices, state, action, weights, discount):
    """b(s, a, w) of an action; b_oᵀ s + wᵀ F_o s of an option, which contains the discount.

    The caller subtracts R̄ once, as for an action. An option pays it at every step, so the rest of
    R̄ · duration is subtracted here (Wan, Naik & Sutton 2021).
    """
    if action < choices.actions:
        return verbs.backed_up_value(choices.model, state, action, weights, discount)
    option = action - choices.actions
    total = verbs.backed_up_value(choices.extended, state, option, weights, 1.0)
    if choices.rate[0] != 0.0:
        total -= choices.rate[0] * (verbs.duration(choices.extended, state, option) - 1.0)
    return total


@verbs.add_expected.register(ChoicesPart)
def _(choices, state, action, weights, amount):
    """Undo the γ in ``amount`` for options, whose next state contains it already."""
    if action < choices.actions:
        verbs.add_expected(choices.model, state, action, weights, amount)
    elif choices.discount > 0.0:
        inside = amount / choices.discount
        verbs.add_expected(choices.extended, state, action - choices.actions, weights, inside)


@verbs.duration.register(ChoicesPart)
def _(choices, state, action):
    if action < choices.actions:
        return verbs.duration(choices.model, state, action)
    return verbs.duration(choices.extended, state, action - choices.actions)


@verbs.sample_next.register(ChoicesPart)
def _(choices, state, action, successor):
    if action < choices.actions:
        return verbs.sample_next(choices.model, state, action, successor)
    return verbs.sample_next(choices.extended, state, action - choices.actions, successor)


@verbs.begin.register(ChoicesPart)
def _(choices, state, rng):
    verbs.begin(choices.model, state, rng)
    verbs.begin(choices.extended, state, rng)
    verbs.begin(choices.options, state, rng)


OPTIONS = list_of(instance_of(Option, "an option"), "a list of options")


class OptionSet(Buildable):
    """Options to plan and act with, in addition to the actions.

    ``models``: "learned" are linear and learned off-policy from the agent's steps, with a total
    step size ``step`` and traces of decay ``trace``; "exact" ones are computed for given options of
    a finite MDP.
    ``acting``: the agent chooses "anew" at every step, is "committed" to an option until it stops,
    or takes "actions" only and uses options for planning.
    """

    options: Sequence[Option] = parameter(OPTIONS)
    models: str = parameter(one_of("learned", "exact"), default="learned", kw_only=True)
    step: float = parameter(at_least(0.0), default=0.1, kw_only=True)
    trace: float = parameter(between(0, 1), default=0.0, kw_only=True)
    bounded: bool = parameter(flag(), default=True, kw_only=True)
    acting: str = parameter(one_of("anew", "committed", "actions"), default="anew", kw_only=True)

    def validate(self) -> None:
        learned = [option for option in self.options if option.learns]
        if self.models == "exact" and learned:
            raise ValueError(
                f"OptionSet: models='exact' needs options that are given, got {learned[0]!r}, "
                "which is learned"
            )

    def build_around(self, model: Model, context: BuildContext) -> ChoicesPart:
        """Build a model of actions and options; ``context.actions`` counts both."""
        context = dataclasses.replace(context, actions=context.domain.actions)
        options, count = build_options(self.options, context), len(self.options)
        if self.models == "exact":
            extended: object = build_exact_models(options, count, context)
        else:
            step = self.step / context.shape.active
            extended = build_learned_models(count, context, step, self.trace, self.bounded)
        actions, discount = context.actions, context.discount
        return ChoicesPart(model.build(context), extended, options, actions, discount, np.zeros(1))


def _option_set(value: object) -> OptionSet | None:
    if value is None or isinstance(value, OptionSet):
        return value
    return OptionSet(OPTIONS.convert(value))


OPTION_SET = Rule("a list of options, an OptionSet, or None", _option_set)
