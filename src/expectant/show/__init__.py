"""Figures for a paper and one interactive page, drawn from plain data."""

from expectant.show.chart import Chart, chart_of, palette_of
from expectant.show.page import write_page
from expectant.show.palette import Palette, Style
from expectant.show.sections import (
    Adaptation,
    Claims,
    Curves,
    Environment,
    Glance,
    Header,
    Parameters,
    Section,
    Table,
    Worlds,
)
from expectant.show.static_curves import draw_chart, draw_panels
from expectant.show.worlds import draw_world, world_picture

__all__ = [
    "Adaptation",
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
    "Table",
    "Worlds",
    "chart_of",
    "draw_chart",
    "draw_panels",
    "draw_world",
    "palette_of",
    "world_picture",
    "write_page",
]
