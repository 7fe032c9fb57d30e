"""The report page: one self-contained HTML file, the same bytes for the same data."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from expectant.core.errors import require_extra
from expectant.core.files import write_text
from expectant.report.formatting import (
    figure_name,
    format_number,
    format_percent,
    format_two_digits,
    slug,
)
from expectant.report.palette import BAND_OPACITY, OPTIMUM_COLOUR, SWITCH_COLOUR, Palette
from expectant.report.sections import BADGES, UNKNOWN, Curves, Glance, Header, Section

SCRIPTS = ("plots.js", "trials.js")
OTHER_CLAIMS = "other-claims"
LINE = 2.0  # pixels
DIGITS = 5  # that a page has of a number
STYLE = {"band": BAND_OPACITY, "optimum": OPTIMUM_COLOUR, "break": SWITCH_COLOUR, "line": LINE}


def write_page(path: str | Path, sections: Sequence[Section], palette: Palette) -> Path:
    """Write a page as one self-contained HTML file, which can be opened without a network."""
    return write_text(Path(path), page(sections, palette))


def page(sections: Sequence[Section], palette: Palette) -> str:
    """Return the page as text; the first section is its header."""
    require_extra("a page", "report")
    first = sections[0] if sections else None
    if not isinstance(first, Header):
        raise ValueError(f"write_page: sections must begin with a Header, got {first!r}")
    shown = [section for section in sections if not section.is_empty]
    anchors = section_anchors(shown)
    with_anchors = list(zip(shown, anchors, strict=True))
    data = [
        {"kind": section.macro, **section_data}
        for section, anchor in with_anchors
        if (section_data := section.data(anchor)) is not None
    ]
    page_data = {"style": STYLE, "palette": _palette_data(palette), "sections": data}
    scripts = [_bundle()] if data else []
    if any(section.plots for section in shown):
        from plotly.offline import get_plotlyjs

        scripts.insert(0, get_plotlyjs())
    return _environment().get_template("page.html").render(
        title=first.title,
        sections=with_anchors,
        figures={s.figure: anchor for s, anchor in with_anchors if isinstance(s, Curves)},
        judged={f for section in shown if isinstance(section, Glance) for f in section.figures},
        palette=palette,
        style=_part("page.css"),
        data=page_data if data else None,
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
    )  # fmt: skip


def section_anchors(sections: Sequence[Section]) -> list[str]:
    """Return the anchor of each section; every figure may have one section only."""
    anchors: list[str] = []
    figures: set[str] = set()
    for section in sections:
        if not isinstance(section, Curves):
            anchors.append(section.macro)
            continue
        if section.figure in figures:
            raise ValueError(f"write_page: figure {section.figure!r} has more than one section")
        figures.add(section.figure)
        anchor = f"figure-{slug(section.figure)}"
        anchors.append(f"{anchor}-{len(figures)}" if anchor in anchors else anchor)
    return anchors


def _palette_data(palette: Palette) -> dict[str, Any]:
    return {
        key: {"name": style.name, "colour": style.colour, "dash": style.dashes(LINE),
              "symbol": style.symbol}
        for key, style in palette.items()
    }  # fmt: skip


@cache
def _environment() -> Any:
    """Return the environment of templates; values are escaped, and must be defined."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("expectant.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # Compact; a NaN would not be JSON.
    compact = {"separators": (",", ":"), "allow_nan": False, "default": _plain}
    environment.policies["json.dumps_kwargs"] = compact
    for show in (format_number, format_two_digits, format_percent, figure_name):
        environment.filters[show.__name__] = show
    environment.globals |= {"badges": BADGES, "unknown_badge": UNKNOWN}
    environment.globals["other_claims"] = OTHER_CLAIMS
    return environment


def _plain(array: np.ndarray) -> list[Any]:
    """Convert an array to lists of rounded numbers, None for NaN."""
    if array.dtype.kind != "f":
        return array.tolist()
    if array.ndim > 1:
        return [_plain(row) for row in array]
    return [float(f"{x:.{DIGITS}g}") if math.isfinite(x) else None for x in array.tolist()]


@cache
def _part(name: str) -> str:
    return files("expectant.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Return all scripts as one, in a scope of their own."""
    parts = "\n".join(_part(name) for name in SCRIPTS)
    return f'\n"use strict";\n(() => {{\n{parts}}})();\n'


def _hash(script: str) -> str:
    """Return the hash by which the page's policy allows a script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
