"""The keys of a spec that are not parts: how long, how often, what is recorded, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from expectant.descriptions import near_miss
from expectant.lab.cells import LENGTH, TOTAL
from expectant.lab.records import Record, record_from
from expectant.lab.specs.spec_errors import SpecError, check_rule, check_text, check_texts
from expectant.rules import Rule, whole
from expectant.seeds import SEED

SETTINGS: dict[str, Rule[int]] = {
    "episodes": whole(1),
    "steps": whole(1),
    "runs": whole(1, 2**31 - 1),  # they are numbered in 32 bits
    "bin": whole(1),
    "bins": whole(1),
    "seed": SEED,
    "step_limit": whole(1),
    "zoom": whole(1),
}
NOT_GIVEN = {"episodes": 0, "steps": 0, "step_limit": None, "zoom": None}
DEFAULTS = {"runs": 30, "bin": 1, "bins": 100, "seed": 0}
TABLES = ("domain", "features", "agents", "panels", "grid", "linked", "variants")
TEXTS = ("name", "title", "notes", "record")  # what is recorded may also be a look, a table
EPISODES = {"return": False, "length": True}  # what can be recorded, and whether it is extra
LONGEST_NAME = 100


def numbers_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """How long, how often, from which seed."""
    found = {key: check_rule(key, SETTINGS[key], value) for key, value in data.items()
             if key in SETTINGS}  # fmt: skip
    if "episodes" in found and "steps" in found:
        raise SpecError(
            f"steps: must not be given together with episodes, got {found['steps']} "
            f"and {found['episodes']}"
        )
    if "episodes" not in found and "steps" not in found:
        raise SpecError(f"episodes: is missing; it must be {SETTINGS['episodes'].text} (or steps)")
    counted, width, other = (
        ("episodes", "bin", "bins") if "episodes" in found else ("steps", "bins", "bin")
    )
    if other in found:
        raise SpecError(f"{other}: does not go with {counted}, which has {width} instead")
    if found.get(width, 1) > found[counted]:
        raise SpecError(f"{width}: must be at most {counted} ({found[counted]}), got {data[width]}")
    numbers: dict[str, Any] = {**NOT_GIVEN, **DEFAULTS, **found}
    numbers["bins"] = min(numbers["bins"], numbers["steps"]) if numbers["steps"] else 1
    return numbers


def is_folder_name(name: str) -> bool:
    """Whether results/NAME can have a name."""
    odd = not name or len(name) > LONGEST_NAME or name.startswith(".") or set(name) & set('/\\"')
    return not odd and name.isprintable()


def folder_name(value: Any) -> str:
    """A name that results/NAME can have."""
    name = check_text("name", value)
    if not is_folder_name(name):
        raise SpecError(
            f"name: must be the name of a folder, at most {LONGEST_NAME} characters, got {value!r}"
        )
    return name


def look_wanted(data: Mapping[str, Any]) -> Record | None:
    """The look that is recorded instead of returns, if one is."""
    wanted = data.get("record", [])
    tables = [item for item in wanted if isinstance(item, dict)] if _is_list(wanted) else []
    if isinstance(wanted, dict):
        wanted = tables = [wanted]
    if not tables:
        return None
    if len(wanted) > 1:
        raise SpecError(f"record: a look is recorded alone, got {wanted!r}")
    try:
        return record_from(tables[0])
    except ValueError as error:
        raise SpecError(str(error)) from None


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def curve_wanted(data: Mapping[str, Any], numbers: Mapping[str, Any]) -> str:
    """What the curve is of, where it is not returns, rewards or a look; else nothing."""
    wanted, other = data.get("record"), TOTAL if numbers["steps"] else LENGTH
    return other if wanted == [other] else ""


def wants_lengths(data: Mapping[str, Any], numbers: Mapping[str, Any]) -> bool:
    """Whether the lengths of episodes are recorded beside what always is."""
    if look_wanted(data) is not None or curve_wanted(data, numbers):
        return False
    known, first = (["reward", TOTAL], "reward") if numbers["steps"] else ([*EPISODES], "return")
    wanted = check_texts("record", data.get("record", [first]))
    for name in wanted:
        if name not in known:
            raise SpecError(f"record: unknown {name!r}" + near_miss(name, known))
    if TOTAL in wanted:
        raise SpecError(f"record: {TOTAL!r} is recorded alone, got {wanted!r}")
    if first not in wanted:
        raise SpecError(f"record: must contain {first!r}, got {wanted!r}")
    return "length" in wanted
