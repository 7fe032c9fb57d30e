"""From stored curves to the panels that analyses and figures work on, and back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.panel import Panel
from expectant.exact import (
    best_epsilon_soft_return,
    epsilon_greedy_policy,
    optimal_policy,
    policy_values,
    start_return,
)
from expectant.experiments.recording import levels_of
from expectant.experiments.store import facts_of_table, read_table, write_table
from expectant.experiments.trials import LENGTH, TOTAL, Trial

CURVES = "curves.parquet"
FLOOR = 4.0  # times as far below: runs that are stuck or have diverged, and no others
MOST_STATES = 500  # of an MDP that is solved only to draw a line
QUANTITIES = {LENGTH: "steps of an episode", TOTAL: "sum of rewards so far"}


def panels_of(trials: Sequence[Trial], curves: Sequence[np.ndarray]) -> list[Panel]:
    """Group the curves of trials into panels, in the order of the trials."""
    grouped: dict[tuple[str, str, str], list[tuple[Trial, np.ndarray]]] = {}
    for trial, curve in zip(trials, curves, strict=True):
        grouped.setdefault((trial.experiment, trial.panel, trial.interpretation), []).append(
            (trial, curve)
        )
    return [
        Panel(
            figure=figure,
            panel=name,
            interpretation=interpretation,
            bin=members[0][0].width,
            switch_every=members[0][0].domain.switch_every,
            curves={trial.agent_key: curve for trial, curve in members},
            labels={trial.agent_key: trial.label for trial, _ in members},
            title=members[0][0].panel_title,
            **axes_of_panel([trial for trial, _ in members]),
        )
        for (figure, name, interpretation), members in grouped.items()
    ]


def axes_of_panel(trials: Sequence[Trial]) -> dict[str, Any]:
    """What the curves of a panel are of, over what, and what they are held against."""
    first = trials[0]
    if first.record is None and not first.curve and not first.steps:
        optimum = _optimum(trials)
        floor = _floor(first, optimum)
        return {"optimum": optimum, "best_soft": _best_soft(trials), "floor": floor}
    axes: dict[str, Any] = {"unit": "step" if first.steps else "episode", "optimum": math.nan}
    if first.record is None:
        quantity = QUANTITIES.get(first.curve, "reward per step")
        return {**axes, "quantity": quantity, "changes": _changes(first)}
    after = first.record.after
    when = first.record.schedule(first.setup)
    levels = [
        line._replace(start=max(0.0, line.start - after), end=line.end - after)
        for line in levels_of(first.setup, first.record)
        if line.end > after
    ]
    return {
        **axes,
        "quantity": first.record.found.title,
        "points": when.at - after,
        "phases": when.phases,
        "levels": tuple(levels),
        "of_errors": first.record.found.of_errors,
    }


def _changes(trial: Trial) -> tuple[float, ...]:
    """After how many steps a domain changes, where steps are counted; the last phase goes on."""
    lengths = trial.domain.phase_steps if trial.steps else ()
    return tuple(float(end) for end in np.cumsum(lengths[:-1]))


def _optimum(trials: Sequence[Trial]) -> float:
    """The exact return of acting ε-greedily on optimal values; NaN where there is no one number.

    That is where the domain is not a finite MDP, its phases or those of its runs differ, or agents
    discount differently.
    """
    domain, mdp = trials[0].domain, trials[0].domain.mdp()
    discount = trials[0].agent.discount
    differ = any(trial.agent.discount != discount for trial in trials)
    if mdp is None or differ or domain.for_run(0) is not domain:
        return math.nan
    epsilon = max(trial.agent.epsilon for trial in trials)
    return _one_number(
        [_undiscounted(domain, epsilon, discount, phase) for phase in range(mdp.phases)]
    )


def _one_number(returns: Sequence[float]) -> float:
    """The return in all phases; NaN where they differ."""
    return returns[0] if max(returns) - min(returns) < 1e-9 else math.nan


def _floor(trial: Trial, optimum: float) -> float:
    """Far below acting at random, in terms of how far an exact return is above it; NaN: of none.

    Nearer to it lie bins of agents that follow what they learned before the goal moved.
    """
    if math.isnan(optimum):
        return optimum
    at_random = _undiscounted(trial.domain, epsilon=1.0, discount=1.0, phase=0)
    return at_random - FLOOR * (optimum - at_random)


def _best_soft(trials: Sequence[Trial]) -> float:
    """The best return of any policy with the agents' ε; NaN on the same terms, or if it is large.

    What is recorded is the sum of rewards, so nothing is discounted.
    """
    domain, mdp = trials[0].domain, trials[0].domain.mdp()
    if mdp is None or mdp.endless or mdp.states > MOST_STATES:
        return math.nan
    epsilon = max(trial.agent.epsilon for trial in trials)
    try:
        return _one_number(
            [best_epsilon_soft_return(domain, epsilon, phase=n) for n in range(mdp.phases)]
        )
    except ValueError:  # no policy ends for certain
        return math.nan


def _undiscounted(domain: Any, epsilon: float, discount: float, phase: int) -> float:
    """What is recorded is the sum of rewards, whatever an agent's discount."""
    policy = epsilon_greedy_policy(optimal_policy(domain, discount=discount, phase=phase), epsilon)
    try:
        return start_return(domain, policy_values(domain, policy, phase=phase))
    except ValueError:  # a policy that never ends
        return math.nan


def write_curves(path: Path, panels: Iterable[Panel], facts: dict[str, Any]) -> None:
    """All curves as one Parquet table; ``facts`` go into its metadata."""
    import pyarrow as arrow

    tables = []
    for panel in panels:
        for agent, curve in panel.curves.items():
            runs, bins = curve.shape
            firsts = arrow.array(np.tile(panel.first_episodes.astype(np.int64), runs))
            unknown, steps = arrow.nulls(curve.size, arrow.int64()), panel.unit == "step"
            named = {
                "figure": panel.figure,
                "panel": panel.panel,
                "interpretation": panel.interpretation,
            }
            columns: dict[str, Any] = {
                **{key: arrow.repeat(text, curve.size) for key, text in named.items()},
                "agent": arrow.repeat(agent, curve.size),
                "run": np.repeat(np.arange(runs, dtype=np.int32), bins),
                "bin": np.tile(np.arange(bins, dtype=np.int32), runs),
                "first_episode": unknown if steps else firsts,
                "first_step": firsts if steps else unknown,
                "mean_return": curve.ravel(),
            }
            tables.append(arrow.table(columns))
    write_table(arrow.concat_tables(tables), path, facts)


def settings_hashes(trials: Iterable[Trial]) -> dict[str, str]:
    """A hash of the settings of every trial, by which curves can tell what they are of."""
    found = {}
    for trial in trials:
        text = json.dumps(trial.identity(), sort_keys=True)
        found[f"{trial.experiment}/{trial.id}"] = hashlib.sha256(text.encode()).hexdigest()[:12]
    return found


def check_settings(
    path: Path, trials: Iterable[Trial], facts: Mapping[str, Any], command: str
) -> None:
    """Refuse curves that were computed with other settings than their trials now have."""
    known = facts.get("trials", {})
    changed = [name for name, now in settings_hashes(trials).items() if known.get(name, now) != now]
    if changed:
        raise ValueError(
            f"{path}: {len(changed)} of its curves, {changed[0]!r} first, are of other settings "
            f"than their spec has now: compute them again with `{command}`, or restore the spec"
        )


def read_facts(path: Path) -> dict[str, Any]:
    """The facts that were written with some curves."""
    return facts_of_table(read_table(path))


def read_curves(path: Path, trials: Sequence[Trial]) -> list[np.ndarray]:
    """The stored curves of some trials."""
    from pyarrow import compute

    table = read_table(path)
    curves = []
    for trial in trials:
        wanted = (
            (compute.field("figure") == trial.experiment)
            & (compute.field("panel") == trial.panel)
            & (compute.field("interpretation") == trial.interpretation)
            & (compute.field("agent") == trial.agent_key)
        )
        rows = table.filter(wanted)
        runs = len(compute.unique(rows["run"]))
        if runs == 0:
            raise ValueError(
                f"{path}: holds no curve of {trial.agent_key!r} in {trial.experiment!r}"
            )
        curves.append(rows["mean_return"].to_numpy().reshape(runs, -1))
    return curves
