"""Studies: folders of data that say what is run, under which interpretations, and what is claimed.

``study.toml`` has the title and the source, ``claims.toml`` the claims, ``interpretations.toml``
the details that the source leaves open; every other TOML file is the config of one figure.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from expectant.core.config import allow_local_imports, suggest_name, trust_message
from expectant.core.rules import either, whole
from expectant.experiments.claims import Claim, read_claims
from expectant.experiments.config_file import Changes, Experiment, parse_config
from expectant.experiments.store import describe_origin, kind_of
from expectant.experiments.toml_tables import (
    ConfigError,
    check_known,
    in_file,
    inside,
    key,
    parse_toml,
    read_table,
    read_text,
    table,
    table_of,
    tables,
    text,
    texts,
)

STUDY, CLAIMS, INTERPRETATIONS = "study.toml", "claims.toml", "interpretations.toml"
PAPER = "kudashkina-2021"


@dataclass(frozen=True)
class DetailChoice:
    """One way to settle an open detail, and the interpretations that choose it."""

    name: str = key(text())
    interpretations: tuple[str, ...] = key(texts(), ())
    changes: Changes = key(table(Changes), Changes())
    source: str = key(text(), "")


@dataclass(frozen=True)
class Detail:
    """A detail that the source leaves open, with its choices; no ``figures``: it concerns all."""

    name: str = key(text())
    question: str = key(text(), "")
    figures: tuple[str, ...] = key(texts(), ())
    choices: tuple[DetailChoice, ...] = key(tables(DetailChoice), ())
    source: str = key(text(), "")

    def concerns(self, figure: str) -> bool:
        return not self.figures or figure in self.figures

    def choice_in(self, interpretation: str) -> DetailChoice:
        return next(choice for choice in self.choices if interpretation in choice.interpretations)


@dataclass(frozen=True)
class InterpretationsFile:
    """The keys of ``interpretations.toml``."""

    details: tuple[Detail, ...] = key(tables(Detail), ())


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """The keys of ``study.toml``.

    ``claim_runs``: runs that claims are judged by, where those are more than are drawn.
    ``only``: figures that are run under some interpretations only.
    ``worlds``: figures whose domains the report draws.
    ``unsized``: figures whose number of runs the source does not give.
    ``metrics``: modules to import. ``out``: folder of the results.
    """

    title: str = key(text(), "")
    source: str = key(text(), "")
    link: str = key(text(), "")
    notes: tuple[str, ...] = key(texts(), ())
    figures: tuple[str, ...] = key(texts(), ())
    interpretations: tuple[str, ...] = key(texts(), ("",))
    out: str = key(text(), "")
    metrics: tuple[str, ...] = key(texts(), ())
    claim_runs: Any = key(either(whole(1), table_of(whole(1))), {})
    only: Mapping[str, tuple[str, ...]] = key(table_of(texts()), {})
    worlds: tuple[str, ...] = key(texts(), ())
    unsized: tuple[str, ...] = key(texts(), ())

    def check_names(self, figures: list[str]) -> None:
        """Refuse unknown figures and interpretations."""
        if not self.interpretations:
            raise ConfigError("at least one is needed", "interpretations")
        for name in ("claim_runs", "only", "worlds", "unsized"):
            listed = getattr(self, name)
            check_known("no figure", () if isinstance(listed, int) else listed, figures, name)
        for figure, names in self.only.items():
            check_known("no interpretation", names, [*self.interpretations], "only", figure)


@dataclass(frozen=True, kw_only=True)
class Study(StudyFile):
    """A study; ``experiments`` maps its figures to their configs in the order of the report.

    ``command`` recomputes its results; ``folder_note`` says where to run it.
    """

    name: str
    folder: Path
    experiments: Mapping[str, Experiment]
    details: tuple[Detail, ...] = ()
    claims: tuple[Claim, ...] = ()
    command: str = ""
    folder_note: str = ""

    def __repr__(self) -> str:
        content = f"{len(self.experiments)} figures, {len(self.claims)} claims"
        return f"Study({self.name}: {self.title}; {content})"

    def interpretations_of(self, figure: str) -> tuple[str, ...]:
        return self.only.get(figure, self.interpretations)

    @property
    def sizes(self) -> dict[str, int | None]:
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


def packaged_studies() -> dict[str, Path]:
    """Return the folders of the studies that come with the package, by name."""
    root = Path(str(resources.files("expectant").joinpath("studies")))
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{STUDY}"))}


def find_study(name: str) -> Path:
    """Return the folder of a study: a packaged one by name, or a path."""
    folders, folder = packaged_studies(), Path(name)
    if name in folders:
        return folders[name]
    if (folder / STUDY).is_file():
        return folder
    if folder.is_dir():
        raise ConfigError(f"{folder}: is no study, it has no {STUDY}")
    raise ConfigError(f"study: unknown {name!r}" + suggest_name(name, sorted(folders)))


def read_study(folder: Path, trust: bool = False) -> Study:
    """Read the study in a folder; with ``trust``, import the modules that it names.

    Packaged studies are read once; other files may change.
    """
    is_packaged = folder.resolve() in (path.resolve() for path in packaged_studies().values())
    return (_read_packaged_study if is_packaged else _read_study)(folder, trust)


def read_paper() -> Study:
    """Read the study of the paper."""
    return read_study(packaged_studies()[PAPER])


def _read_study(folder: Path, trust: bool) -> Study:
    name = folder.resolve().name
    with in_file(folder):
        with in_file(STUDY):
            file = read_table(StudyFile, parse_toml(read_text(folder / STUDY), STUDY))
            for module in file.metrics:
                _import_module(module, trust)
        experiments = _read_experiments(folder, file.figures, trust)
        with in_file(STUDY):
            file.check_names([*experiments])
        with in_file(CLAIMS):
            claims = tuple(read_claims(_read_optional(folder / CLAIMS), experiments))
        runs = file.claim_runs
        computed = {
            "title": file.title or name,
            "figures": tuple(experiments),
            "claim_runs": dict.fromkeys(experiments, runs) if isinstance(runs, int) else runs,
            "out": file.out or f"results/{name}",
        }
        return Study(
            **{**vars(file), **computed},
            name=name,
            folder=folder,
            experiments=experiments,
            details=_read_details(folder, file.interpretations, [*experiments]),
            claims=claims,
            command="expectant reproduce" + ("" if name == PAPER else f" {study_word(folder)}"),
        )


_read_packaged_study = cache(_read_study)


def study_word(folder: Path) -> str:
    """Return the word by which commands find the study in a folder."""
    return folder.name if packaged_studies().get(folder.name) == folder else str(folder)


def study_of(experiment: Experiment, command: str, folder_note: str = "") -> Study:
    """Make a study of one config."""
    return Study(
        name=experiment.name,
        folder=Path(),
        title=experiment.title,
        figures=(experiment.name,),
        experiments={experiment.name: experiment},
        command=command,
        folder_note=folder_note,
    )


def _import_module(module: str, trust: bool) -> None:
    if module in sys.modules:
        return
    if not trust:
        raise ConfigError(trust_message(f"the module {module!r}"), "metrics")
    allow_local_imports()
    try:
        importlib.import_module(module)
    except Exception as error:  # whatever the module raises
        raise ConfigError(f"cannot import {module!r}: {error}", "metrics") from None


def config_files_in(folder: Path) -> list[Path]:
    """List the config files of a study's figures."""
    others = (STUDY, CLAIMS, INTERPRETATIONS)
    return sorted(path for path in folder.glob("*.toml") if path.name not in others)


def find_config(word: str) -> Path:
    """Find a config file: a path, a packaged study that has just one, or STUDY/CONFIG."""
    path, folders = Path(word), packaged_studies()
    study, _, name = word.partition("/")
    if path.is_dir() and word not in folders:
        is_study = (path / STUDY).is_file()
        advice = f"`expectant reproduce {word}` runs a study" if is_study else "give a config file"
        raise ConfigError(
            f"{word}: {describe_origin(path) if kind_of(path) else f'is a folder; {advice}'}"
        )
    if path.is_file() or study not in folders:
        return path
    configs = {file.stem: file for file in config_files_in(folders[study])}
    if not name and len(configs) > 1:
        raise ConfigError(f"{word}: has several configs; give {word}/NAME ({', '.join(configs)})")
    name = name or next(iter(configs))
    check_known(f"{study} has no config", [name], [*configs], word)
    return configs[name]


def _read_optional(path: Path) -> dict[str, Any]:
    return parse_toml(read_text(path), path.name) if path.exists() else {}


def _read_experiments(folder: Path, figures: tuple[str, ...], trust: bool) -> dict[str, Experiment]:
    """Read the configs of a folder by their names, in the order of ``figures`` if any are named."""
    experiments: dict[str, Experiment] = {}
    for path in config_files_in(folder):
        experiment = parse_config(read_text(path), path.name, trust=trust)
        if experiment.name in experiments:
            raise ConfigError(f"{path.name}: name: two configs are called {experiment.name!r}")
        experiments[experiment.name] = experiment
    if not experiments:
        raise ConfigError(f"has no config, a TOML file beside {STUDY}")
    with in_file(STUDY):
        check_known("no config", figures, [*experiments], "figures")
    return {name: experiments[name] for name in figures or experiments}


def _read_details(
    folder: Path, interpretations: tuple[str, ...], figures: list[str]
) -> tuple[Detail, ...]:
    data = _read_optional(folder / INTERPRETATIONS)
    with in_file(INTERPRETATIONS):
        details = read_table(InterpretationsFile, data).details
        for index, detail in enumerate(details):
            with inside("details", index):
                check_known("no figure", detail.figures, figures, "figures")
                named = [name for choice in detail.choices for name in choice.interpretations]
                check_known("no interpretation", named, [*interpretations], "choices")
                for name in interpretations:
                    if named.count(name) != 1:
                        count = named.count(name)
                        raise ConfigError(f"one must be in {name!r}, got {count}", "choices")
    return details
