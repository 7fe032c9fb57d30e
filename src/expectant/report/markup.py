"""HTML in which everything is escaped unless it was made here."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any


class Html(str):
    """Text that is HTML already; any other text is escaped when it is put inside an element."""

    __slots__ = ()


def markup(part: object) -> Html:
    """Make HTML of anything: HTML as it is, lists part by part, all else escaped."""
    if isinstance(part, Html):
        return part
    if isinstance(part, list | tuple):
        return Html("".join(markup(inner) for inner in part))
    return Html(html.escape(str(part)))


def element(tag: str, *children: object, **attributes: object) -> Html:
    """An element; ``class_`` and ``data_agent`` are written class and data-agent.

    >>> element("a", "1 < 2", href="#x")
    '<a href="#x">1 &lt; 2</a>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{written}>{markup(children)}</{tag}>")


def table(rows: Iterable[tuple[Any, Any]], label: str) -> Html:
    """Names and values in two columns, in a box that scrolls by itself when it is too wide."""
    body = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in rows
    ]
    return scrolling(element("table", element("tbody", body), class_="pairs"), label)


def scrolling(content: Html, label: str) -> Html:
    # With a tab index and a name the box can be scrolled from the keyboard.
    return element("div", content, class_="scrolling", tabindex=0, role="region", aria_label=label)


def slug(text: object) -> str:
    """Letters and digits of a text, for an address within the page.

    >>> slug("5a (left)")
    '5a-left'
    """
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "x"


def script_json(data: object) -> Html:
    """Compact JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)
