"""Gather the sources of the site: the pages, and the reference generated from the code.

    python docs/site/gather_pages.py FOLDER

The folder has the layout of the repository, so that links between pages work. Each heading of
docs/index.md is a part of the site.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import reference
import tutorials

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
BESIDE = ("LICENSE", "CITATION.cff", "examples", "benchmarks", "src/expectant/studies")
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)]+)\) \| (.*?) \|", re.MULTILINE)


def gather(folder: Path) -> None:
    """Write everything into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in (*PAGES, *BESIDE):
        _copy(name, folder)
    shutil.copytree(
        ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("site", "*.ipynb")
    )
    for page, text in reference.pages().items():
        _write(folder / "docs/reference" / page, text)
    for notebook in sorted((ROOT / "docs/tutorials").glob("*.ipynb")):
        tutorials.stage(notebook, folder / "docs/tutorials")
    for page in folder.rglob("*.md"):
        page.write_text(remove_folder_links(page.read_text(), page.parent))
    parts = arrangement()
    (folder / "docs/index.md").unlink()
    _write(folder / "index.md", front(parts))
    shutil.copy(Path(__file__).with_name("conf.py"), folder)
    (folder / "README.md").unlink()  # its text is on the first page
    (folder / "static").mkdir()
    shutil.copy(Path(__file__).with_name("site.css"), folder / "static")
    shutil.copy(mathjax(), folder / "static")


def mathjax() -> Path:
    """Return MathJax in one file, which needs no network."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("sphinx-mathjax-offline is missing: make docs installs it")
    return Path(found.origin).parent / "static/mathjax/tex-svg.js"


def remove_folder_links(text: str, here: Path) -> str:
    """Remove links to folders, which a site cannot show, and link the contents to its front."""

    def replace(found: re.Match[str]) -> str:
        return found[1] if (here / found[2]).is_dir() else found[0]

    text = re.sub(r"\((?:\.\./)*(?:docs/)?index\.md(#[\w-]+)?\)", r"(/index.md\1)", text)
    return re.sub(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)#]+)\)", replace, text)


def arrangement() -> dict[str, list[tuple[str, str, str]]]:
    """Return the parts of the site: (name, page, question it answers) by heading."""
    text = (ROOT / "docs/index.md").read_text()
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)[1:]
    found = {head: ROW.findall(body) for head, body in zip(parts[::2], parts[1::2], strict=True)}
    made = [(title, f"reference/{page}", says) for page, title, says in reference.CONTENTS]
    return {head: [*rows, *(made if head == "Reference" else [])] for head, rows in found.items()}


def front(parts: dict[str, list[tuple[str, str, str]]]) -> str:
    """Return the first page: most of the README, and all parts with their pages."""
    out = [(ROOT / "README.md").read_text().split("\n## Use it")[0], ""]
    for head, rows in parts.items():
        out += [f"## {head}", "", "| page | answers |", "|---|---|"]
        out += [f"| [{name}](docs/{page}) | {_local(says)} |" for name, page, says in rows]
        out += ["", "```{toctree}", ":hidden:", f":caption: {head}", ""]
        out += [f"{name.strip('`')} <docs/{page.removesuffix('.md')}>" for name, page, _ in rows]
        out += ["Contributing <CONTRIBUTING>", "Changes <CHANGELOG>"] * (head == "Developers")
        out += ["```", ""]
    return "\n".join(out)


def _local(text: str) -> str:
    """Links of the contents as seen from one folder further up."""
    return re.sub(r"\]\((?![a-z]+:|#)([^)]+)\)", r"](docs/\1)", text)


def _copy(name: str, folder: Path) -> None:
    source, target = ROOT / name, folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
