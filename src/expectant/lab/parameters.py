"""Under which reading would the printed step sizes be chosen? A grid of them for every figure.

Every agent of a figure is run over a grid of its step sizes, as long as in the source's parameter
study, under every named set. The best by mean return is picked by those runs; what the printed
setting earns less is told by fresh ones, and so is what figures show with every agent at its best.
Bins count no lower than the floor that claims are judged with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from expectant.analysis.judging import AT_LEAST, HOLDS, Finding, Statement, find, floored, verdict
from expectant.analysis.selection import pick, setting_means
from expectant.lab.cells import Cell
from expectant.lab.claims import Verdict, judge_claims
from expectant.lab.engines.compute import compute
from expectant.lab.step_grid import Steps, at_edge, settings_from, steps_in_words
from expectant.lab.store.results import panels_of
from expectant.lab.store.store import Store
from expectant.lab.study import Study

FRESH = 100  # runs that had no part in the choice


@dataclass(frozen=True)
class Case:
    """One agent of one panel under a named set, and the settings it is tried with.

    The printed one is the first of them, whether or not it is on the grid. No bin counts less than
    the panel's ``floor``. A return that is less by the ``margin`` does not matter.
    """

    named_set: str
    cell: Cell
    settings: tuple[Steps, ...]
    floor: float
    margin: float

    @property
    def printed(self) -> Steps:
        return self.settings[0]

    def with_settings(self, place: int, runs: int) -> Cell:
        """The cell with one of the settings."""
        agent = self.cell.agent.replace(**self.settings[place])
        return replace(
            self.cell, agent=agent, runs=runs, agent_key=f"{self.cell.agent_key} {place}"
        )


@dataclass(frozen=True)
class StepChoice:
    """The best setting of a case, and what the printed one earns less, by fresh runs.

    ``rank`` is the place of the printed one: 1 if no other setting did better.
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
        """The steps beyond which there may be better ones."""
        cell = self.case.cell
        return at_edge(self.settings, self.case.settings, cell.agent, _ones(cell))


def cases(study: Study, figures: Sequence[str], seed: int) -> list[Case]:
    """Every agent of every panel of the figures, under every set."""
    keys = study.parameter_keys
    found = []
    for figure in figures:
        if study.experiments[figure].steps:
            raise ValueError(
                f"{study.name}: step sizes are chosen by returns of episodes, and figure {figure} "
                "is run by steps; --figure names others"
            )
        for named_set in study.sets_of(figure):
            experiment = study.experiment(figure, named_set)
            episodes = min(experiment.episodes, keys.episodes)
            fitted = replace(
                experiment, episodes=episodes, bin=min(experiment.bin, episodes), seed=seed
            )
            cells = fitted.cells(named_set)
            floors = _floors(cells)
            for cell in cells:
                settings = tuple(settings_from(cell.agent, _ones(cell)))
                margin = keys.margins.get(figure, keys.margin)
                found.append(Case(named_set, cell, settings, floors[cell.panel], margin))
    return found


def _ones(cell: Cell) -> int:
    """How many features of a state are not zero."""
    return cell.features.shape(cell.domain).active


def _floors(cells: Sequence[Cell]) -> dict[str, float]:
    """The floor of every panel, which is that of all of its agents."""
    nothing = [np.empty((0, cell.points)) for cell in cells]
    return {panel.panel: panel.floor for panel in panels_of(cells, nothing)}


def choose_parameters(
    found: Sequence[Case], folder: Path, threads: int | None, runs: int, fresh: int = FRESH
) -> list[StepChoice]:
    """The best setting of every case; what a folder has already is not computed again."""
    tried = [
        case.with_settings(place, runs) for case in found for place in range(len(case.settings))
    ]
    curves = iter(_computed(tried, folder, threads, "step sizes"))
    diverged, means = [], []
    for case in found:
        own = [next(curves) for _ in case.settings]
        diverged.append(sum(not np.isfinite(curve).all() for curve in own))
        means.append(setting_means(_returns(own, case.floor)))
    best = [pick(own) for own in means]
    again = [
        case.with_settings(place, runs + fresh)
        for case, place in zip(found, best, strict=True)
        for place in (0, place)
    ]
    later = iter(_computed(again, folder, threads, "fresh runs"))
    return [
        _choice(case, place, own, lost, [next(later)[runs:] for _ in range(2)])
        for case, place, own, lost in zip(found, best, means, diverged, strict=True)
    ]


def _computed(
    cells: Sequence[Cell], folder: Path, threads: int | None, title: str
) -> list[np.ndarray]:
    return compute(cells, Store(folder), threads=threads, title=title)


def _returns(curves: Sequence[np.ndarray], floor: float) -> np.ndarray:
    """The mean return of every run of some settings (settings, runs), as bins count for claims."""
    return np.stack([curve.mean(axis=1) for curve in floored(curves, floor)])


def _choice(
    case: Case, best: int, means: np.ndarray, diverged: int, fresh: Sequence[np.ndarray]
) -> StepChoice:
    printed, other = _returns(fresh, case.floor)
    return StepChoice(
        case,
        best,
        1 + int((means > means[0]).sum()),
        diverged,
        (float(printed.mean()), float(other.mean())),
        find(printed - other, Statement(AT_LEAST, 0.0, case.margin), _label(case)),
    )


def _label(case: Case) -> str:
    place = ", ".join(filter(None, (f"figure {case.cell.experiment}", case.cell.panel)))
    return f"return of {case.cell.label} as printed less that of the best of the grid ({place})"


def judge_parameters(study: Study, chosen: Sequence[StepChoice], runs: int) -> list[Verdict]:
    """The claim that the printed step sizes were the best, under every set."""
    keys = study.parameter_keys
    claim = next(claim for claim in study.claims if claim.id == keys.claim)
    rule = (
        f"Mean return over {keys.episodes:,} episodes of every agent with its printed step sizes, "
        "less that with the best of a grid, is at least 0, give or take the margin; the best is "
        "picked by other runs. One agent that falls short is enough (with Holm's correction)."
    )
    found = []
    for named_set in dict.fromkeys(choice.case.named_set for choice in chosen):
        parts = [choice.behind for choice in chosen if choice.case.named_set == named_set]
        outcome, decisive = verdict(parts)
        numbers = (decisive.effect, decisive.low, decisive.high, decisive.statement.margin)
        detail = "; ".join(f"{part.label} is {part.effect:.3g}, {part.outcome}" for part in parts)
        about = (claim.id, "parameters", named_set, claim.kind, claim.claim)
        told = (runs, float(outcome == HOLDS), rule, f"{detail}.")
        found.append(Verdict(*about, outcome, *numbers, *told))
    return found


def at_their_best(
    study: Study, chosen: Sequence[StepChoice], folder: Path, figures: Sequence[str], seed: int,
    threads: int | None, runs: int, fresh: int = FRESH,
) -> list[Verdict]:  # fmt: skip
    """The verdicts on figures that are run with every agent at its best, under every set.

    By fresh runs: the first ``runs`` have picked the best.
    """
    best = {
        (c.case.named_set, c.case.cell.experiment, c.case.cell.panel, c.case.cell.agent_key): c
        for c in chosen
    }
    cells = []
    for figure in figures:
        for named_set in study.sets_of(figure):
            experiment = replace(study.experiment(figure, named_set), runs=runs + fresh, seed=seed)
            for cell in experiment.cells(named_set):
                choice = best[named_set, figure, cell.panel, cell.agent_key]
                cells.append(replace(cell, agent=cell.agent.replace(**choice.settings)))
    curves = _computed(cells, folder, threads, "every agent at its best")
    panels = panels_of(cells, [curve[runs:] for curve in curves])
    claims = [
        claim
        for claim in study.claims
        if claim.clauses and all((c.figure or claim.figure) in figures for c in claim.clauses)
    ]
    return judge_claims(claims, panels, None, {f: study.experiments[f].runs for f in figures})


def parameter_study(
    study: Study,
    folder: Path,
    figures: Sequence[str] = (),
    seed: int = 0,
    threads: int | None = None,
    runs: int | None = None,
    fresh: int = FRESH,
) -> dict[str, Any]:
    """All of it, for the figures that are run under every set: choices, and what is claimed."""
    keys = study.parameter_keys
    runs = runs or keys.runs
    wanted = [name for name in figures or study.figures if name not in study.only]
    chosen = choose_parameters(cases(study, wanted, seed), folder, threads, runs, fresh)
    shown = [name for name in keys.at_best if name in wanted]
    best = at_their_best(study, chosen, folder, shown, seed, threads, runs, fresh) if shown else []
    return {
        "runs": runs,
        "fresh": fresh,
        "choices": [_data(choice) for choice in chosen],
        "verdicts": [verdict.to_dict() for verdict in judge_parameters(study, chosen, fresh)],
        "at_best": [verdict.to_dict() for verdict in best],
    }


def choice_rows(found: Mapping[str, Any]) -> list[list[str]]:
    """One row for every agent and set: printed, best, what the printed one earns less, its rank."""
    return [
        [
            ", ".join(filter(None, (one["figure"], one["panel"]))),
            one["label"],
            one["set"],
            steps_in_words(one["printed"]),
            steps_in_words(one["best"]) + " (edge)" * bool(one["at_edge"]),
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


def _data(choice: StepChoice) -> Mapping[str, Any]:
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
