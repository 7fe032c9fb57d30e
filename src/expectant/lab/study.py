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
from expectant.lab.specs.spec import Changes, Experiment, parse_spec, parse_toml, read_text
from expectant.lab.specs.spec_errors import (
    SpecError,
    check_keys,
    check_rule,
    check_table,
    check_tables,
    check_text,
    check_texts,
)
from expectant.rules import whole

STUDY, CLAIMS, READINGS = "study.toml", "claims.toml", "readings.toml"
KEYS = (
    "title", "source", "link", "notes", "figures", "sets", "out", "measures", "claim_runs",
    "only", "worlds", "unsized",
)  # fmt: skip
THE_PAPER = "kudashkina-2021"


@dataclass(frozen=True)
class Option:
    """One way to read an open question."""

    name: str
    sets: tuple[str, ...]
    changes: Changes
    source: str = ""


@dataclass(frozen=True)
class Reading:
    """An open question, its options, and the figures it concerns (none: all)."""

    name: str
    question: str
    figures: tuple[str, ...]
    options: tuple[Option, ...]

    def concerns(self, figure: str) -> bool:
        return not self.figures or figure in self.figures

    def chosen(self, named_set: str) -> Option:
        """The option that belongs to a named set."""
        return next(option for option in self.options if named_set in option.sets)


@dataclass(frozen=True)
class Study:
    """A study as it was read; ``sets`` are named choices of readings, one without a name if none.

    ``experiments`` maps every figure to its spec, in the order in which they are shown. ``command``
    makes its results, given at a ``place``, in the folder ``out`` if no other is asked for. Claims
    about a figure are judged by ``claim_runs``, where those are more than are drawn; a figure in
    ``only`` is run under some sets alone; ``worlds`` are figures whose domains the page draws;
    of those in ``unsized`` the source does not say how many runs they have.
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

    def experiment(
        self, figure: str, named_set: str, *, instead: tuple[Reading, Option] | None = None
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


@cache
def read_study(folder: Path, trust: bool = False) -> Study:
    """The study in a folder; a :class:`SpecError` says what is wrong with it.

    ``trust`` is for studies that are to be run: modules that they name are imported.
    """
    try:
        data = parse_toml(read_text(folder / STUDY), STUDY)
        return _study(folder, data, trust)
    except SpecError as error:
        raise SpecError(f"{folder}: {error}") from None


def spec_at(word: str) -> Path:
    """The file of a spec: a path, the name of a packaged study that has just one, or STUDY/SPEC."""
    path, known = Path(word), packaged()
    study, _, name = word.partition("/")
    if path.is_dir() and word not in known:
        raise SpecError(f"{word}: is a folder; {_specs_in_words(path)}")
    if path.is_file() or study not in known:
        return path
    specs = {spec.stem: spec for spec in _specs(known[study])}
    if name in specs:
        return specs[name]
    if name:
        raise SpecError(f"{word}: {study} has no spec {name!r}" + near_miss(name, [*specs]))
    if len(specs) > 1:
        raise SpecError(
            f"{word}: has several specs ({', '.join(specs)}); `expectant reproduce {word}` runs "
            f"its figures, {word}/{next(iter(specs))} is one spec"
        )
    return next(iter(specs.values()))


def _specs_in_words(folder: Path) -> str:
    """What to give instead of a folder."""
    if (folder / STUDY).is_file():
        return f"`expectant reproduce {folder}` runs a study"
    found = " or ".join(map(str, _specs(folder)))
    return f"give a spec in it: {found}" if found else "give a spec, there is none in it"


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
    readings = tuple(_readings(folder, sets, tuple(experiments)))
    return Study(
        name=name,
        folder=folder,
        title=check_text(f"{STUDY}: title", data.get("title", name)),
        experiments=experiments,
        source=check_text(f"{STUDY}: source", data.get("source", "")),
        link=check_text(f"{STUDY}: link", data.get("link", "")),
        notes=tuple(check_texts(f"{STUDY}: notes", data.get("notes", []))),
        sets=sets,
        readings=readings,
        claims=_claims(folder, experiments),
        claim_runs=_claim_runs(data, experiments),
        only=_only(data, experiments, sets),
        worlds=_listed("worlds", data, experiments),
        unsized=_listed("unsized", data, experiments),
        out=Path(check_text(f"{STUDY}: out", data.get("out", f"results/{name}"))),
        command="expectant reproduce" + ("" if name == THE_PAPER else f" {word_for(folder)}"),
    )


def _claim_runs(data: Mapping[str, Any], experiments: Mapping[str, Experiment]) -> dict[str, int]:
    """How many runs claims are judged by: one number for all figures, or a table of them."""
    given = data.get("claim_runs", {})
    table = given if isinstance(given, Mapping) else dict.fromkeys(experiments, given)
    _check_figures(f"{STUDY}: claim_runs", table, experiments)
    return {
        name: check_rule(f"{STUDY}: claim_runs.{name}", whole(1), runs)
        for name, runs in table.items()
    }


def _listed(
    key: str, data: Mapping[str, Any], experiments: Mapping[str, Experiment]
) -> tuple[str, ...]:
    """The figures that a key lists."""
    found = check_texts(f"{STUDY}: {key}", data.get(key, []))
    _check_figures(f"{STUDY}: {key}", dict.fromkeys(found), experiments)
    return tuple(found)


def _only(
    data: Mapping[str, Any], experiments: Mapping[str, Experiment], sets: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The sets of figures that are not run under all of them."""
    table = check_table(f"{STUDY}: only", data.get("only", {}))
    _check_figures(f"{STUDY}: only", table, experiments)
    found = {name: tuple(check_texts(f"{STUDY}: only.{name}", own)) for name, own in table.items()}
    for name, own in found.items():
        for named_set in own:
            if named_set not in sets:
                raise SpecError(
                    f"{STUDY}: only.{name}: no set {named_set!r}" + near_miss(named_set, [*sets])
                )
    return found


def _check_figures(
    where: str, table: Mapping[str, Any], experiments: Mapping[str, Experiment]
) -> None:
    for name in table:
        if name not in experiments:
            raise SpecError(f"{where}: no figure {name!r}" + near_miss(name, [*experiments]))


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


def _specs(folder: Path) -> list[Path]:
    """The files of a study's specs."""
    others = (STUDY, CLAIMS, READINGS)
    return sorted(path for path in folder.glob("*.toml") if path.name not in others)


def _experiments(folder: Path, data: Mapping[str, Any], trust: bool) -> dict[str, Experiment]:
    """The specs of a folder by their names, in the order that ``figures`` says."""
    found = {}
    for path in _specs(folder):
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


def _readings(folder: Path, sets: tuple[str, ...], figures: tuple[str, ...]) -> list[Reading]:
    path = folder / READINGS
    if not path.exists():
        return []
    data = parse_toml(read_text(path), READINGS)
    check_keys(f"{READINGS}: ", data, ["readings"])
    tables = check_tables(f"{READINGS}: readings", data.get("readings", []))
    return [
        _reading(table, f"{READINGS}: readings.{number}", sets, figures)
        for number, table in enumerate(tables)
    ]


def _reading(
    table: Mapping[str, Any], where: str, sets: tuple[str, ...], figures: tuple[str, ...]
) -> Reading:
    check_keys(f"{where}.", table, ["name", "question", "figures", "options", "source"])
    concerned = tuple(check_texts(f"{where}.figures", table.get("figures", [])))
    for figure in concerned:
        if figure not in figures:
            raise SpecError(
                f"{where}.figures: no figure {figure!r}" + near_miss(figure, [*figures])
            )
    options = tuple(
        _option(option, f"{where}.options.{number}", sets)
        for number, option in enumerate(check_tables(f"{where}.options", table.get("options", [])))
    )
    for named_set in sets:
        count = sum(named_set in option.sets for option in options)
        if count != 1:
            raise SpecError(f"{where}.options: one must be in the set {named_set!r}, got {count}")
    return Reading(
        check_text(f"{where}.name", table.get("name")),
        check_text(f"{where}.question", table.get("question", "")),
        concerned,
        options,
    )


def _option(table: Mapping[str, Any], where: str, sets: tuple[str, ...]) -> Option:
    check_keys(f"{where}.", table, ["name", "sets", "changes", "source"])
    own = tuple(check_texts(f"{where}.sets", table.get("sets", [])))
    for name in own:
        if name not in sets:
            raise SpecError(f"{where}.sets: no set {name!r}" + near_miss(name, [*sets]))
    changes = check_table(f"{where}.changes", table.get("changes", {}))
    check_keys(f"{where}.changes.", changes, ["domain", "features", "agents", "kinds"])
    source = check_text(f"{where}.source", table.get("source", ""))
    return Option(check_text(f"{where}.name", table.get("name")), own, Changes(**changes), source)


def _claims(folder: Path, experiments: Mapping[str, Experiment]) -> tuple[Claim, ...]:
    path = folder / CLAIMS
    if not path.exists():
        return ()
    try:
        return tuple(claims_in(parse_toml(read_text(path), CLAIMS), experiments))
    except SpecError as error:
        raise SpecError(f"{CLAIMS}: {error}") from None
