"""Write a model: it remembers only the latest outcome of every feature and action."""

from typing import NamedTuple

import numpy as np

import expectant as ex
from expectant.extend import backed_up_value, dot, fit, index, size, value


class LatestPart(NamedTuple):
    rewards: np.ndarray  # (A, d)
    expected: np.ndarray  # (A, d, D): what followed the feature


@fit.register(LatestPart)
def _(model, transition):
    for n in range(size(transition.state)):
        j = index(transition.state, n)
        model.rewards[transition.action, j] = transition.reward / size(transition.state)
        model.expected[transition.action, j, :] = 0.0
        for m in range(size(transition.next_state)):
            share = transition.alive * value(transition.next_state, m) / size(transition.state)
            model.expected[transition.action, j, index(transition.next_state, m)] = share
    return 0.0


@backed_up_value.register(LatestPart)
def _(model, state, action, weights, discount):
    future = 0.0
    for n in range(size(state)):
        future += np.dot(model.expected[action, index(state, n)], weights)
    return dot(state, model.rewards[action]) + discount * future


class Latest(ex.Model):
    def build(self, context):
        d, width = context.shape.size, context.width
        return LatestPart(np.zeros((context.actions, d)), np.zeros((context.actions, d, width)))


if __name__ == "__main__":
    for model in (ex.models.LinearExpectation(), Latest()):
        agent = ex.Lookahead(model=model)
        domain = ex.Corridor(slip=0.3, switch_every=200)
        returns = ex.run(domain, ex.OneHot(), agent, episodes=1000, runs=30).returns
        print(f"{type(model).__name__:18} {returns.mean():6.2f}")
