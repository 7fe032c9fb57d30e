"""Figures, animations and the interactive page, drawn from plain data."""

from expectant.report.chart_data import Chart, chart_of, palette_of
from expectant.report.figure import draw_chart, draw_panels
from expectant.report.page import write_page
from expectant.report.palette import Palette, Style
from expectant.report.sections import (
    Claims,
    Curves,
    Environment,
    Folded,
    Header,
    Rules,
    Section,
    Summary,
    Table,
    Worlds,
)

__all__ = [
    "Chart", "Claims", "Curves", "Environment", "Folded", "Header", "Palette", "Rules", "Section",
    "Style", "Summary", "Table", "Worlds", "chart_of", "draw_chart", "draw_panels",
    "palette_of", "write_page",
]  # fmt: skip
