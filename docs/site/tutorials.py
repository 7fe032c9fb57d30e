"""Tutorials: pages of Markdown whose code blocks are also a notebook with its outputs.

    python docs/site/tutorials.py [NAME …]

runs the blocks of docs/tutorials/NAME.md and writes NAME.ipynb beside it, with what they print and
draw. In the page a block of text after a block of code is what that prints.
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
DOTS = 110  # per inch


def cells_of(text: str) -> list[tuple[str, str]]:
    """The page as ("markdown" or "code", text); what code prints is left out."""
    found: list[tuple[str, str]] = []
    position = 0
    for block in BLOCK.finditer(text):
        if block[1] not in ("python", "text"):
            continue
        found.append(("markdown", text[position : block.start()]))
        if block[1] == "python":
            found.append(("code", block[2]))
        elif not (found[-1][1].strip() == "" and len(found) > 1 and found[-2][0] == "code"):
            found[-1] = ("markdown", text[position : block.end()])  # a text that nothing printed
        position = block.end()
    found.append(("markdown", text[position:]))
    return [(kind, source.strip()) for kind, source in found if source.strip()]


def notebook_of(text: str) -> dict[str, Any]:
    """The page as a notebook; its code is run in a folder that is thrown away."""
    module = types.ModuleType("tutorial")  # where classes say that they are from
    sys.modules[module.__name__] = module
    scope, cells, count = vars(module), [], 0
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            for number, (kind, source) in enumerate(cells_of(text)):
                cell: dict[str, Any] = {"cell_type": kind, "id": f"c{number}", "metadata": {}}
                if kind == "code":
                    count += 1
                    cell |= {"execution_count": count, "outputs": executed(source, scope)}
                cells.append({**cell, "source": source.splitlines(keepends=True)})
        finally:
            sys.path.remove(folder)
            os.chdir(here)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def executed(source: str, scope: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell as a notebook would: what it prints, and what its last expression shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "tutorial", "exec", dont_inherit=True), scope)
        if last is not None:
            expression = ast.Expression(last.value)
            value = eval(compile(expression, "tutorial", "eval", dont_inherit=True), scope)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        data = shown(value)
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    return found


def shown(value: Any) -> dict[str, Any]:
    """A value as a notebook shows it: a picture if it is a figure, else its text."""
    if hasattr(value, "savefig"):
        file = io.BytesIO()
        value.savefig(file, format="png", dpi=DOTS, metadata={"Software": None})
        return {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": "a figure"}
    return {"text/plain": repr(value)}


def printed_by(notebook: dict[str, Any]) -> list[str]:
    """What the code cells of a notebook print, or show as text."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text" in output:
                found.append("".join(output["text"]))
            elif "image/png" not in data:
                found.append(data["text/plain"] + "\n")
    return found


def with_outputs(text: str, notebook: dict[str, Any]) -> str:
    """The page with blocks of text as its notebook has them."""
    outputs = iter([cell for cell in notebook["cells"] if cell["cell_type"] == "code"])
    out, position = [], 0
    blocks = [block for block in BLOCK.finditer(text) if block[1] == "python"]
    for block in blocks:
        out.append(text[position : block.end()])
        position = block.end()
        after = re.compile(r"\n```text\n.*?^```\n", re.MULTILINE | re.DOTALL).match(text, position)
        position = after.end() if after else position
        said = "".join(printed_by({"cells": [next(outputs)]}))
        if said:
            out.append(f"\n```text\n{said.rstrip()}\n```\n")
    return "".join([*out, text[position:]])


def stage(path: Path, folder: Path) -> None:
    """The page for the site: with the pictures of its notebook, and the notebook to download."""
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
                out += f"\n![]({name})\n"
        return out

    head, _, rest = BLOCK.sub(with_picture, text).partition("\n\n")
    note = f"[This page as a notebook]({path.name}), to open in Jupyter."
    (folder / path.with_suffix(".md").name).write_text(f"{head}\n\n{note}\n\n{rest}")


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.md"))
    for name in names:
        page = FOLDER / f"{name}.md"
        made = notebook_of(page.read_text())
        page.write_text(with_outputs(page.read_text(), made))
        text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
        page.with_suffix(".ipynb").write_text(text)
        print(page.with_suffix(".ipynb"))
