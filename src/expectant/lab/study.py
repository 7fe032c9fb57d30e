"""A study: a folder of data that says what is run, how it may be read and what is claimed of it.

``study.toml`` has the title and the source, ``claims.toml`` the claims, ``readings.toml`` what the
source leaves open; every other TOML file is a spec, one figure of the study. The paper is one such
folder; anybody can write another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from expectant.descriptions import look_here_too, near_miss, needs_trust
from expectant.lab.claim_files import claims_in
from expectant.lab.claims import Claim
from expectant.lab.reading_files import Reading, ReadingOption, readings_in
from expectant.lab.specs.spec import Experiment, parse_spec, parse_toml, read_text
from expectant.lab.specs.spec_errors import SpecError, check_keys, check_text, check_texts
from expectant.lab.study_keys import (
    STUDY,
    JointKeys,
    ParameterKeys,
    claim_runs_in,
    figures_in,
    joint_in,
    only_in,
    parameters_in,
)

CLAIMS, READINGS = "claims.toml", "readings.toml"
KEYS = (
    "title", "source", "link", "notes", "figures", "sets", "out", "measures", "claim_runs",
    "only", "worlds", "unsized", "joint", "parameters",
)  # fmt: skip
THE_PAPER = "kudashkina-2021"


@dataclass(frozen=True)
class Study:
    """A study as it was read; ``sets`` are named choices of readings, one without a name if none.

    ``experiments`` maps every figure to its spec, in the order in which they are shown. ``command``
    makes its results, given at a ``place``, in the folder ``out`` if no other is asked for. Claims
    about a figure are judged by ``claim_runs``, where those are more than are drawn; a figure in
    ``only`` is run under some sets alone; ``worlds`` are figures whose domains the page draws;
    of those in ``unsized`` the source does not say how many runs they have. ``joint`` and
    ``parameters`` are what `expectant readings` needs for the studies of those names.
    """

    name: str
    folder: Path
    title: str
    experiments: Mapping[str, Experiment]
    source: str = ""
    link: str = ""
    notes: tuple[str, ...] = ()
    sets: tuple[str, ...] = ("",)
    readings: tuple[Reading, ...] = ()
    claims: tuple[Claim, ...] = ()
    claim_runs: Mapping[str, int] = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    worlds: tuple[str, ...] = ()
    unsized: tuple[str, ...] = ()
    joint: JointKeys | None = None
    parameters: ParameterKeys | None = None
    out: Path = field(default=Path("results"))
    command: str = ""
    place: str = ""

    def __repr__(self) -> str:
        said = f"{len(self.experiments)} figures, {len(self.claims)} claims"
        return f"Study({self.name}: {self.title}; {said})"

    def sets_of(self, figure: str) -> tuple[str, ...]:
        """The named sets that a figure is run under."""
        return self.only.get(figure, self.sets)

    @property
    def sizes(self) -> dict[str, int | None]:
        """How many runs the source's figures have, None where it does not say."""
        return {
            name: None if name in self.unsized else experiment.runs
            for name, experiment in self.experiments.items()
        }

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(self.experiments)

    @property
    def parameter_keys(self) -> ParameterKeys:
        """What it says of the source's parameter study, or an error that it says nothing."""
        if self.parameters is None:
            raise ValueError(
                f"{self.name}: its study.toml has no table [parameters], which says how long the "
                "source's parameter study is, and which claim rests on it"
            )
        return self.parameters

    def experiment(
        self, figure: str, named_set: str, *, instead: tuple[Reading, ReadingOption] | None = None
    ) -> Experiment:
        """A figure's experiment under a named set, one reading changed if ``instead`` says so."""
        experiment = self.experiments[figure]
        for reading in self.readings:
            if reading.concerns(figure):
                option = reading.chosen(named_set)
                if instead is not None and instead[0] == reading:
                    option = instead[1]
                experiment = experiment.changed(option.changes)
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
        raise SpecError(f"{folder}: is no study, it has no {STUDY}")
    figures = [figure for figure in the_paper().figures if figure.startswith(name)]
    if figures:
        options = " or ".join(f"--figure {figure}" for figure in figures)
        raise SpecError(f"study: unknown {name!r}; for a figure of the paper give {options}")
    raise SpecError(f"study: unknown {name!r}" + near_miss(name, sorted(known)))


def read_study(folder: Path, trust: bool = False) -> Study:
    """The study in a folder; a :class:`SpecError` says what is wrong with it.

    ``trust`` is for studies that are to be run: modules that they name are imported. What comes
    with the package is read once; anybody else's files may change.
    """
    ours = folder.resolve() in (path.resolve() for path in packaged().values())
    return _packaged_study(folder, trust) if ours else _read_study(folder, trust)


@cache
def _packaged_study(folder: Path, trust: bool) -> Study:
    return _read_study(folder, trust)


def _read_study(folder: Path, trust: bool) -> Study:
    try:
        data = parse_toml(read_text(folder / STUDY), STUDY)
        return _study(folder, data, trust)
    except SpecError as error:
        raise SpecError(f"{folder}: {error}") from None


def the_paper() -> Study:
    """The study of the paper."""
    return read_study(packaged()[THE_PAPER])


def _study(folder: Path, data: Mapping[str, Any], trust: bool) -> Study:
    name = folder.resolve().name
    check_keys(f"{STUDY}: ", data, KEYS)
    for module in check_texts(f"{STUDY}: measures", data.get("measures", [])):
        _import(module, trust)
    experiments = _experiments(folder, data, trust)
    sets = tuple(check_texts(f"{STUDY}: sets", data.get("sets", [])) or [""])
    claims = _claims(folder, experiments)
    return Study(
        name=name,
        folder=folder,
        title=check_text(f"{STUDY}: title", data.get("title", name)),
        experiments=experiments,
        source=check_text(f"{STUDY}: source", data.get("source", "")),
        link=check_text(f"{STUDY}: link", data.get("link", "")),
        notes=tuple(check_texts(f"{STUDY}: notes", data.get("notes", []))),
        sets=sets,
        readings=_readings(folder, sets, experiments),
        claims=claims,
        claim_runs=claim_runs_in(data, experiments),
        only=only_in(data, experiments, sets),
        worlds=figures_in("worlds", data, experiments),
        unsized=figures_in("unsized", data, experiments),
        joint=joint_in(data, experiments, claims),
        parameters=parameters_in(data, experiments, claims),
        out=Path(check_text(f"{STUDY}: out", data.get("out", f"results/{name}"))),
        command="expectant reproduce" + ("" if name == THE_PAPER else f" {word_for(folder)}"),
    )


def word_for(folder: Path) -> str:
    """A study's folder as a command names it."""
    return folder.name if packaged().get(folder.name) == folder else str(folder)


def study_of(experiment: Experiment, command: str, place: str = "") -> Study:
    """One spec as a study of its own."""
    return Study(
        experiment.name,
        Path(),
        experiment.title,
        {experiment.name: experiment},
        out=Path("results") / experiment.name,
        command=command,
        place=place,
    )


def _import(module: str, trust: bool) -> None:
    """A module with measures of somebody's own."""
    import importlib
    import sys

    if module in sys.modules:
        return
    if not trust:
        raise SpecError(f"{STUDY}: measures: {needs_trust(f'the module {module!r}')}")

    look_here_too()
    try:
        importlib.import_module(module)
    except Exception as error:  # whatever the module raises
        raise SpecError(f"{STUDY}: measures: cannot import {module!r}: {error}") from None


def specs_in(folder: Path) -> list[Path]:
    """The files of a study's specs."""
    others = (STUDY, CLAIMS, READINGS)
    return sorted(path for path in folder.glob("*.toml") if path.name not in others)


def _experiments(folder: Path, data: Mapping[str, Any], trust: bool) -> dict[str, Experiment]:
    """The specs of a folder by their names, in the order that ``figures`` says."""
    found = {}
    for path in specs_in(folder):
        experiment = parse_spec(read_text(path), path.name, trust=trust)
        if experiment.name in found:
            raise SpecError(f"{path.name}: name: two specs are called {experiment.name!r}")
        found[experiment.name] = experiment
    if not found:
        raise SpecError("has no spec, a TOML file beside study.toml")
    wanted = check_texts(f"{STUDY}: figures", data.get("figures", list(found)))
    for name in wanted:
        if name not in found:
            raise SpecError(f"{STUDY}: figures: no spec {name!r}" + near_miss(name, list(found)))
    return {name: found[name] for name in wanted}


def _readings(
    folder: Path, sets: tuple[str, ...], experiments: Mapping[str, Experiment]
) -> tuple[Reading, ...]:
    path = folder / READINGS
    if not path.exists():
        return ()
    data = parse_toml(read_text(path), READINGS)
    try:
        return tuple(readings_in(data, sets, tuple(experiments)))
    except SpecError as error:
        raise SpecError(f"{READINGS}: {error}") from None


def _claims(folder: Path, experiments: Mapping[str, Experiment]) -> tuple[Claim, ...]:
    path = folder / CLAIMS
    if not path.exists():
        return ()
    data = parse_toml(read_text(path), CLAIMS)
    try:
        return tuple(claims_in(data, experiments))
    except SpecError as error:
        raise SpecError(f"{CLAIMS}: {error}") from None
