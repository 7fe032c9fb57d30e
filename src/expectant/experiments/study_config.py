"""Requests: which figures, rows and runs of a study are asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from expectant.core.config import suggest_name
from expectant.experiments.config_file import Experiment
from expectant.experiments.grid import PanelConfig
from expectant.experiments.results_folder import versions
from expectant.experiments.study import Study, word_for
from expectant.experiments.trials import Trial

LOCA = "loca"  # the study of the local-change adaptation test
QUICK_RUNS = 5


@dataclass(frozen=True)
class StudyConfig:
    """What was asked for; it is written beside the results.

    Only some ``panels`` (a figure without panels goes by its own name) and ``agents`` of them may
    be asked for, by name; none named means all.
    """

    study: Study
    figures: tuple[str, ...]
    seed: int | None = None
    runs: int | None = None
    quick: bool = False
    panels: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    _expanded: list[Trial] = field(default_factory=list, init=False, repr=False, compare=False)

    def experiment(self, figure: str, interpretation: str) -> Experiment:
        """A figure under an interpretation, with the seed and number of runs asked for."""
        experiment = self.study.experiment(figure, interpretation)
        if self.seed is not None:
            experiment = replace(experiment, seed=self.seed)
        if self.panels or self.agents:
            experiment = replace(experiment, panels=tuple(self._kept(experiment)))
        runs = QUICK_RUNS if self.quick else self.runs
        return experiment if runs is None else replace(experiment, runs=runs)

    def _kept(self, experiment: Experiment) -> Iterator[PanelConfig]:
        for panel in experiment.panels:
            if not self.panels or (panel.name or experiment.name) in self.panels:
                wanted = self.agents or tuple(panel.agents)
                agents = {key: table for key, table in panel.agents.items() if key in wanted}
                if agents:
                    yield replace(panel, agents=agents)

    def trials(self) -> list[Trial]:
        """All trials in the order in which they are shown, expanded once.

        Each has as many runs as claims are judged by.
        """
        if not self._expanded:
            for figure in self.figures:
                for interpretation in self.study.interpretations_of(figure):
                    experiment = self.experiment(figure, interpretation)
                    judged = replace(experiment, runs=self.judged(figure))
                    self._expanded.extend(judged.trials(interpretation))
        return self._expanded

    def drawn(self, figure: str) -> int:
        """How many runs of a figure are drawn."""
        asked = QUICK_RUNS if self.quick else self.runs
        return asked or self.study.experiments[figure].runs

    def judged(self, figure: str) -> int:
        """How many runs claims about a figure are judged by."""
        if self.quick or self.runs is not None:
            return self.drawn(figure)
        return max(self.study.claim_runs.get(figure, 0), self.drawn(figure))

    def command(self, figure: str | None = None) -> str:
        """The command that makes the results, or one figure of them, again."""
        words = [self.study.command]
        figures = self.figures if figure is None else (figure,)
        if self.panels or self.agents:  # which only `loca` asks for
            words += [f"--agent {name}" for name in self.panels]
            words += [f"--backups {name}" for name in self.agents]
        elif set(figures) != set(self.study.figures):
            words += [f"--figure {name}" for name in figures]
        if self.quick:
            words.append("--quick")
        elif self.runs is not None:
            words.append(f"--runs {self.runs}")
        if self.seed:
            words.append(f"--seed {self.seed}")
        return " ".join(words)

    @property
    def warning(self) -> str:
        """What a reader must know if this was not the whole thing."""
        if self.quick:
            return f"quick run: {QUICK_RUNS} runs of everything, verdicts are provisional"
        return "" if self.runs is None else f"{self.runs} runs of everything"

    @property
    def part(self) -> str:
        """A name for what is asked for of the whole study, such as "quick" or "figure-5a"."""
        figures = self.figures if self.figures != self.study.figures else ()
        words = [
            *(f"figure-{name}" for name in figures if not self.panels),
            *self.panels,
            *self.agents,
            *(["quick"] if self.quick else [] if self.runs is None else [f"runs-{self.runs}"]),
        ]
        return "-".join(words) or "again"

    def is_less_than(self, facts: Mapping[str, Any]) -> bool:
        """Whether results with such facts have figures, rows or runs that this does not ask for."""
        before = _runs(facts["quick"], facts["runs"])
        fewer = any(
            getattr(self, name) and set(facts.get(name) or ["all"]) - set(getattr(self, name))
            for name in ("panels", "agents")
        )
        figures = bool(set(facts["figures"]) - set(self.figures))
        return figures or fewer or before > _runs(self.quick, self.runs)

    def facts(self) -> dict[str, Any]:
        return {
            "study": word_for(self.study.folder),
            "figures": list(self.figures),
            "seed": self.seed,
            "runs": self.runs,
            "quick": self.quick,
            "panels": list(self.panels),
            "agents": list(self.agents),
            "versions": versions(),
        }


def _runs(quick: bool, runs: int | None) -> float:
    """How many runs were asked for; without a number as many as there can be."""
    return QUICK_RUNS if quick else math.inf if runs is None else runs


def configure_study(
    study: Study, figures: Sequence[str] = (), agents: Sequence[str] = (),
    backups: Sequence[str] = (), *, seed: int | None = None, runs: int | None = None,
    quick: bool = False,
) -> StudyConfig:  # fmt: skip
    """Check what is asked for by name: figures, and of ``loca`` agents and backup distributions."""
    _check_names("figure", figures, study.figures)
    chosen = tuple(name for name in study.figures if not figures or name in figures)
    if not (agents or backups):
        return StudyConfig(study, chosen, seed, runs, quick)
    if study.name != LOCA:
        option = "--agent" if agents else "--backups"
        raise ValueError(f"{option}: only `expectant reproduce {LOCA}` can be limited to some")
    rows = [  # panels are agents there, and the curves of a panel backup distributions
        (figure, panel.name or figure, key)
        for figure in chosen
        for panel in study.experiments[figure].panels
        for key in panel.agents
    ]
    _check_names("agent", agents, sorted({agent for _, agent, _ in rows}))
    _check_names("backups", backups, sorted({key for _, _, key in rows} - {"none"}))
    kept = {
        figure
        for figure, agent, key in rows
        if (not agents or agent in agents) and (not backups or key in backups)
    }
    if not kept:
        raise ValueError("--backups: q_learning does not plan, it has no backup distribution")
    chosen = tuple(figure for figure in chosen if figure in kept)
    return StudyConfig(study, chosen, seed, runs, quick, tuple(agents), tuple(backups))


def _check_names(option: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"--{option}: unknown {name!r}" + suggest_name(name, [*known]))
