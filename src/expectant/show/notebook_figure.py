"""A figure that shows itself in notebooks."""

from __future__ import annotations

from matplotlib.figure import Figure

from expectant.show.rendering import SCREEN_DOTS, own_settings, rendered


class NotebookFigure(Figure):
    """A figure that a notebook shows whether or not matplotlib's own support for it is on."""

    def _repr_png_(self) -> bytes:
        with own_settings():
            return rendered(self, "png", SCREEN_DOTS)
