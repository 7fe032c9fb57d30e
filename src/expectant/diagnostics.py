"""Questions about one's own problem: is a plan safe, is the model right, are the values?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from expectant.descriptions import Need, Setting, bytes_of
from expectant.exact import optimal_values, planning_gap
from expectant.exact.solve import dynamics, expected_next
from expectant.features.table import numbered_states
from expectant.models.places import feature_table
from expectant.running.compiling import kernel_for
from expectant.running.deciding import decision_nanoseconds
from expectant.running.job import UNLIMITED, Job, advanced
from expectant.running.loop import DIVERGED, FULL, Budget
from expectant.running.memory import require
from expectant.verbs import backed_up_value, load

__all__ = ["Errors", "Safety", "action_values_safe", "decision_nanoseconds", "errors_over_time"]

NEGLIGIBLE = 1e-9


class Safety(NamedTuple):
    """Whether action values may be planned with an expectation model, and where not."""

    safe: bool
    largest: float
    state: int
    action: int
    text: str

    def __str__(self) -> str:
        return self.text


def action_values_safe(
    domain: Any,
    action_values: np.ndarray | None = None,
    *,
    discount: float = 1.0,
    phase: int = 0,
) -> Safety:
    """A plain answer from the planning gap: is planning with action values safe here?

    ``action_values`` (S, A) default to the optimal ones. Safe means that at these values an
    expectation model backs up what a distribution model would.
    """
    gap = planning_gap(domain, action_values, discount=discount, phase=phase)
    state, action = (int(x) for x in np.unravel_index(int(gap.argmax()), gap.shape))
    largest, scale = float(gap.max()), float(np.abs(gap).max())
    if scale <= NEGLIGIBLE:
        text = (
            "Safe: in every state and action one action is greedy in all successors, so planning "
            "with action values loses nothing with an expectation model."
        )
        return Safety(True, 0.0, state, action, text)
    count = int((gap > NEGLIGIBLE).sum())
    text = (
        f"Not safe: in {count} of {gap.size} states and actions the successors disagree about the "
        f"greedy action. The loss is largest in state {state}, action {action}: {largest:.4g} per "
        "backup. Plan with state values instead."
    )
    return Safety(False, largest, state, action, text)


class Errors(NamedTuple):
    """At every checkpoint: (runs, checkpoints); NaN where it has no meaning or the run diverged.

    ``model`` is the root mean squared error of s̄ and r over states and actions against the exact
    ones of the first phase; ``value`` that of the state values against the optimal ones.
    """

    episodes: np.ndarray
    model: np.ndarray
    value: np.ndarray


def errors_over_time(
    domain: Any,
    features: Any,
    agent: Any,
    *,
    episodes: int,
    every: int,
    runs: int = 10,
    seed: int = 0,
    step_limit: int = 10_000,
) -> Errors:
    """How wrong an agent's model and values are while it learns, on a finite MDP."""
    job = Job(domain, features, agent, episodes, 0, 1, step_limit, seed)
    require(job, also=_measure_memory)
    checkpoints = np.arange(every, episodes + 1, every)
    model = np.full((runs, checkpoints.size), np.nan)
    value = np.full((runs, checkpoints.size), np.nan)
    optimum = optimal_values(domain, discount=agent.discount)
    for number in range(runs):
        prepared, rng = job.prepare(number)
        measure = _Measure(job, prepared, domain, optimum)
        for place, checkpoint in enumerate(checkpoints):
            budget = Budget(int(checkpoint), UNLIMITED, step_limit)
            kernel = kernel_for(prepared)
            prepared, status = advanced(kernel, prepared, budget, rng, np.zeros(1, np.int64))
            if status == DIVERGED:
                break
            assert status != FULL
            model[number, place] = measure.model_error(prepared.agent)
            value[number, place] = measure.value_error(prepared.agent)
    return Errors(checkpoints, model, value)


def _measure_memory(setting: Setting) -> Sequence[Need]:
    """What the exact answers take: every state's vector, what follows it, and weights to probe."""
    size, states = setting.shape.size, numbered_states(setting.domain, "errors_over_time")
    written_out = bytes_of((states, size), (states, setting.actions, size), (2, size, size))
    return [Need(f"exact answers for {states:,} states of {size:,} features", written_out)]


class _Measure:
    """The exact answers for one run's features, to compare with."""

    def __init__(self, job: Job, prepared: Any, domain: Any, optimum: np.ndarray) -> None:
        setting = job.setting(prepared.domain, prepared.features, None)
        self.optimum, self.world = optimum, dynamics(domain)
        self.table, self.state, self.size = (
            feature_table(setting),
            prepared.next_state,
            setting.shape.size,
        )
        self.matrix = np.array([self._vector(number) for number in range(domain.states)])
        self.expected = expected_next(self.world, self.matrix)

    def _vector(self, number: int) -> np.ndarray:
        from expectant.features.vector import dense, empty_state

        state = empty_state(_shape_like(self.state, self.size))
        load(self.table, number, state)
        return dense(state, self.size)

    def model_error(self, agent: Any) -> float:
        """NaN for agents without a model."""
        planner = getattr(agent, "planner", None)
        if planner is None:
            return float("nan")
        from expectant.features.vector import empty_state

        state = empty_state(_shape_like(self.state, self.size))
        width = agent.weights.shape[-1]
        probes = np.eye(width)[: self.size]
        squares = []
        for number in range(self.matrix.shape[0]):
            load(self.table, number, state)
            for action in range(self.world.rewards.shape[1]):
                reward = backed_up_value(planner.model, state, action, np.zeros(width), 1.0)
                predicted = [
                    backed_up_value(planner.model, state, action, probe, 1.0) - reward
                    for probe in probes
                ]
                squares.append((reward - self.world.rewards[number, action]) ** 2)
                squares.append(float(((predicted - self.expected[number, action]) ** 2).sum()))
        return float(np.sqrt(np.mean(squares)))

    def value_error(self, agent: Any) -> float:
        """State values are w, or the greatest action value where there are only those."""
        weights = agent.weights[..., : self.size]
        values = (
            self.matrix @ weights if weights.ndim == 1 else (self.matrix @ weights.T).max(axis=1)
        )
        return float(np.sqrt(np.mean((values - self.optimum) ** 2)))


def _shape_like(state: Any, size: int) -> Any:
    from expectant.descriptions import Shape

    return Shape(size, state.active.shape[0], hasattr(state, "values"))
