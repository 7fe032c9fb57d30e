"""Look for dead links in the built site: every file and every place that a page points to.

python docs/site/check.py FOLDER
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places in a page and what it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


def dead_links(folder: Path) -> list[str]:
    """What is wrong, in words."""
    pages = {path.resolve(): Page(path.read_text()) for path in folder.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if tuple(parts[:2]) != ("data", "") and parts.scheme not in (
                    "http",
                    "https",
                    "mailto",
                ):
                    found.append(f"{path.name}: {target}")
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                found.append(f"{path.relative_to(folder.resolve())}: no file {target}")
            elif (
                parts.fragment
                and there in pages
                and unquote(parts.fragment) not in pages[there].places
            ):
                found.append(f"{path.relative_to(folder.resolve())}: no place {target}")
    return sorted(set(found))


if __name__ == "__main__":
    dead = dead_links(Path(sys.argv[1]))
    print("\n".join(dead) or "no dead links")
    sys.exit(bool(dead))
