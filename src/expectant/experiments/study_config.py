"""Study configs: the figures, rows and runs of a study that a command asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from expectant.core.config import suggest_name
from expectant.experiments.config_file import Experiment
from expectant.experiments.grid import PanelConfig
from expectant.experiments.store import versions
from expectant.experiments.study import Study, study_word
from expectant.experiments.trials import Trial

LOCA = "loca"  # the study of the local-change adaptation test
QUICK_RUNS = 5


@dataclass(frozen=True)
class StudyConfig:
    """The part of a study to run; it is written beside the results.

    ``panels`` (a figure without panels goes by its own name) and ``agents`` select some by name.
    """

    study: Study
    figures: tuple[str, ...]
    seed: int | None = None
    runs: int | None = None
    quick: bool = False
    panels: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    _trials: list[Trial] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def asked_runs(self) -> int | None:
        return QUICK_RUNS if self.quick else self.runs

    def experiment(self, figure: str, interpretation: str) -> Experiment:
        """Return a figure under an interpretation, with the seed and number of runs asked for."""
        experiment = self.study.experiment(figure, interpretation)
        if self.seed is not None:
            experiment = replace(experiment, seed=self.seed)
        if self.panels or self.agents:
            experiment = replace(experiment, panels=tuple(self._select_panels(experiment)))
        return replace(experiment, runs=self.asked_runs or experiment.runs)

    def _select_panels(self, experiment: Experiment) -> Iterator[PanelConfig]:
        for panel in experiment.panels:
            if not self.panels or (panel.name or experiment.name) in self.panels:
                wanted = self.agents or tuple(panel.agents)
                agents = {key: table for key, table in panel.agents.items() if key in wanted}
                if agents:
                    yield replace(panel, agents=agents)

    def trials(self) -> list[Trial]:
        """Return all trials in the order of the report, with the runs that claims are judged by."""
        if not self._trials:
            for figure in self.figures:
                for interpretation in self.study.interpretations_of(figure):
                    experiment = self.experiment(figure, interpretation)
                    judged = replace(experiment, runs=self.claim_runs(figure))
                    self._trials.extend(judged.trials(interpretation))
        return self._trials

    def drawn_runs(self, figure: str) -> int:
        """Return the number of runs that a figure draws."""
        return self.asked_runs or self.study.experiments[figure].runs

    def claim_runs(self, figure: str) -> int:
        """Return the number of runs that claims about a figure are judged by."""
        drawn = self.drawn_runs(figure)
        return self.asked_runs or max(self.study.claim_runs.get(figure, 0), drawn)

    def command(self, figure: str | None = None) -> str:
        """Return the command that recomputes the results, or one figure of them."""
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
        """A warning for readers unless all runs are there."""
        if self.quick:
            return f"quick run: {QUICK_RUNS} runs of everything, verdicts are provisional"
        return "" if self.runs is None else f"{self.runs} runs of everything"

    @property
    def subfolder(self) -> str:
        """A name for this part of the study, such as "quick" or "figure-5a"."""
        figures = self.figures if self.figures != self.study.figures and not self.panels else ()
        words = [*(f"figure-{name}" for name in figures), *self.panels, *self.agents]
        words += ["quick"] if self.quick else [] if self.runs is None else [f"runs-{self.runs}"]
        return "-".join(words) or "again"

    def is_less_than(self, facts: Mapping[str, Any]) -> bool:
        """True if results with these facts have figures, rows or runs beyond this config."""
        stored_runs = QUICK_RUNS if facts["quick"] else facts["runs"]
        fewer = any(
            getattr(self, name) and set(facts.get(name) or ["all"]) - set(getattr(self, name))
            for name in ("panels", "agents")
        )
        figures = bool(set(facts["figures"]) - set(self.figures))
        return figures or fewer or (stored_runs or math.inf) > (self.asked_runs or math.inf)

    def facts(self) -> dict[str, Any]:
        return {
            "study": study_word(self.study.folder),
            "figures": list(self.figures),
            "seed": self.seed,
            "runs": self.runs,
            "quick": self.quick,
            "panels": list(self.panels),
            "agents": list(self.agents),
            "versions": versions(),
        }


def configure_study(
    study: Study, figures: Sequence[str] = (), agents: Sequence[str] = (),
    backups: Sequence[str] = (), *, seed: int | None = None, runs: int | None = None,
    quick: bool = False,
) -> StudyConfig:  # fmt: skip
    """Select figures by name, and of ``loca`` agents and backup distributions."""
    _check_names("figure", figures, study.figures)
    chosen = tuple(name for name in study.figures if not figures or name in figures)
    if not (agents or backups):
        return StudyConfig(study, chosen, seed, runs, quick)
    if study.name != LOCA:
        flag = "--agent" if agents else "--backups"
        raise ValueError(f"{flag}: only `expectant reproduce {LOCA}` can be limited to some")
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


def _check_names(flag: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"--{flag}: unknown {name!r}" + suggest_name(name, [*known]))
