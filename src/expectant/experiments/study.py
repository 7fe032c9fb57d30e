"""A study: a folder of data that says what is run, how it may be read and what is claimed of it.

``study.toml`` has the title and the source, ``claims.toml`` the claims, ``interpretations.toml``
the details that the source leaves open; every other TOML file is the config of one figure.
"""

from __future__ import annotations

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
from expectant.experiments.results_folder import describe_origin, kind_of
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
THE_PAPER = "kudashkina-2021"


@dataclass(frozen=True)
class DetailChoice:
    """One interpretation of an open question; it belongs to some interpretations."""

    name: str = key(text())
    interpretations: tuple[str, ...] = key(texts(), ())
    changes: Changes = key(table(Changes), Changes())
    source: str = key(text(), "")


@dataclass(frozen=True)
class Detail:
    """An open question, its choices, and the figures it concerns (none: all)."""

    name: str = key(text())
    question: str = key(text(), "")
    figures: tuple[str, ...] = key(texts(), ())
    choices: tuple[DetailChoice, ...] = key(tables(DetailChoice), ())
    source: str = key(text(), "")

    def concerns(self, figure: str) -> bool:
        return not self.figures or figure in self.figures

    def choice_in(self, interpretation: str) -> DetailChoice:
        """Return the choice that belongs to an interpretation."""
        return next(choice for choice in self.choices if interpretation in choice.interpretations)


@dataclass(frozen=True)
class InterpretationsFile:
    """The keys of ``interpretations.toml``."""

    details: tuple[Detail, ...] = key(tables(Detail), ())


@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """The keys of ``study.toml``.

    An interpretation makes one choice for every open detail. Claims about a figure are judged by
    ``claim_runs``, where those are more than are drawn; a figure in ``only`` is run under some
    interpretations alone;
    ``worlds`` are figures whose domains the page draws; of those in ``unsized`` the source does not
    say how many runs they have. Results go to the folder ``out``; ``metrics`` are modules.
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
        """Refuse figures and interpretations that are named and not there."""
        if not self.interpretations:
            raise ConfigError("at least one is needed", "interpretations")
        for name in ("claim_runs", "only", "worlds", "unsized"):
            listed = getattr(self, name)
            check_known("no figure", () if isinstance(listed, int) else listed, figures, name)
        for figure, own in self.only.items():
            check_known("no interpretation", own, [*self.interpretations], "only", figure)


@dataclass(frozen=True, kw_only=True)
class Study(StudyFile):
    """A study as it was read.

    ``experiments`` maps every figure to its spec, in the order in which they are shown. ``command``
    makes its results, given at a ``place``.
    """

    name: str
    folder: Path
    experiments: Mapping[str, Experiment]
    details: tuple[Detail, ...] = ()
    claims: tuple[Claim, ...] = ()
    command: str = ""
    place: str = ""

    def __repr__(self) -> str:
        said = f"{len(self.experiments)} figures, {len(self.claims)} claims"
        return f"Study({self.name}: {self.title}; {said})"

    def interpretations_of(self, figure: str) -> tuple[str, ...]:
        """The interpretations that a figure is run under."""
        return self.only.get(figure, self.interpretations)

    @property
    def sizes(self) -> dict[str, int | None]:
        """How many runs the source's figures have, None where it does not say."""
        return {
            name: None if name in self.unsized else experiment.runs
            for name, experiment in self.experiments.items()
        }

    def experiment(
        self,
        figure: str,
        interpretation: str,
        *,
        instead: tuple[Detail, DetailChoice] | None = None,
    ) -> Experiment:
        """Return a figure's experiment under an interpretation, with one detail changed."""
        experiment = self.experiments[figure]
        for detail in self.details:
            if detail.concerns(figure):
                choice = detail.choice_in(interpretation)
                if instead is not None and instead[0] == detail:
                    choice = instead[1]
                experiment = experiment.with_changes(choice.changes)
        return experiment


def packaged() -> dict[str, Path]:
    """The studies that come with the package, by name."""
    root = Path(str(resources.files("expectant").joinpath("studies")))
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{STUDY}"))}


def find_study(name: str) -> Path:
    """The folder of a study: the name of one in the package, or a path."""
    known = packaged()
    if name in known:
        return known[name]
    folder = Path(name)
    if (folder / STUDY).is_file():
        return folder
    if folder.is_dir():
        raise ConfigError(f"{folder}: is no study, it has no {STUDY}")
    raise ConfigError(f"study: unknown {name!r}" + suggest_name(name, sorted(known)))


def read_study(folder: Path, trust: bool = False) -> Study:
    """Read the study in a folder; a :class:`ConfigError` says what is wrong with it.

    ``trust`` is for studies that are to be run: modules that they name are imported. What comes
    with the package is read once; other files may change.
    """
    ours = folder.resolve() in (path.resolve() for path in packaged().values())
    return (cached_study if ours else _read_study)(folder, trust)


def the_paper() -> Study:
    """Read the study of the paper."""
    return read_study(packaged()[THE_PAPER])


def _read_study(folder: Path, trust: bool) -> Study:
    name = folder.resolve().name
    with in_file(folder):
        with in_file(STUDY):
            file = read_table(StudyFile, parse_toml(read_text(folder / STUDY), STUDY))
            for module in file.metrics:
                _import(module, trust)
        experiments = _experiments(folder, file.figures, trust)
        with in_file(STUDY):
            file.check_names([*experiments])
        with in_file(CLAIMS):
            claims = tuple(read_claims(_data(folder, CLAIMS), experiments))
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
            details=_details(folder, file.interpretations, [*experiments]),
            claims=claims,
            command="expectant reproduce" + ("" if name == THE_PAPER else f" {word_for(folder)}"),
        )


cached_study = cache(_read_study)


def word_for(folder: Path) -> str:
    """Name a study's folder as a command does."""
    return folder.name if packaged().get(folder.name) == folder else str(folder)


def study_of(experiment: Experiment, command: str, place: str = "") -> Study:
    """Make a study of one config."""
    return Study(
        name=experiment.name,
        folder=Path(),
        title=experiment.title,
        figures=(experiment.name,),
        experiments={experiment.name: experiment},
        command=command,
        place=place,
    )


def _import(module: str, trust: bool) -> None:
    """Import a module with metrics of one's own."""
    import importlib
    import sys

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


def spec_at(word: str) -> Path:
    """Find a config file: a path, a packaged study that has just one, or STUDY/SPEC."""
    path, known = Path(word), packaged()
    study, _, name = word.partition("/")
    if path.is_dir() and word not in known:
        study_here = (path / STUDY).is_file()
        instead = f"`expectant reproduce {word}` runs a study" if study_here else "give a spec"
        raise ConfigError(
            f"{word}: {describe_origin(path) if kind_of(path) else f'is a folder; {instead}'}"
        )
    if path.is_file() or study not in known:
        return path
    specs = {spec.stem: spec for spec in config_files_in(known[study])}
    if not name and len(specs) > 1:
        raise ConfigError(f"{word}: has several specs; give {word}/SPEC ({', '.join(specs)})")
    name = name or next(iter(specs))
    check_known(f"{study} has no spec", [name], [*specs], word)
    return specs[name]


def _data(folder: Path, name: str) -> dict[str, Any]:
    """Parse a file of a study; nothing if there is none."""
    return parse_toml(read_text(folder / name), name) if (folder / name).exists() else {}


def _experiments(folder: Path, figures: tuple[str, ...], trust: bool) -> dict[str, Experiment]:
    """Read the configs of a folder by their names, in the order of ``figures`` if any are named."""
    found: dict[str, Experiment] = {}
    for path in config_files_in(folder):
        experiment = parse_config(read_text(path), path.name, trust=trust)
        if experiment.name in found:
            raise ConfigError(f"{path.name}: name: two specs are called {experiment.name!r}")
        found[experiment.name] = experiment
    if not found:
        raise ConfigError("has no spec, a TOML file beside study.toml")
    with in_file(STUDY):
        check_known("no spec", figures, [*found], "figures")
    return {name: found[name] for name in figures or found}


def _details(
    folder: Path, interpretations: tuple[str, ...], figures: list[str]
) -> tuple[Detail, ...]:
    data = _data(folder, INTERPRETATIONS)
    with in_file(INTERPRETATIONS):
        details = read_table(InterpretationsFile, data).details
        for place, detail in enumerate(details):
            with inside("details", place):
                check_known("no figure", detail.figures, figures, "figures")
                named = [name for choice in detail.choices for name in choice.interpretations]
                check_known("no interpretation", named, [*interpretations], "choices")
                for name in interpretations:
                    if named.count(name) != 1:
                        count = named.count(name)
                        raise ConfigError(f"one must be in {name!r}, got {count}", "choices")
    return details
