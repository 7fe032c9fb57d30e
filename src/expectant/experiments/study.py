"""Studies: folders of data that say what is run, under which interpretations, and what is claimed.

``study.toml`` has the title and the source, ``claims.toml`` the claims, ``interpretations.toml``
the details that the source leaves open; every other TOML file is the config of one figure.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from expectant.analysis.looks import look_sizes
from expectant.core.config import allow_local_imports, suggest_name, trust_message
from expectant.core.rules import whole
from expectant.experiments import toml_tables as toml
from expectant.experiments.claims import Claim, Sizes, read_claims
from expectant.experiments.config_file import Changes, Experiment, parse_config
from expectant.experiments.store import versions
from expectant.experiments.trials import Trial

STUDY, CLAIMS, INTERPRETATIONS = "study.toml", "claims.toml", "interpretations.toml"
PAPER = "kudashkina-2021"
LOCA = "loca"  # the study of the local-change adaptation test
ABLATION = "ablation"  # figures whose names begin with it come last
QUICK_RUNS = 5


@dataclass(frozen=True)
class DetailChoice:
    """One way to settle an open detail, and the interpretations that choose it."""

    name: str = toml.key(toml.text())
    interpretations: tuple[str, ...] = toml.key(toml.texts(), ())
    changes: Changes = toml.key(toml.table(Changes), Changes())
    source: str = toml.key(toml.text(), "")


@dataclass(frozen=True)
class Detail:
    """A detail that the source leaves open, with its choices; no ``figures``: it concerns all."""

    name: str = toml.key(toml.text())
    question: str = toml.key(toml.text(), "")
    figures: tuple[str, ...] = toml.key(toml.texts(), ())
    choices: tuple[DetailChoice, ...] = toml.key(toml.tables(DetailChoice), ())

    def concerns(self, figure: str) -> bool:
        return not self.figures or figure in self.figures

    def choice_in(self, interpretation: str) -> DetailChoice:
        return next(choice for choice in self.choices if interpretation in choice.interpretations)


@dataclass(frozen=True)
class InterpretationsFile:
    """The keys of ``interpretations.toml``."""

    details: tuple[Detail, ...] = toml.key(toml.tables(Detail), ())


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """The keys of ``study.toml``.

    ``claim_runs``: runs that claims are judged by at most, where those are more than are drawn.
    ``only``: figures that are run under some interpretations only.
    ``unsized``: figures whose number of runs the source does not give.
    ``metrics``: modules to import. ``out``: folder of the results.
    """

    title: str = toml.key(toml.text(), "")
    source: str = toml.key(toml.text(), "")
    link: str = toml.key(toml.text(), "")
    notes: tuple[str, ...] = toml.key(toml.texts(), ())
    figures: tuple[str, ...] = toml.key(toml.texts(), ())
    interpretations: tuple[str, ...] = toml.key(toml.texts(), ("",))
    out: str = toml.key(toml.text(), "")
    metrics: tuple[str, ...] = toml.key(toml.texts(), ())
    claim_runs: Mapping[str, int] = toml.key(toml.table_of(whole(1)), {})
    only: Mapping[str, tuple[str, ...]] = toml.key(toml.table_of(toml.texts()), {})
    unsized: tuple[str, ...] = toml.key(toml.texts(), ())


@dataclass(frozen=True, kw_only=True)
class Study(StudyFile):
    """A study; ``experiments`` maps its figures to their configs in the order of the report.

    ``command`` recomputes its results.
    """

    name: str
    experiments: Mapping[str, Experiment]
    folder: Path = Path()
    details: tuple[Detail, ...] = ()
    claims: tuple[Claim, ...] = ()
    command: str = ""

    def __repr__(self) -> str:
        content = f"{len(self.experiments)} figures, {len(self.claims)} claims"
        return f"Study({self.name}: {self.title}; {content})"

    def interpretations_of(self, figure: str) -> tuple[str, ...]:
        return self.only.get(figure, self.interpretations)

    @property
    def sizes(self) -> Sizes:
        """Number of runs of each figure of the source, None where it does not say."""
        return {
            name: None if name in self.unsized else experiment.runs
            for name, experiment in self.experiments.items()
        }

    def experiment(
        self, figure: str, interpretation: str, changed: Mapping[str, DetailChoice] | None = None
    ) -> Experiment:
        """Return a figure under an interpretation, with ``changed`` details by name."""
        experiment = self.experiments[figure]
        for detail in self.details:
            if detail.concerns(figure):
                choice = (changed or {}).get(detail.name) or detail.choice_in(interpretation)
                experiment = experiment.with_changes(choice.changes)
        return experiment


# ------------------------------------------------------------------------------------------ reading


def packaged_studies() -> dict[str, Path]:
    """Return the folders of the studies that come with the package, by name."""
    root = Path(str(resources.files("expectant").joinpath("studies")))
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{STUDY}"))}


def read_study(study: str | Path = PAPER, trust: bool = False) -> Study:
    """Read a study, a packaged one by name or a folder; ``trust`` imports modules that it names."""
    folder = packaged_studies().get(str(study), Path(study))
    if not (folder / STUDY).is_file():
        if folder.is_dir():
            raise toml.ConfigError(f"{folder}: is no study, it has no {STUDY}")
        known = sorted(packaged_studies())
        raise toml.ConfigError(f"study: unknown {str(study)!r}" + suggest_name(str(study), known))
    name = folder.resolve().name
    with toml.in_file(folder):
        with toml.in_file(STUDY):
            file = toml.read_table(
                StudyFile, toml.parse_toml(toml.read_text(folder / STUDY), STUDY)
            )
            for module in file.metrics:
                _import_module(module, trust)
        experiments = _read_experiments(folder, file.figures, trust)
        with toml.in_file(STUDY):
            if not file.interpretations:
                raise toml.ConfigError("at least one is needed", "interpretations")
            for key_name in ("claim_runs", "only", "unsized"):
                toml.check_known("no figure", getattr(file, key_name), [*experiments], key_name)
            for figure, names in file.only.items():
                toml.check_known(
                    "no interpretation", names, [*file.interpretations], "only", figure
                )
        with toml.in_file(CLAIMS):
            claims = tuple(read_claims(_read_optional(folder / CLAIMS), experiments))
        with toml.in_file(INTERPRETATIONS):
            details = _read_details(folder, file.interpretations, [*experiments])
    computed = {
        "title": file.title or name,
        "figures": tuple(experiments),
        "out": file.out or f"results/{name}",
        "command": "expectant reproduce" + ("" if name == PAPER else f" {study_word(folder)}"),
    }
    parts = {"experiments": experiments, "details": details, "claims": claims}
    return Study(**{**vars(file), **computed, **parts}, name=name, folder=folder)


def study_word(folder: Path) -> str:
    """Return the word by which commands find the study in a folder."""
    return folder.name if packaged_studies().get(folder.name) == folder else str(folder)


def _import_module(module: str, trust: bool) -> None:
    if module in sys.modules:
        return
    if not trust:
        raise toml.ConfigError(trust_message(f"the module {module!r}"), "metrics")
    allow_local_imports()
    try:
        importlib.import_module(module)
    except Exception as error:  # whatever the module raises
        raise toml.ConfigError(f"cannot import {module!r}: {error}", "metrics") from None


def _list_configs(folder: Path) -> list[Path]:
    """List the config files of a study's figures."""
    others = (STUDY, CLAIMS, INTERPRETATIONS)
    return sorted(path for path in folder.glob("*.toml") if path.name not in others)


def find_config(word: str) -> Path:
    """Find a config file: a path, a packaged study that has just one, or STUDY/CONFIG."""
    study, _, name = word.partition("/")
    path, folder = Path(word), packaged_studies().get(study)
    if path.is_dir() and folder is None:
        raise toml.ConfigError(f"{word}: is a folder; give a config, or a study to `reproduce`")
    if path.is_file() or folder is None:
        return path
    configs = {file.stem: file for file in _list_configs(folder)}
    if not name and len(configs) == 1:
        (name,) = configs
    toml.check_known(f"{study} has no config", [name], [*configs], word)
    return configs[name]


def _read_optional(path: Path) -> dict[str, Any]:
    return toml.parse_toml(toml.read_text(path), path.name) if path.exists() else {}


def _read_experiments(folder: Path, figures: tuple[str, ...], trust: bool) -> dict[str, Experiment]:
    """Read the configs of a folder by their names, in the order of ``figures`` if any are named."""
    experiments: dict[str, Experiment] = {}
    for path in _list_configs(folder):
        experiment = parse_config(toml.read_text(path), path.name, trust=trust)
        if experiment.name in experiments:
            raise toml.ConfigError(f"{path.name}: name: two configs are called {experiment.name!r}")
        experiments[experiment.name] = experiment
    if not experiments:
        raise toml.ConfigError(f"has no config, a TOML file beside {STUDY}")
    with toml.in_file(STUDY):
        toml.check_known("no config", figures, [*experiments], "figures")
    return {name: experiments[name] for name in figures or experiments}


def _read_details(
    folder: Path, interpretations: tuple[str, ...], figures: list[str]
) -> tuple[Detail, ...]:
    details = toml.read_table(InterpretationsFile, _read_optional(folder / INTERPRETATIONS)).details
    for index, detail in enumerate(details):
        with toml.inside("details", index):
            toml.check_known("no figure", detail.figures, figures, "figures")
            named = [name for choice in detail.choices for name in choice.interpretations]
            toml.check_known("no interpretation", named, [*interpretations], "choices")
            for name in interpretations:
                if (count := named.count(name)) != 1:
                    raise toml.ConfigError(f"one must be in {name!r}, got {count}", "choices")
    return details


# --------------------------------------------------------------------------------- parts of a study


@dataclass(frozen=True)
class StudyConfig:
    """The part of a study to run; it is written beside the results.

    ``panels`` (a figure without panels goes by its own name) and ``agents`` select some by name.
    ``provisional``: a first page, while more runs are computed.
    """

    study: Study
    figures: tuple[str, ...]
    seed: int | None = None
    runs: int | None = None
    quick: bool = False
    panels: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    provisional: bool = False

    @property
    def asked_runs(self) -> int | None:
        return QUICK_RUNS if self.quick else self.runs

    def drawn_runs(self, figure: str) -> int:
        """Return the number of runs that a figure draws."""
        return self.asked_runs or self.study.experiments[figure].runs

    def claim_runs(self, figure: str) -> int:
        """Return the number of runs that claims about a figure are judged by at most."""
        drawn = self.drawn_runs(figure)
        return self.asked_runs or max(self.study.claim_runs.get(figure, 0), drawn)

    @property
    def looks(self) -> dict[str, tuple[int, ...]]:
        """Numbers of runs after which claims are judged, by figure."""
        return {
            name: look_sizes(self.drawn_runs(name), self.claim_runs(name)) for name in self.figures
        }

    def experiment(
        self, figure: str, interpretation: str, changed: Mapping[str, DetailChoice] | None = None
    ) -> Experiment:
        """Return a figure with the panels, agents, runs and seed that are asked for."""
        experiment, panels = self.study.experiment(figure, interpretation, changed), []
        for panel in experiment.panels:
            if not self.panels or (panel.name or figure) in self.panels:
                wanted = self.agents or tuple(panel.agents)
                agents = {key: table for key, table in panel.agents.items() if key in wanted}
                panels += [replace(panel, agents=agents)] if agents else []
        seed, runs = experiment.seed if self.seed is None else self.seed, self.drawn_runs(figure)
        return replace(experiment, panels=tuple(panels), runs=runs, seed=seed)

    @cached_property
    def trials(self) -> list[Trial]:
        """All trials in the order of the report, with the most runs that claims are judged by."""
        trials = []
        for figure in self.figures:
            for interpretation in self.study.interpretations_of(figure):
                experiment = self.experiment(figure, interpretation)
                judged = replace(experiment, runs=self.claim_runs(figure))
                trials += judged.trials(interpretation)
        return sorted(trials, key=lambda trial: trial.experiment.startswith(ABLATION))

    def _flags(self, figure: str | None = None) -> list[str]:
        """Return the flags that select this part of the study, or one figure of it."""
        figures = self.figures if figure is None else (figure,)
        flags = [f"--agent {name}" for name in self.panels]  # which only `loca` has
        flags += [f"--backups {name}" for name in self.agents]
        if not flags and set(figures) != set(self.study.figures):
            flags = [f"--figure {name}" for name in figures]
        if self.asked_runs is not None:
            flags.append("--quick" if self.quick else f"--runs {self.runs}")
        return [*flags, f"--seed {self.seed}"] if self.seed else flags

    def command(self, figure: str | None = None) -> str:
        """Return the command that recomputes the results, or one figure of them."""
        return " ".join([self.study.command, *self._flags(figure)])

    @property
    def subfolder(self) -> str:
        """A name for this part of the study, such as "quick" or "figure-5a"."""
        return "-".join(flag[2:].replace(" ", "-") for flag in self._flags()) or "again"

    @property
    def warning(self) -> str:
        """A warning for readers unless all runs are there."""
        if self.provisional:
            return "first page: more runs are being computed, and replace it when they are done"
        if self.quick:
            return f"quick run: {QUICK_RUNS} runs of everything, verdicts are provisional"
        return "" if self.runs is None else f"{self.runs} runs of everything"

    def facts(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        names = ("figures", "seed", "runs", "quick", "panels", "agents")
        fields = {name: getattr(self, name) for name in names}
        return {"study": study_word(self.study.folder), **fields, "versions": versions()}


def configure_study(
    study: Study,
    figures: Sequence[str] = (),
    agents: Sequence[str] = (),
    backups: Sequence[str] = (),
    **options: Any,
) -> StudyConfig:
    """Select figures by name, and of ``loca`` agents and backup distributions.

    ``options`` are other fields of a :class:`StudyConfig`, such as ``seed``.
    """
    toml.check_known("unknown", figures, [*study.figures], "--figure")
    if (agents or backups) and study.name != LOCA:
        flag = "--agent" if agents else "--backups"
        raise ValueError(f"{flag}: only `expectant reproduce {LOCA}` can be limited to some")
    panels = [  # which are agents in loca, and the curves of a panel backup distributions
        (figure, panel.name or figure, set(panel.agents))
        for figure in study.figures
        for panel in study.experiments[figure].panels
        if not figures or figure in figures
    ]
    toml.check_known("unknown", agents, sorted({agent for _, agent, _ in panels}), "--agent")
    known = sorted({key for _, _, keys in panels for key in keys} - {"none"})
    toml.check_known("unknown", backups, known, "--backups")
    chosen = dict.fromkeys(
        figure
        for figure, agent, keys in panels
        if (not agents or agent in agents) and keys & set(backups or keys)
    )
    if not chosen:
        raise ValueError("--backups: q_learning does not plan, it has no backup distribution")
    return StudyConfig(study, tuple(chosen), panels=tuple(agents), agents=tuple(backups), **options)
