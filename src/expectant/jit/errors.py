"""Numba's errors in one sentence: what cannot be compiled, where, and what to do."""

from __future__ import annotations

import re

from expectant.core.errors import PartError

_NO_REASON = "- Resolution failure"
_FAILED = "Failed in nopython mode pipeline"
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_RAISED = re.compile(r" ?Raised from (.+) \((\d+)\)")
_COLLECTION = re.compile(r"reflected (?P<kind>list|set)\(.* to variable '(?P<name>\w+)' in globals")
_UNSUPPORTED = {  # by words of Numba's messages, which depend on the version of Python
    "format spec in f-strings": "an f-string with a format",
    "(FORMAT_WITH_SPEC)": "an f-string with a format",
    "(STORE_GLOBAL)": "an assignment to a global: keep what changes in an array of the part",
}
_ATTRIBUTE = re.compile(r"Unknown attribute '(?P<name>\w+)' of type (?P<owner>\w+)")
_GENERATOR = "NumPyRandomGeneratorType"
_GLOBAL = re.compile(r"Untyped global name '(?P<name>\w+)': .*<class '(?P<kind>[\w.]+)'>")


def explain_error(error: Exception) -> Exception:
    """Return the error to raise in place of one of Numba's, which is to be its cause."""
    lines = [line.strip() for line in str(error).splitlines()]
    for line in lines:
        if "does not implement the verb" in line:
            return TypeError(line)
    start = max((n for n, line in enumerate(lines) if _FAILED in line), default=-1)
    inner = [line for line in lines[start + 1 :] if line and not line.startswith(_NO_REASON)]
    places = (_PLACE.search(line) or _RAISED.search(line) for line in inner)
    place = next((f" ({found[1]}, line {found[2]})" for found in places if found), "")
    return PartError(f"{_reason(inner)}{place}; as plain Python, compiled=False, it runs")


def _reason(lines: list[str]) -> str:
    """Return why it cannot be compiled, from the innermost part of Numba's message."""
    first = lines[0] if lines else "Numba gives no reason"
    unknown = _GLOBAL.search(first) or _COLLECTION.search(first)
    if unknown and unknown["kind"] == "function":
        return (
            f"{unknown['name']} is called in compiled code and is not marked for it: write "
            f"@expectant.core.verbs.function above its definition"
        )
    if unknown:
        return (
            f"the global {unknown['name']} is a {unknown['kind']}, which compiled code cannot use: "
            "make it a number, an array or a tuple of numbers"
        )
    reason = next((meaning for word, meaning in _UNSUPPORTED.items() if word in first), first)
    if missing := _ATTRIBUTE.search(first):
        reason = (
            f"{missing['name']} is no field of {missing['owner']}, and compiled code knows nothing "
            "else of it: write a function with @expectant.core.verbs.function above it"
        )
        if missing["owner"] == _GENERATOR:
            reason = (
                f"rng.{missing['name']} is not there in compiled code: draw with rng.random() or "
                "rng.integers(low, high)"
            )
    elif first.startswith("No implementation of function"):
        specific = [line for line in lines if re.match(r"\w*Error: ", line)]
        call = next((line.removeprefix(">>> ") for line in lines if line.startswith(">>>")), "")
        call = call.replace(f"{_GENERATOR}_", "rng.").replace(f"({_GENERATOR}, ", "(")
        reason = f"{call}: {specific[-1].partition(': ')[2]}" if specific else f"no {call} in Numba"
    return f"a part cannot be compiled: {_RAISED.sub('', reason).rstrip('.')}"
