"""A domain of vectors, and encoding without the loop, for the tests of feature maps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import expectant as ex
from expectant.core.vectors import dense, empty_state
from expectant.core.verbs import encode, observation, reset, step


class PlanePart(NamedTuple):
    now: np.ndarray  # (2,): where one is
    taken: np.ndarray  # (1,): steps in the episode
    breaks_at: int  # the step whose observation is not a number; −1: none


@reset.register(PlanePart)
def _(plane, episode, rng):
    plane.now[0], plane.now[1] = 1.0 + rng.random(), 2.0 * rng.random()
    plane.taken[0] = 0


@step.register(PlanePart)
def _(plane, action, rng):
    plane.taken[0] += 1
    plane.now[action % 2] += (0.9 if action < 2 else -0.4) * rng.random()
    if plane.taken[0] == plane.breaks_at:
        plane.now[1] = np.nan
    return -1.0, 0.0 if plane.now[0] > 4.0 else 1.0


@observation.register(PlanePart)
def _(plane):
    return plane.now


class Plane(ex.Domain):
    """A walk to the right edge of a plane."""

    breaks_at: int = ex.parameter(ex.rules.whole(-1), default=-1)
    actions = 4
    bounds = ((0.0, 4.0), (0.0, 2.0))

    def build(self, rng):
        return PlanePart(np.zeros(2), np.zeros(1, np.int64), self.breaks_at)


def vectors(features: Any, domain: Any, observations: Any, actions: Any = None) -> np.ndarray:
    """The vectors (n, d) of some observations in order, as one episode unless actions say so."""
    shape = features.shape(domain)
    part, state = features.build(domain, np.random.default_rng(0)), empty_state(shape)
    rows = []
    for n, seen in enumerate(observations):
        action = (-1 if n == 0 else 0) if actions is None else actions[n]
        encode(part, np.asarray(seen), action, state)
        rows.append(dense(state, shape.size))
    return np.array(rows)
