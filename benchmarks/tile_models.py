"""Compare models of the mountain car with tile coding: steps an episode, and time a step.

Least squares with a covariance per pair of features or with its diagonal only, and gradient steps
to a dense and to a sparse model.

    python benchmarks/tile_models.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import expectant as ex
from expectant.core import verbs
from expectant.core.reductions import add_to_row
from expectant.extend import BuildContext, delegate, function, rules
from expectant.extend import index as feature
from expectant.models.expectation import LinearPart, write_errors

EPISODES, LATE, RUNS = 50, 20, 4  # the episodes of a run after LATE are shown


class DiagonalPart(NamedTuple):
    """``linear`` predicts; ``variances`` (A, d) are the diagonals of the covariances."""

    linear: LinearPart
    variances: np.ndarray
    process_noise: float


delegate(DiagonalPart, "linear", verbs.backed_up_value, verbs.add_expected)


@function
def gain_of(model, state, action, n):
    """Return c_i of an active feature after the process noise."""
    return model.variances[action, feature(state, n)] + model.process_noise / verbs.size(state)


@verbs.fit.register(DiagonalPart)
def _(model, transition):
    linear, state, action = model.linear, transition.state, transition.action
    error, total = write_errors(linear, transition), 0.0
    for n in range(verbs.size(state)):
        total += gain_of(model, state, action, n)
    for n in range(verbs.size(state)):
        i, variance = feature(state, n), gain_of(model, state, action, n)
        gain = variance / (1.0 + total)
        linear.rewards[action, i] += gain * error
        add_to_row(linear.rows, action, i, gain, linear.work[0])
        model.variances[action, i] = variance * (1.0 - gain)
    return abs(error)


class DiagonalExpectation(ex.Model):
    """Least squares that neglects all covariances between features."""

    predicts_means = True
    weighs_data = True
    prior: float = ex.parameter(rules.positive(), default=1.0)

    def build(self, context: BuildContext) -> DiagonalPart:
        shape = (context.actions, context.shape.size, context.width)
        linear = LinearPart(
            np.zeros((context.actions, context.width)), np.zeros(shape), 0.0,
            np.zeros((1, context.width)),
        )  # fmt: skip
        return DiagonalPart(linear, np.full(shape[:2], self.prior / context.shape.active), 0.001)


AGENTS = {
    "gradient steps": ex.Lookahead(model_step=ex.Lookahead.gradient_step),
    "gradient steps, sparse": ex.Lookahead(model="sparse"),
    "least squares": ex.Lookahead(model=ex.models.KalmanExpectation(prior=30.0)),
    "diagonal": ex.Lookahead(model=DiagonalExpectation()),
}


def main() -> None:
    for tiles in (8, 16):
        features, domain = ex.Tiles(8, tiles), ex.MountainCar()
        for name, agent in AGENTS.items():
            result = ex.run(
                domain, features, agent, episodes=EPISODES, runs=RUNS, seed=7, step_limit=1_000,
                progress=False,
            )  # fmt: skip
            late = result.lengths[:, LATE:].mean()
            cost = result.seconds / result.lengths.sum() * 1e6
            size = features.shape(domain).size
            print(f"{size:>5} features, {name}: {late:.0f} steps an episode, {cost:.0f} µs a step")


if __name__ == "__main__":
    main()
