"""Every block of Python in the documentation runs, and prints what the page says it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from each_in_a_process import run_file
from test_docs import BLOCK, DOCS, PAGES, README, ROOT

PYTHON_PAGES = [page for page in PAGES if "\n```python\n" in page.read_text("utf-8")]
COMPILED = {  # enough runs to show something, or what is shown is compiling; the others are short
    *(DOCS / f"{name}.md" for name in ("own-parts", "experiments", "features", "quickstart")),
    *(DOCS / f"{name}.md" for name in ("domains", "textbook")),
    *(DOCS / "tutorials").glob("*.md"),
    README,
}
# Blocks of which a reader wants the whole and a test only that it runs; none has its output shown.
# What is tried for a few seconds must not spend them on loading Gymnasium on a busy machine.
CHANGED = {
    "docs/try.md": [("found = ", "ex.FiniteMDP.from_gym('FrozenLake-v1')\nfound = ")],
    "docs/what-holds.md": [("episodes=6_000, runs=10", "episodes=10, runs=2"), ("-1_500:", "-5:")],
}
MARK = "\x1e"  # between the outputs of blocks


def code_and_output(page: Path) -> list[tuple[str, str | None]]:
    """The blocks of Python of a page, each with the text that stands right below it."""
    text = page.read_text("utf-8")
    found: list[tuple[str, str | None]] = []
    end = -1  # of the last block, if that was Python
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            found.append((block[2], None))
            end = block.end()
            continue
        if block[1] == "text" and end >= 0 and not text[end : block.start()].strip():
            found[-1] = (found[-1][0], block[2])
        end = -1
    return found


def changed(page: Path, code: str) -> str:
    """The code of a page as a test runs it."""
    for shown, run in CHANGED.get(str(page.relative_to(ROOT)), []):
        assert shown in code, f"{page.name} has no {shown!r} any more"
        code = code.replace(shown, run)
    return code


def without_times(text: str) -> str:
    """What a result says of itself, but for how long it took."""
    return re.sub(r"[\d.]+ s\)$", "… s)", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    """One after the other, as a reader would who copies them."""
    if page not in COMPILED:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    pairs = code_and_output(page)
    code = f"\nprint({MARK!r}, end='')\n".join(code for code, _ in pairs)
    file = tmp_path / "page.py"
    file.write_text(changed(page, code), "utf-8")
    done = run_file(file, tmp_path, strict=True)
    assert done.status == 0, done.errors
    printed = done.output.split(MARK)
    assert len(printed) == len(pairs)
    for (_, shown), found in zip(pairs, printed, strict=True):
        if shown is not None:
            assert without_times(found) == without_times(shown)
