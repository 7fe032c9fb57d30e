"""The report page: one self-contained HTML file, the same bytes for the same data."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from expectant.core.errors import require_extra
from expectant.core.files import write_text
from expectant.report.formatting import format_estimate, format_number, format_percent
from expectant.report.palette import Palette
from expectant.report.sections import BADGES, UNKNOWN, Curves, Header, Section

SCRIPTS = ("charts.js", "figures.js")
DIGITS = 4  # that a page has of a number


def write_page(path: str | Path, sections: Sequence[Section], palette: Palette) -> Path:
    """Write a page as one self-contained HTML file, which can be opened without a network."""
    return write_text(Path(path), page(sections, palette))


def page(sections: Sequence[Section], palette: Palette) -> str:
    """Return the page as text; one of the sections is its header."""
    require_extra("a page", "report")
    filled = [section for section in sections if not section.is_empty]
    curves = [section for section in _flatten(filled) if isinstance(section, Curves)]
    data = [section.data() for section in curves if section.chart.plots]
    styles = {key: style._asdict() for key, style in palette.items()}
    script = _script() if data else ""
    return render(
        "page.html",
        title=next(section.title for section in sections if isinstance(section, Header)),
        sections=filled,
        figures={section.figure: section.anchor for section in curves},
        palette=palette,
        style=_part("page.css"),
        data={"palette": styles, "figures": data} if data else None,
        script=script,
        script_hash=hashlib.sha256(script.encode()).digest(),
    )  # fmt: skip


def _flatten(sections: Sequence[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _flatten(getattr(section, "parts", ()))


def render(template: str, **values: Any) -> str:
    """Fill in a template; values are escaped, and all must be there."""
    return str(_environment().get_template(template).render(values))


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("expectant.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # Compact; a NaN would not be JSON.
    compact = {"separators": (",", ":"), "allow_nan": False, "default": _plain}
    environment.policies["json.dumps_kwargs"] = compact
    for show in (format_number, format_percent, encode_base64):
        environment.filters[show.__name__] = show
    environment.globals |= {"badges": BADGES, "unknown_badge": UNKNOWN, "estimate": format_estimate}
    return environment


def encode_base64(data: bytes) -> str:
    """Encode bytes as text."""
    return base64.b64encode(data).decode()


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
def _script() -> str:
    """Return all scripts as one, in a scope of their own."""
    parts = "\n".join(_part(name) for name in SCRIPTS)
    return f'\n"use strict";\n(() => {{\n{parts}}})();\n'
