"""How every figure is drawn and written: one set of settings, the same bytes for the same data."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from expectant.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS, SCREEN_DOTS = 200, 110  # per inch
SETTINGS: Any = {  # matplotlib's releases disagree about the type of its keys
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the figure is the same everywhere
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "figure.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "lines.scale_dashes": True,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.hashsalt": "expectant",
    "svg.fonttype": "path",
}
# A date would make every file different.
UNDATED: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


@contextmanager
def own_settings() -> Iterator[None]:
    """Matplotlib with the settings of these figures, whatever the user's own are."""
    need("drawing", "show")
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def rendered(figure: Figure, kind: str, dots: int = DOTS) -> bytes:
    """The figure as a file: "png", "svg" or "pdf"."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=dots, metadata=UNDATED.get(kind, {}))
    return buffer.getvalue()
