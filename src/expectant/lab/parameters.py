"""Under which reading would the printed step sizes be chosen? A grid of them for every figure.

Every agent of a figure is run over a grid of its step sizes, as long as in the source's parameter
study, under every named set. The best by mean return is picked by those runs; what the printed
setting earns less is told by fresh ones. Then the figure is run with every agent at its best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.curves import finite_or_nan
from expectant.analysis.judging import AT_LEAST, Finding, Statement, find, floored, verdict
from expectant.analysis.selection import pick, setting_means
from expectant.lab.cells import Cell
from expectant.lab.claims import Verdict, evaluate
from expectant.lab.engines.compute import compute
from expectant.lab.store.results import panels_of
from expectant.lab.store.store import Store
from expectant.lab.study import Study

GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
COARSE = (0.001, 0.01, 0.03, 0.1, 0.3)  # for agents of three step sizes, which are many settings
EPISODES, RUNS = 1000, 30  # of the source's parameter study
FRESH = 100  # runs that had no part in the choice
MARGINS = {"1": 0.05, "3": 0.3}  # of a return; elsewhere:
MARGIN = 0.2
CLAIM = 22
AT_BEST = ("5a", "5b")  # figures that are run again with every agent at its best
SIGNS = {"value_step": "α_w", "action_step": "α_q", "policy_step": "α_θ", "model_step": "α_m"}

Steps = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One agent of one panel under a named set, and the settings it is tried with.

    The printed one is the first of them, whether or not it is on the grid.
    """

    named_set: str
    cell: Cell
    settings: tuple[Steps, ...]

    @property
    def printed(self) -> Steps:
        return self.settings[0]

    @property
    def margin(self) -> float:
        return MARGINS.get(self.cell.experiment, MARGIN)

    def with_settings(self, place: int, runs: int) -> Cell:
        """The cell with one of the settings."""
        agent = self.cell.agent.replace(**self.settings[place])
        return replace(
            self.cell, agent=agent, runs=runs, agent_key=f"{self.cell.agent_key} {place}"
        )


@dataclass(frozen=True)
class Choice:
    """The best setting of a case, and what the printed one earns less, by fresh runs.

    ``rank`` is how many settings did at least as well as the printed one, itself included.
    """

    case: Case
    best: int
    rank: int
    diverged: int
    means: tuple[float, float]  # of the printed and of the best setting, fresh runs
    behind: Finding

    @property
    def settings(self) -> Steps:
        return self.case.settings[self.best]

    @property
    def at_edge(self) -> list[str]:
        """The steps that are the smallest or the largest of those tried."""
        return [
            name
            for name, value in self.settings.items()
            if value in (min(s[name] for s in self.case.settings),
                         max(s[name] for s in self.case.settings))
        ]  # fmt: skip


def cases(study: Study, figures: Sequence[str], seed: int) -> list[Case]:
    """Every agent of every panel of the figures, under every set."""
    found = []
    for figure in figures:
        for named_set in study.sets_of(figure):
            experiment = study.experiment(figure, named_set)
            episodes = min(experiment.episodes, EPISODES)
            fitted = replace(
                experiment, episodes=episodes, bin=min(experiment.bin, episodes), seed=seed
            )
            for cell in fitted.cells(named_set):
                found.append(Case(named_set, cell, tuple(settings_of(cell.agent))))
    return found


def settings_of(agent: Any) -> Iterator[Steps]:
    """The agent's own step sizes, and then all others of a grid."""
    names = [name for name in ("value_step", "action_step", "policy_step") if hasattr(agent, name)]
    if getattr(agent, "model", None) == "expectation":
        names.append("model_step")
    own = {name: float(getattr(agent, name)) for name in names}
    yield own
    grid = COARSE if len(names) > 2 else GRID
    for values in product(grid, repeat=len(names)):
        found = dict(zip(names, values, strict=True))
        if found != own:
            yield found


def choose(
    found: Sequence[Case], folder: Path, threads: int | None, runs: int = RUNS, fresh: int = FRESH
) -> list[Choice]:
    """The best setting of every case; what a folder has already is not computed again."""
    tried = [
        case.with_settings(place, runs) for case in found for place in range(len(case.settings))
    ]
    curves = iter(_computed(tried, folder, threads, "step sizes"))
    values = [np.stack([_values(next(curves)) for _ in case.settings]) for case in found]
    best = [pick(setting_means(own)) for own in values]
    again = [
        case.with_settings(place, runs + fresh)
        for case, place in zip(found, best, strict=True)
        for place in (0, place)
    ]
    later = iter(_computed(again, folder, threads, "fresh runs"))
    return [
        _choice(case, place, own, [next(later)[runs:] for _ in range(2)])
        for case, place, own in zip(found, best, values, strict=True)
    ]


def _computed(
    cells: Sequence[Cell], folder: Path, threads: int | None, title: str
) -> list[np.ndarray]:
    return compute(cells, Store(folder), threads=threads, title=title)


def _values(curves: np.ndarray) -> np.ndarray:
    """The mean return of every run (runs,); NaN where it diverged."""
    return np.asarray(finite_or_nan(curves).mean(axis=1))


def _choice(case: Case, best: int, tried: np.ndarray, fresh: Sequence[np.ndarray]) -> Choice:
    means = np.where(np.isnan(setting_means(tried)), -np.inf, setting_means(tried))
    printed, other = (curve.mean(axis=1) for curve in floored(fresh))
    return Choice(
        case,
        best,
        int((means >= means[0]).sum()),
        int(np.isinf(means).sum()),
        (float(printed.mean()), float(other.mean())),
        find(printed - other, Statement(AT_LEAST, 0.0, case.margin), _label(case)),
    )


def _label(case: Case) -> str:
    place = ", ".join(filter(None, (f"figure {case.cell.experiment}", case.cell.panel)))
    return f"return of {case.cell.label} as printed less that of the best of the grid ({place})"


def judge(study: Study, chosen: Sequence[Choice], runs: int) -> list[Verdict]:
    """The claim that the printed step sizes were the best, under every set."""
    claim = next(claim for claim in study.claims if claim.id == CLAIM)
    rule = (
        f"Mean return over {EPISODES:,} episodes of every agent with its printed step sizes, less "
        "that with the best of a grid, is at least 0, give or take the margin; the best is picked "
        "by other runs. One agent that falls short is enough (with Holm's correction)."
    )
    found = []
    for named_set in dict.fromkeys(choice.case.named_set for choice in chosen):
        parts = [choice.behind for choice in chosen if choice.case.named_set == named_set]
        outcome, decisive = verdict(parts)
        numbers = (decisive.effect, decisive.low, decisive.high, decisive.statement.margin)
        detail = "; ".join(f"{part.label} is {part.effect:.3g}, {part.outcome}" for part in parts)
        about = (CLAIM, "parameters", named_set, claim.kind, claim.claim)
        told = (runs, math.nan, rule, f"{detail}.")
        found.append(Verdict(*about, outcome, *numbers, *told))
    return found


def at_their_best(
    study: Study, chosen: Sequence[Choice], folder: Path, figures: Sequence[str], seed: int,
    threads: int | None, runs: int = FRESH,
) -> list[Verdict]:  # fmt: skip
    """The verdicts on figures that are run with every agent at its best, under every set."""
    best = {
        (c.case.named_set, c.case.cell.experiment, c.case.cell.panel, c.case.cell.agent_key): c
        for c in chosen
    }
    cells = []
    for figure in figures:
        for named_set in study.sets_of(figure):
            experiment = replace(study.experiment(figure, named_set), runs=runs, seed=seed)
            for cell in experiment.cells(named_set):
                choice = best[named_set, figure, cell.panel, cell.agent_key]
                cells.append(replace(cell, agent=cell.agent.replace(**choice.settings)))
    panels = panels_of(cells, _computed(cells, folder, threads, "every agent at its best"))
    claims = [
        claim
        for claim in study.claims
        if claim.clauses and all((c.figure or claim.figure) in figures for c in claim.clauses)
    ]
    return evaluate(claims, panels, None, {f: study.experiments[f].runs for f in figures})


def parameter_study(
    study: Study,
    folder: Path,
    figures: Sequence[str] = (),
    seed: int = 0,
    threads: int | None = None,
    runs: int = RUNS,
    fresh: int = FRESH,
) -> dict[str, Any]:
    """All of it, for the figures that are run under every set: choices, and what is claimed."""
    wanted = [name for name in figures or study.figures if name not in study.only]
    chosen = choose(cases(study, wanted, seed), folder, threads, runs, fresh)
    shown = [name for name in AT_BEST if name in wanted]
    best = at_their_best(study, chosen, folder, shown, seed, threads, fresh) if shown else []
    return {
        "runs": runs,
        "fresh": fresh,
        "choices": [_data(choice) for choice in chosen],
        "verdicts": [verdict.to_dict() for verdict in judge(study, chosen, fresh)],
        "at_best": [verdict.to_dict() for verdict in best],
    }


def choice_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """One row for every agent and set: printed, best, what the printed one earns less, its rank."""
    return [
        [
            ", ".join(filter(None, (one["figure"], one["panel"]))),
            one["label"],
            one["set"],
            _steps(one["printed"]),
            _steps(one["best"]) + " (edge)" * bool(one["at_edge"]),
            f"{one['best_return']:.2f}",
            "{:.2f} ({:.2f} to {:.2f})".format(*one["behind"]),
            f"{one['rank']} of {one['tried']}",
            one["verdict"],
        ]
        for one in found["choices"]
    ]


HEAD = (
    "figure", "agent", "set", "printed", "best of the grid", "its return", "printed less best",
    "rank of the printed one", "printed is as good",
)  # fmt: skip


def _steps(steps: Mapping[str, float]) -> str:
    """Step sizes in a few words, such as "α_w 0.01, α_m 0.1"."""
    return ", ".join(f"{SIGNS[name]} {value:g}" for name, value in steps.items())


def _data(choice: Choice) -> Mapping[str, Any]:
    case, behind = choice.case, choice.behind
    return {
        "set": case.named_set,
        "figure": case.cell.experiment,
        "panel": case.cell.panel,
        "agent": case.cell.agent_key,
        "label": case.cell.label,
        "printed": case.printed,
        "best": choice.settings,
        "at_edge": choice.at_edge,
        "rank": choice.rank,
        "tried": len(case.settings),
        "diverged": choice.diverged,
        "printed_return": round(choice.means[0], 4),
        "best_return": round(choice.means[1], 4),
        "behind": [round(x, 4) for x in (behind.effect, behind.low, behind.high)],
        "margin": behind.statement.margin,
        "verdict": behind.outcome,
    }
