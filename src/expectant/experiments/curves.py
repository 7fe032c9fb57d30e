"""Panels of learning curves: from trials, to curves.parquet and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.panel import FLOOR, Panel
from expectant.exact import best_epsilon_soft_return
from expectant.exact.reference_return import common_return, undiscounted_return
from expectant.experiments.recording import record_levels
from expectant.experiments.store import read_table, table_metadata, write_table
from expectant.experiments.toml_tables import hash_data
from expectant.experiments.trials import LENGTH, TOTAL, Trial

CURVES = "curves.parquet"
MAX_STATES = 500  # of an MDP that is solved only to draw a line
QUANTITIES = {LENGTH: "steps of an episode", TOTAL: "sum of rewards so far"}


def group_panels(trials: Sequence[Trial], curves: Sequence[np.ndarray]) -> list[Panel]:
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
            **panel_axes([trial for trial, _ in members]),
        )
        for (figure, name, interpretation), members in grouped.items()
    ]


def panel_axes(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the axes, the references and the floor of a panel."""
    first = trials[0]
    if first.record is None and not first.curve and not first.steps:
        return _references(trials)
    axes: dict[str, Any] = {"unit": "step" if first.steps else "episode", "optimum": math.nan}
    if first.record is None:
        lengths = first.domain.phase_steps if first.steps else ()
        changes = tuple(float(end) for end in np.cumsum(lengths[:-1]))
        quantity = QUANTITIES.get(first.curve, "reward per step")
        return {**axes, "quantity": quantity, "changes": changes}
    at, phases = first.record.schedule(first.setup)
    return {
        **axes,
        "quantity": first.record.definition.title,
        "points": at - first.record.after,
        "phases": phases,
        "levels": record_levels(first.setup, first.record),
        "of_errors": first.record.definition.of_errors,
    }


def _references(trials: Sequence[Trial]) -> dict[str, float]:
    """Return the exact returns of acting ε-greedily on q* and of the best ε-soft policy.

    Both are sums of rewards, which curves show whatever an agent's discount. NaN where they are not
    unique: the domain is not a finite MDP, its phases or runs differ, or discounts differ. The
    ``floor`` is the lower clip for bin averages: random − 4 × (optimal − random).
    """
    domain, mdp = trials[0].domain, trials[0].domain.mdp()
    discount, *others = {trial.agent.discount for trial in trials}
    epsilon = max(trial.agent.epsilon for trial in trials)
    optimum = best_soft = floor = math.nan
    if mdp is not None and not others and domain.for_run(0) is domain:
        act_on_optimal = partial(undiscounted_return, domain, epsilon, discount)
        optimum = common_return(act_on_optimal, mdp.phases)
    if not math.isnan(optimum):
        at_random = common_return(partial(undiscounted_return, domain, 1.0, 1.0), 1)
        floor = at_random - FLOOR * (optimum - at_random)
    if mdp is not None and not mdp.endless and mdp.states <= MAX_STATES:
        best_soft = common_return(
            lambda phase: best_epsilon_soft_return(domain, epsilon, phase=phase), mdp.phases
        )
    return {"optimum": optimum, "best_soft": best_soft, "floor": floor}


def write_curves(
    path: Path, panels: Iterable[Panel], trials: Iterable[Trial], facts: Mapping[str, Any]
) -> None:
    """Write all curves as one Parquet table; ``facts`` and hashes of settings are its metadata."""
    import pyarrow as arrow

    tables = []
    for panel in panels:
        for agent, curve in panel.curves.items():
            runs, bins = curve.shape
            firsts = arrow.array(np.tile(panel.first_episodes.astype(np.int64), runs))
            unknown, steps = arrow.nulls(curve.size, arrow.int64()), panel.unit == "step"
            names = {"figure": panel.figure, "panel": panel.panel}
            names |= {"interpretation": panel.interpretation, "agent": agent}
            columns: dict[str, Any] = {
                **{name: arrow.repeat(value, curve.size) for name, value in names.items()},
                "run": np.repeat(np.arange(runs, dtype=np.int32), bins),
                "bin": np.tile(np.arange(bins, dtype=np.int32), runs),
                "first_episode": unknown if steps else firsts,
                "first_step": firsts if steps else unknown,
                "mean_return": curve.ravel(),
            }
            tables.append(arrow.table(columns))
    write_table(arrow.concat_tables(tables), path, {**facts, "trials": settings_hashes(trials)})


def settings_hashes(trials: Iterable[Trial]) -> dict[str, str]:
    """Hash the settings of every trial."""
    return {f"{trial.experiment}/{trial.id}": hash_data(trial.identity())[:12] for trial in trials}


def read_facts(path: Path) -> dict[str, Any]:
    """Read the facts that were written with curves."""
    return table_metadata(read_table(path))


def read_curves(path: Path, trials: Sequence[Trial], command: str) -> list[np.ndarray]:
    """Read the stored curves of trials; refuse those of other settings than trials now have.

    ``command`` computes them again.
    """
    from pyarrow import compute

    table = read_table(path)
    known = table_metadata(table).get("trials", {})
    changed = [name for name, now in settings_hashes(trials).items() if known.get(name, now) != now]
    if changed:
        raise ValueError(
            f"{path}: {len(changed)} of its curves, {changed[0]!r} first, are of other settings "
            f"than their config has now: compute them again with `{command}`, or restore the config"
        )
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
