"""Why a run's weights grow without bound, in one sentence."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from expectant.engine.loop import DIVERGED, EPISODE, NUMBER, Run
from expectant.exact.stability import PlanningRadius, radius_of
from expectant.features.vector import dense
from expectant.models.columns import ColumnsPart
from expectant.updates import levi_choice
from expectant.verbs import add_expected, answering, draw, mean_rate, moved_by

GROWN = 1e6  # weights so many times as large as any return are on their way to infinity
FAR = 1e3  # no feature of a next state is that large
STATES, STARTS, SWEEPS = 64, 8, 500


def explained(run: Run, status: int, agent: Any, world: str, thorough: bool = True) -> str:
    """What has made a run diverge, or is about to; nothing where weights are as they should be.

    To look at what planning does to errors takes seconds, which only a ``thorough`` answer does.
    """
    overflown = status == DIVERGED
    if not (overflown or grows(run)):
        return ""
    where = f"{type(agent).__name__} in {world}, run {run.clock[NUMBER]}"
    when = f"episode {run.clock[EPISODE]}"
    what = "have overflowed" if overflown else f"have grown to {_size(run.agent.weights):.0e}"
    cause, reason, advice = _reason(run, agent, thorough)
    return f"{cause} is diverging: {where}, {when}: weights {what}{reason}; use {advice}"


def learned_radius(agent: Any, run: Run, states: list[Any]) -> PlanningRadius:
    """The radius of an agent's own planning update from some states, equally often."""
    part, update = run.agent, getattr(agent, "planning_update", "")
    model = answering(part.planner.model) if update else None
    linear = isinstance(getattr(part, "weights", None), np.ndarray)
    if not linear or type(model) not in add_expected.implementations:
        raise ValueError(
            f"planning_radius: needs an agent that plans with state values, linear in the "
            f"features, and an expectation model, got {agent!r}"
        )
    weights = part.weights
    rows = np.array([dense(state, weights.size) for state in states])
    expected = np.zeros_like(rows)
    for state, row in zip(states, expected, strict=True):
        _, action = levi_choice(model, state, part.planner.actions, weights, agent.discount)
        add_expected(model, state, action, row, 1.0)
    step = float(np.mean([mean_rate(part.value_step, 0, state) for state in states]))
    helper = 0.0
    if update != "levi":
        helper = float(np.mean([mean_rate(part.update.correction_step, 0, s) for s in states]))
    shares = np.full(len(rows), 1.0 / len(rows))
    return radius_of(rows, expected, shares, step, agent.discount, update, helper)


def grows(run: Run) -> bool:
    """Whether weights are far beyond anything that was earned."""
    weights = getattr(run.agent, "weights", None)
    if not isinstance(weights, np.ndarray):
        return False
    earned = np.concatenate([run.returns[np.isfinite(run.returns)], run.rewards, np.ones(1)])
    return bool(_size(weights) > GROWN * np.abs(earned).max())


def _size(weights: np.ndarray) -> float:
    return float(np.abs(weights).max())


def _reason(run: Run, agent: Any, thorough: bool) -> tuple[str, str, str]:
    """What diverges, why, and what to use instead."""
    part = run.agent
    planner = getattr(part, "planner", None)
    if planner is None or planner.planning_steps == 0:
        return "learning", "", "smaller step sizes or bounded_step=True"
    model = planner.model
    if any(not _size(array) < FAR for array in _learned(model)):
        named = isinstance(getattr(agent, "model", ""), str)  # others have steps of their own
        smaller = "a smaller model_step or bounded_step=True" if named else "a smaller step of it"
        return "the model", "", smaller
    step = getattr(part, "value_step", getattr(part, "action_step", None))
    shown = "value_step" if hasattr(agent, "value_step") else "action_step"
    advice = f"a smaller {shown}"
    update = getattr(agent, "planning_update", None)
    if update == "levi" and type(model) in add_expected.implementations:
        advice = f"planning_update='gradient' or {advice}"
    elif update in ("gradient", "gtd2"):
        held = getattr(agent, "bounded_step", False)
        advice = f"{'a larger correction_step' if held else 'bounded_step=True'} or {advice}"
    linear = isinstance(getattr(part, "weights", None), np.ndarray)
    if not linear or not thorough:  # values of another kind have their own gradients
        return "planning", "", advice
    try:
        states, promised, moves = _planned(copy.deepcopy(part), step)
    except (TypeError, ValueError, FloatingPointError):  # parts of one's own may refuse
        return "planning", "", advice
    effect = f", an update takes {100 * moves:.0f} % of its error away"
    if update != "levi" or not promised.size or not np.isfinite(promised).all():
        return "planning", effect, advice
    value_step = moves / float((states**2).sum(axis=1).mean())
    found = _worst(states, promised, value_step, agent.discount)
    return "planning", f"{effect}{_told(found)}", advice


def _told(found: PlanningRadius) -> str:
    growth = 100.0 * (found.radius - 1.0)
    if growth <= 0.0:
        return ""
    anyway = "" if found.largest_step > 0.0 else ", whatever the value step"
    shown = f"{float(f'{growth:.2g}'):g}"  # 290 and not 2.9e+02
    return f", and the model makes errors grow by {shown} % a backup{anyway}"


def _learned(model: Any) -> list[np.ndarray]:
    """What a model, or those that it is made of, learns of next states, as far as names tell."""
    rows = model.values if isinstance(model, ColumnsPart) else getattr(model, "rows", None)
    if isinstance(rows, np.ndarray):
        return [rows]
    parts = model if isinstance(model, tuple) else ()
    return [array for part in parts for array in _learned(part)]


def _planned(part: Any, step: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """States that planning draws (n, D), s̄ of all actions there, and the mean effect of a step.

    The s̄ (n, A, D) are empty where the model does not know them.
    """
    planner, rng, width = part.planner, np.random.default_rng(0), part.weights.shape[-1]
    states, promised, moves = [], [], []
    means = part.weights.ndim == 1 and type(planner.model) in add_expected.implementations
    for _ in range(STATES):
        draw(planner.backups, planner.drawn, rng)
        states.append(dense(planner.drawn, width))
        moves.append(abs(float(moved_by(step, 0, planner.drawn, 1.0))))
        expected = np.zeros((planner.actions if means else 0, width))
        for action, row in enumerate(expected):
            add_expected(planner.model, planner.drawn, action, row, 1.0)
        promised.append(expected)
    return np.array(states), np.array(promised), float(np.mean(moves))


def _worst(states: np.ndarray, promised: np.ndarray, step: float, discount: float) -> Any:
    """The largest radius over the directions that planning itself drives random weights into.

    What was earned does not matter for large weights, and overflown ones have no direction left.
    """
    rng, rows, shares = np.random.default_rng(0), np.arange(len(states)), np.ones(len(states))
    found, shares = [], shares / len(states)
    pace = 0.5 / max(float((states**2).sum(axis=1).mean()), 1e-300)
    for _ in range(STARTS):
        weights = rng.normal(size=states.shape[1])
        for _ in range(SWEEPS):
            values = discount * promised @ weights
            weights = weights + pace * (values.max(axis=1) - states @ weights) @ states / len(rows)
            weights /= max(_size(weights), 1e-300)
        chosen = (promised @ weights).argmax(axis=1)
        found.append(radius_of(states, promised[rows, chosen], shares, step, discount))
    return max(found, key=lambda radius: radius.radius)
