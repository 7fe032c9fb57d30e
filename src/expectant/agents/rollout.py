"""Iterated backups: after a backup, go where the model leads and back up there too.

A sample model leads to states that can occur. An expectation model leads to their mean, which may
be no state at all; that is possible here so that people can see what it does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from expectant.features.vector import Binary, Weighted, empty_state
from expectant.parts import Backups, Model, Shape, Site
from expectant.verbs import act, back_up, copy, imagine, roll_out


class NoRollout(NamedTuple):
    """One-step backups only."""

    length: int


class RolloutPart(NamedTuple):
    """``length`` backups from every drawn state, itself included; the rest is scratch."""

    length: int
    imagined: Binary | Weighted
    next_imagined: Binary | Weighted


@roll_out.register(RolloutPart)
def _(rollout, agent, rng):
    """Follow the agent's own policy through the model, from the state just backed up."""
    model, imagined, errors = agent.planner.model, rollout.imagined, 0.0
    alive = imagine(model, agent.planner.drawn, act(agent, agent.planner.drawn, rng), imagined)
    for _ in range(rollout.length - 1):
        if alive == 0.0 or agent.planner.control[0] != 0:
            break
        errors += back_up(agent, imagined, -1, agent.discount, rng)
        alive = imagine(model, imagined, act(agent, imagined, rng), rollout.next_imagined)
        copy(imagined, rollout.next_imagined)
    return errors


def check_rollout(owner: str, length: int, given: object, model: Model, backups: Backups) -> None:
    """Refuse rollouts of models that cannot lead anywhere."""
    if not model.imagines:
        raise ValueError(
            f"{owner}: rollout={length} needs a model that leads to a next state, a sample model "
            f"or (to see why not) a linear expectation model, got model={given!r}"
        )
    if model.imagines == "means" and not backups.stores_transitions:
        raise ValueError(
            f"{owner}: rollout={length} of an expectation model leads to states that "
            f"backups={backups!r} cannot tell apart; use a replay"
        )


def rollout_part(length: int, model: Model, site: Site) -> NoRollout | RolloutPart:
    """Scratch states of the shape that the model leads to."""
    if length == 1:
        return NoRollout(1)
    if model.imagines == "states":
        return RolloutPart(length, empty_state(site.shape), empty_state(site.shape))
    size = site.shape.size
    pair = [empty_state(Shape(size, size, True)) for _ in range(2)]
    for state in pair:
        state.active[:] = np.arange(size)
    return RolloutPart(length, *pair)
