"""Where the spec is that a command names: a file, or a study of the package."""

from __future__ import annotations

from pathlib import Path

from expectant.descriptions import near_miss
from expectant.lab.specs.spec_errors import SpecError
from expectant.lab.store.folder_layout import about, kind_of
from expectant.lab.study import packaged, specs_in
from expectant.lab.study_keys import STUDY


def spec_at(word: str) -> Path:
    """The file of a spec: a path, the name of a packaged study that has just one, or STUDY/SPEC."""
    path, known = Path(word), packaged()
    study, _, name = word.partition("/")
    if path.is_dir() and word not in known:
        raise SpecError(f"{word}: {_instead_of(path)}")
    if path.is_file() or study not in known:
        return path
    specs = {spec.stem: spec for spec in specs_in(known[study])}
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


def _instead_of(folder: Path) -> str:
    """What to give instead of a folder."""
    if (folder / STUDY).is_file():
        return f"is a folder; `expectant reproduce {folder}` runs a study"
    if kind_of(folder):
        return about(folder)
    found = " or ".join(map(str, specs_in(folder)))
    return "is a folder; give a spec" + (f" in it: {found}" if found else ", there is none in it")
