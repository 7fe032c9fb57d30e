"""Figures for a paper and one interactive page, drawn from panels of learning curves."""

from expectant.report.document import FigureSection, PaperReport
from expectant.report.figures import draw_panels
from expectant.report.page import write_page
from expectant.report.style import Style, style_of

__all__ = ["FigureSection", "PaperReport", "Style", "draw_panels", "style_of", "write_page"]
