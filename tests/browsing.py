"""Pages in a real browser, from a file and without a network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CANDIDATES = (os.environ.get("CHROMIUM", ""), "/usr/bin/chromium", "/usr/bin/chromium-browser")
CHROMIUM = next((place for place in CANDIDATES if place and Path(place).is_file()), None)
FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium (/usr/bin/chromium, or named by $CHROMIUM)"
)


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Chromium, for the tests of one module."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """An open page, and everything that went wrong or was asked for on it."""

    def __init__(self, browser: Any, path: Path, width: int) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("requestfailed", lambda request: self.problems.append(request.url))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def _dialog(self, dialog: Any) -> None:
        self.problems.append(dialog.message)
        dialog.dismiss()
