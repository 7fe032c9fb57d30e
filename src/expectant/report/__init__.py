"""Figures for a paper and one interactive page, drawn from plain data."""

from expectant.report.chart import Chart, chart_of, palette_of
from expectant.report.curves import draw_chart, draw_panels
from expectant.report.page import write_page
from expectant.report.palette import Palette, Style
from expectant.report.sections import (
    Adaptation,
    Animation,
    Claims,
    Curves,
    Environment,
    Glance,
    Header,
    Parameters,
    Section,
)

__all__ = [
    "Adaptation",
    "Animation",
    "Chart",
    "Claims",
    "Curves",
    "Environment",
    "Glance",
    "Header",
    "Palette",
    "Parameters",
    "Section",
    "Style",
    "chart_of",
    "draw_chart",
    "draw_panels",
    "palette_of",
    "write_page",
]
