"""Explain in one sentence why the weights of a run grow without bound."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from expectant.core import tree
from expectant.core.vectors import dense
from expectant.core.verbs import add_expected, draw, size, value_change
from expectant.engine.loop import DIVERGED, EPISODE, NUMBER, Run
from expectant.models.sparse import ColumnsPart

GROWN = 1e6  # ratio of weights to the largest return from which they diverge
FAR = 1e3  # no feature of a next state is that large
LEAST, MOST, SWEEPS = 8, 32, 200  # states that a radius is computed from, and updates
WORK = 2**17  # numbers that are added for it, in plain Python: some 0.1 s


def explain_divergence(run: Run, status: int, agent: Any, world: str) -> str:
    """Return cause and remedy of a divergence, present or imminent; empty if there is none."""
    overflown = status == DIVERGED
    if not (overflown or is_diverging(run)):
        return ""
    where = f"{type(agent).__name__} in {world}, run {run.clock[NUMBER]}"
    when = f"episode {run.clock[EPISODE]}"
    what = "have overflowed" if overflown else f"have grown to {_size(run.agent.weights):.0e}"
    cause, radius, advice = _reason(run, agent)
    shown = f" (spectral radius of planning: {radius:.4g})" if radius > 1.0 else ""
    return f"{cause} is diverging: {where}, {when}: weights {what}{shown}; use {advice}"


def is_diverging(run: Run) -> bool:
    """True if weights are far larger than any return."""
    weights = getattr(run.agent, "weights", None)
    if not isinstance(weights, np.ndarray):
        return False
    earned = np.concatenate([run.returns[np.isfinite(run.returns)], run.rewards, np.ones(1)])
    return bool(_size(weights) > GROWN * np.abs(earned).max())


def _size(weights: np.ndarray) -> float:
    return float(np.abs(weights).max())


def _reason(run: Run, agent: Any) -> tuple[str, float, str]:
    """Return the diverging component, the spectral radius (0: unknown), and the remedy."""
    planner = getattr(run.agent, "planner", None)
    if planner is None or planner.planning_steps == 0:
        return "learning", 0.0, "smaller, bounded step sizes"
    if any(not _size(array) < FAR for array in _learned_rows(planner.model)):
        named = isinstance(getattr(agent, "model", ""), str)  # others have steps of their own
        smaller = "a smaller, bounded model_step" if named else "a smaller, bounded step of it"
        return "the model", 0.0, smaller
    radius, advice = 0.0, f"a smaller {'value' if hasattr(agent, 'value_step') else 'action'}_step"
    update = agent.resolve_update().kind if "planning_update" in vars(agent) else ""
    if update == "levi" and type(planner.model) in add_expected.implementations:
        radius = _radius(run.agent, agent.discount)
        advice = f"planning_update='gradient' or {advice}"
    elif update:
        advice = f"a larger correction_step of planning_update or {advice}"
    return "planning", radius, advice


def _learned_rows(model: Any) -> list[np.ndarray]:
    """Return the weights by which a model, or a model in it, predicts next states."""
    rows = [
        node.values if isinstance(node, ColumnsPart) else getattr(node, "rows", None)
        for _, node in tree.items(model)
    ]
    return [array for array in rows if isinstance(array, np.ndarray)]


def _radius(part: Any, discount: float) -> float:
    """Return the spectral radius of LEVI from states that planning draws; 0 if unknown.

    The maximising actions are those in the direction that repeated updates drive random weights
    into: rewards do not matter for large weights, and overflown ones have no direction left. All
    is computed for weights Sᵀc in the span of the n states S, so its cost hardly depends on d.
    """
    planner, weights = part.planner, part.weights
    if not isinstance(weights, np.ndarray) or weights.ndim != 1:
        return 0.0
    backups, state = copy.deepcopy((planner.backups, planner.drawn))
    count = min(MOST, WORK // (planner.actions * size(state) * weights.size))
    if count < LEAST:
        return 0.0
    rng, steps = np.random.default_rng(0), []
    states = np.zeros((count, weights.size))
    promised = np.zeros((count, planner.actions, weights.size))
    try:
        for row, means in zip(states, promised, strict=True):
            draw(backups, state, rng)
            row[:] = dense(state, weights.size)
            steps.append(abs(float(value_change(part.value_step, 0, state, 1.0))))
            for action, mean in enumerate(means):
                add_expected(planner.model, state, action, mean, 1.0)
    except (TypeError, ValueError, FloatingPointError):  # parts of one's own may refuse
        return 0.0
    if not np.isfinite(promised).all():
        return 0.0
    gram, ahead = states @ states.T / count, discount * promised @ states.T / count
    length = max(float(np.trace(gram)), 1e-300)  # the mean squared length of a state
    c, rows = rng.normal(size=count), np.arange(count)
    for _ in range(SWEEPS):
        c = c + 0.5 / length * ((ahead @ c).max(axis=1) - gram @ c)
        c /= max(_size(c), 1e-300)
    rates = np.linalg.eigvals(gram - ahead[rows, (ahead @ c).argmax(axis=1)])
    rates = rates[np.abs(rates) > 1e-12 * length]  # without directions in which nothing moves
    return float(np.abs(1.0 - np.mean(steps) / length * rates).max(initial=0.0))
