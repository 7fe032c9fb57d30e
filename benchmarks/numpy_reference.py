"""Algorithm 1 on the corridor in plain NumPy.

It draws the same random numbers as the library, so the returns must agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Algorithm1:
    """Linear state values and a linear expectation model, with dense arrays."""

    def __init__(self, agent: Any, size: int, streams: Any) -> None:
        self.agent, self.acting, self.planning = agent, streams.acting, streams.planning
        self.weights = np.zeros(size)
        self.model = np.zeros((2, size, size))  # F_a, s̄ = F_a s
        self.rewards = np.zeros((2, size))
        self.replay: list[np.ndarray] = []
        self.slot = 0

    def action_values_of(self, state: np.ndarray) -> np.ndarray:
        """b(s, a, w) of both actions."""
        expected = self.model @ state
        return self.rewards @ state + self.agent.discount * (expected @ self.weights)

    def act(self, state: np.ndarray) -> int:
        if self.acting.random() < self.agent.epsilon:
            return int(self.acting.random() * 2)
        left, right = self.action_values_of(state)
        if left == right:
            return int(self.acting.random() * 2 < 1.0)
        return int(right > left)

    def step(self, state: np.ndarray, action: int, reward: float, next_state: np.ndarray) -> None:
        agent, weights = self.agent, self.weights
        delta = reward + agent.discount * weights @ next_state - weights @ state
        weights += agent.value_step.step * delta * state
        self.remember(state)
        surprise = reward - self.rewards[action] @ state
        error = next_state - self.model[action] @ state
        self.rewards[action] += agent.model_step.step * surprise * state
        self.model[action] += agent.model_step.step * np.outer(error, state)
        for _ in range(agent.planning_steps):
            drawn = self.replay[int(self.planning.random() * len(self.replay))]
            delta = self.action_values_of(drawn).max() - weights @ drawn
            weights += agent.value_step.step * delta * drawn

    def remember(self, state: np.ndarray) -> None:
        if len(self.replay) < self.agent.backups.capacity:
            self.replay.append(state)
        else:
            self.replay[self.slot] = state
        self.slot = (self.slot + 1) % self.agent.backups.capacity


def run_algorithm1(
    domain: Any, features: np.ndarray, agent: Any, episodes: int, streams: Any
) -> tuple[np.ndarray, int]:
    """Return the returns of the episodes and the number of steps; ``features`` is (cells, d)."""
    learner, returns, steps = Algorithm1(agent, features.shape[1], streams), np.zeros(episodes), 0
    for episode in range(episodes):
        goal = 1 if (episode // domain.switch_every) % 2 == 0 else 0
        cell = int(streams.world.random() * domain.cells)
        inside = True
        while inside:
            action = learner.act(features[cell])
            direction = action if streams.world.random() < 1.0 - domain.slip else 1 - action
            target = cell + (1 if direction else -1)
            inside = 0 <= target < domain.cells
            reward = -1.0 if inside else (20.0 if direction == goal else 0.0)
            next_state = features[target] if inside else np.zeros(features.shape[1])
            learner.step(features[cell], action, reward, next_state)
            returns[episode] += reward
            cell = target
            steps += 1
    return returns, steps
