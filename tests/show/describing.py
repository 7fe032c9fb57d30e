"""A drawing as lines of text: every stroke, letter and colour, where it is and what it looks like.

Read from what was asked of matplotlib, not from pixels, so that its releases agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

FEW = 6  # points of a line that are all written


def described(figure: Figure) -> str:
    """What a figure shows, part by part."""
    return "\n".join([*_figure(figure), *(line for axes in figure.axes for line in _axes(axes))])


def _figure(figure: Figure) -> Iterator[str]:
    yield f"figure {_few(figure.get_size_inches())} dpi {_few(figure.dpi)}"
    for text in figure.texts:  # matplotlib finds their places
        yield f"  {text.get_text()!r} {_few(text.get_fontsize())} {text.get_fontweight()}"
    for legend in figure.legends:
        yield from _legend(legend)


def _legend(legend: Any) -> Iterator[str]:
    spaces = legend.handlelength, legend.columnspacing, legend.labelspacing, legend.handletextpad
    yield f"  legend columns {legend._ncols} frame {legend.get_frame_on()} spaces {_few(spaces)}"
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        yield f"    {text.get_text()!r}: {_look(handle)}"


def _axes(axes: Any) -> Iterator[str]:
    place = axes.get_subplotspec()
    where = "" if place is None else f" {place.get_gridspec().get_geometry()}"
    ratios = None if place is None else place.get_gridspec().get_height_ratios()
    yield f"axes{where} heights {_few(ratios)} shown {axes.axison} aspect {axes.get_aspect()}"
    yield f"  x {_few(axes.get_xlim())} {axes.get_xscale()} {axes.get_xlabel()!r}"
    yield f"  y {_few(axes.get_ylim())} {axes.get_yscale()} {axes.get_ylabel()!r}"
    yield f"  title {axes.get_title()!r} left {axes.get_title(loc='left')!r}"
    yield f"  ground {_colour(axes.get_facecolor())}"
    if axes.get_label() == "<colorbar>":  # matplotlib draws what is in it
        return
    for axis in (axes.xaxis, axes.yaxis):
        locator, shown = axis.get_major_locator(), axis.get_ticklabels()
        kind = type(locator).__name__
        most = getattr(locator, "_nbins", None), getattr(locator, "_integer", None)
        ticks = [(text.get_text(), text.get_rotation(), text.get_ha()) for text in shown]
        yield f"  ticks {kind} {most} {ticks if kind == 'FixedLocator' else ''}".rstrip()
    for line in axes.lines:
        yield f"  line {_points(line.get_xydata())} {_look(line)}"
    for collection in axes.collections:
        yield f"  {_collection(collection)}"
    for patch in axes.patches:
        box = patch.get_path().get_extents(patch.get_patch_transform())
        yield f"  {type(patch).__name__} {_few(box.extents)} {_look(patch)}"
    for image in axes.images:
        colours = image.get_cmap()
        numbers = np.ma.filled(image.get_array().astype(float), np.nan)
        yield (
            f"  image {image.origin} {_few(image.get_extent())} {_few(image.get_clim())} "
            f"{colours.name if colours.N > 20 else [_colour(c) for c in colours.colors]} "
            f"{_points(numbers)}"
        )
    for text in axes.texts:
        yield _text(text)
    if axes.get_legend() is not None:
        yield from _legend(axes.get_legend())


def _text(text: Any) -> str:
    box, arrow = text.get_bbox_patch(), getattr(text, "arrow_patch", None)
    found = (
        f"  text {text.get_text()!r} {_few(text.get_position())} {text.get_ha()} {text.get_va()} "
        f"{_few(text.get_fontsize())} {text.get_fontweight()} {_colour(text.get_color())} "
        f"layer {text.get_zorder()} laid {text.get_in_layout()}"
    )
    if text._linespacing not in ("normal", 1.2):  # what it is where nobody says
        found += f" spaces {_few(text._linespacing)}"
    if hasattr(text, "xy"):
        found += f" at {_few(text.xy)} clip {text.get_annotation_clip()}"
    if box is not None:
        found += f" box {_colour(box.get_facecolor())} {_few(box.get_boxstyle().pad)}"
    if arrow is not None:
        style = type(arrow.get_arrowstyle()).__name__
        bend = getattr(arrow.get_connectionstyle(), "rad", 0.0)
        found += f" arrow {style} {_look(arrow)} bent {_few(bend)} {_few((arrow.shrinkA, arrow.shrinkB))}"
    return found + "".join(f" around {effect._gc}" for effect in text.get_path_effects())


def _collection(collection: Any) -> str:
    kind = type(collection).__name__
    if kind == "Quiver":
        look = collection.width, collection.headwidth, collection.headlength
        arrows = np.stack([collection.X, collection.Y, collection.U, collection.V], axis=1)
        more = collection.headaxislength, collection.minlength, collection.scale
        ways = f"{collection.angles} {collection.units} {collection.scale_units} {collection.pivot}"
        return f"{kind} {_points(arrows)} {_few(look)} {_few(more)} {ways} {_look(collection)}"
    paths = [path.vertices for path in collection.get_paths()]
    shown = (
        [_points(path) for path in paths] if len(paths) <= FEW else _points(np.concatenate(paths))
    )
    return f"{kind} {shown} {_look(collection)}"


def _look(artist: Any) -> str:
    found = [f"layer {artist.get_zorder()}"]
    if artist.get_alpha() is not None:
        found.append(f"alpha {_few(artist.get_alpha())}")
    if hasattr(artist, "get_marker"):
        dashes = _few(artist._unscaled_dash_pattern[1])
        found.append(f"{_colour(artist.get_color())} {_few(artist.get_linewidth())} dash {dashes}")
        if artist.get_marker() not in ("None", None, ""):
            edge = _colour(artist.get_markeredgecolor()), artist.get_markeredgewidth()
            fill = _colour(artist.get_markerfacecolor())
            size = _few(artist.get_markersize())
            found.append(f"{artist.get_marker()} {size} {fill} {edge[0]} {_few(edge[1])}")
        if artist.get_linestyle() in ("None", None, ""):
            found.append("no line")
    else:
        found.append(f"{_colour(artist.get_facecolor())} {_colour(artist.get_edgecolor())}")
        dashes = artist.get_linestyle()
        told = dashes if isinstance(dashes, str) else [_few(dash) for _, dash in dashes]
        found.append(f"{_few(artist.get_linewidth())} {told}")
    return " ".join([*found, *([] if artist.get_clip_on() else ["beyond the axes"])])


def _colour(colour: Any) -> str:
    if isinstance(colour, str):
        return to_hex(colour).lower() if colour != "none" else colour
    table = np.atleast_2d(colour)
    return to_hex(table[0], keep_alpha=True).removesuffix("ff") if table.size else "none"


def _points(points: Any) -> str:
    """All of a few numbers; of many their size, their sums along both axes and the first ones."""
    table = np.atleast_2d(np.asarray(points, float))
    if len(table) <= FEW and table.shape[1] <= FEW:
        return " ".join(_few(row) for row in table)
    sums = _few(np.nansum(table, axis=0)), _few(np.nansum(table * np.arange(len(table))[:, None]))
    return f"{table.shape} sums {sums[0]} {sums[1]} first {_few(table[0, :FEW])}"


def _few(numbers: Any) -> str:
    """Numbers with five digits, no minus before a zero."""
    if numbers is None:
        return "none"
    rounded = [f"{float(one):.5g}" for one in np.atleast_1d(np.asarray(numbers, float))]
    return f"({', '.join('0' if one == '-0' else one for one in rounded)})"
