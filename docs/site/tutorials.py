"""Run the code of tutorials and write them as notebooks, too.

    python docs/site/tutorials.py [NAME …]

runs the blocks of docs/tutorials/NAME.md, writes NAME.ipynb beside it with what they print and
draw, and puts the printed text into the page, as a block of text after the code. A comment such as
<!-- picture: Learning curves of … --> after code that draws is the picture's alternative text.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "tutorials"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(
    r"\s*(?:```text\n.*?^```\s*)?<!-- picture: (.*?) -->", re.MULTILINE | re.DOTALL
)
DOTS = 110  # per inch


def split_cells(text: str) -> list[tuple[str, str]]:
    """Return the page as ("markdown" or "code", text), without what code prints."""
    cells: list[tuple[str, str]] = []
    position = 0
    for block in BLOCK.finditer(text):
        if block[1] not in ("python", "text"):
            continue
        cells.append(("markdown", text[position : block.start()]))
        if block[1] == "python":
            cells.append(("code", block[2]))
        elif not (cells[-1][1].strip() == "" and len(cells) > 1 and cells[-2][0] == "code"):
            cells[-1] = ("markdown", text[position : block.end()])  # not printed by code
        position = block.end()
    cells.append(("markdown", text[position:]))
    return [(kind, source.strip()) for kind, source in cells if source.strip()]


def make_notebook(text: str) -> dict[str, Any]:
    """Run the code of a page in a temporary folder and return the notebook."""
    module = types.ModuleType("tutorial")  # where classes say that they are from
    sys.modules[module.__name__] = module
    scope, cells, count = vars(module), [], 0
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            sources = split_cells(text)
            for number, (kind, source) in enumerate(sources):
                cell: dict[str, Any] = {"cell_type": kind, "id": f"c{number}", "metadata": {}}
                if kind == "code":
                    count += 1
                    described = (
                        PICTURE.match(sources[number + 1][1]) if sources[number + 1 :] else None
                    )
                    outputs = run_cell(source, scope, described[1] if described else "a figure")
                    cell |= {"execution_count": count, "outputs": outputs}
                cells.append({**cell, "source": source.splitlines(keepends=True)})
        finally:
            sys.path.remove(folder)
            os.chdir(here)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def run_cell(source: str, scope: dict[str, Any], picture: str) -> list[dict[str, Any]]:
    """Run a cell and return its outputs: the printed text, and its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "tutorial", "exec", dont_inherit=True), scope)
        if last is not None:
            expression = ast.Expression(last.value)
            value = eval(compile(expression, "tutorial", "eval", dont_inherit=True), scope)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
    if hasattr(value, "savefig"):
        file = io.BytesIO()
        value.savefig(file, format="png", dpi=DOTS, metadata={"Software": None})
        png = base64.b64encode(file.getvalue()).decode()
        data = {"image/png": png, "text/plain": picture}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    elif value is not None:
        data = {"text/plain": repr(value)}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return outputs


def output_text(cell: dict[str, Any]) -> str:
    """Return what a code cell prints, or shows as text."""
    texts = []
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text" in output:
            texts.append("".join(output["text"]))
        elif "image/png" not in data:
            texts.append(data["text/plain"] + "\n")
    return "".join(texts)


def fill_outputs(text: str, notebook: dict[str, Any]) -> str:
    """Return the page with the printed text of its notebook."""
    cells = iter([cell for cell in notebook["cells"] if cell["cell_type"] == "code"])
    parts, position = [], 0
    after = re.compile(r"\n```text\n.*?^```\n", re.MULTILINE | re.DOTALL)
    for block in [block for block in BLOCK.finditer(text) if block[1] == "python"]:
        parts.append(text[position : block.end()])
        old = after.match(text, block.end())
        position = old.end() if old else block.end()
        if printed := output_text(next(cells)):
            parts.append(f"\n```text\n{printed.rstrip()}\n```\n")
    return "".join([*parts, text[position:]])


def stage(path: Path, folder: Path) -> None:
    """Write the page for the site, with the pictures of its notebook, and the notebook."""
    notebook = json.loads(path.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / path.name).write_bytes(path.read_bytes())
    text = path.with_suffix(".md").read_text()
    pictures = iter([cell for cell in notebook["cells"] if cell["cell_type"] == "code"])

    def with_picture(block: re.Match[str]) -> str:
        if block[1] != "python":
            return block[0]
        out = block[0]
        for output in next(pictures)["outputs"]:
            content = output.get("data", {}).get("image/png")
            if content:
                name = f"{path.stem}-{len(list(folder.glob(f'{path.stem}-*.png'))) + 1}.png"
                (folder / name).write_bytes(base64.b64decode(content))
                out += f"\n![{output['data']['text/plain']}]({name})\n"
        return out

    head, _, rest = BLOCK.sub(with_picture, text).partition("\n\n")
    note = f"[This page as a notebook]({path.name}), to open in Jupyter."
    (folder / path.with_suffix(".md").name).write_text(f"{head}\n\n{note}\n\n{rest}")


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.md"))
    for name in names:
        page = FOLDER / f"{name}.md"
        notebook = make_notebook(page.read_text())
        page.write_text(fill_outputs(page.read_text(), notebook))
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        page.with_suffix(".ipynb").write_text(text)
        print(page.with_suffix(".ipynb"))
