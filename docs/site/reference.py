"""Generate the reference from the code: components with parameters, functions, verbs, commands."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import expectant
from expectant import extend
from expectant.cli.catalogue import GROUPS, catalogue
from expectant.core import verbs
from expectant.core.config import PARAMETERS_HEADING, Config

MODULES = {
    "exact": "Exact answers",
    "analysis": "Statistics",
    "core.updates": "Published updates",
    "extend": "Helpers for components",
}
PARTLY = (expectant, extend)  # whose verbs have a page of their own
PURPOSES = {  # of the names that are public, and the pages that have them
    "Run, compare, evaluate": ("python",),
    "Compose an experiment": ("domains", "features", "agents", "models", "backups", "step-sizes",
                              "options", "values"),
    "Solve exactly, analyse": ("exact", "analysis"),
    "Write your own components": ("verbs", "extend", "core.updates"),
}  # fmt: skip
CONTENTS = [
    ("api.md", "API", "every public name, grouped by purpose"),
    ("commands.md", "Command line", "every command with its options"),
]


def _file(group: str) -> str:
    return f"{group.replace(' ', '-').replace('_', '-')}.md"


def pages() -> dict[str, str]:
    """Return all pages of the reference by name."""
    made = {_file(group): parts_page(group) for group in GROUPS}
    made["python.md"] = names_page(expectant, "Functions and results", "ex")
    for name, title in MODULES.items():
        module = importlib.import_module(f"expectant.{name}")
        made[f"{name}.md"] = names_page(module, title, f"ex.{name}")
    made["verbs.md"] = names_page(verbs, "Verbs", "ex.extend")
    made["api.md"] = overview(made)
    made["commands.md"] = commands_page()
    return made


def overview(made: dict[str, str]) -> str:
    """Return the page that lists all names by purpose, with the other pages below it."""
    out = [
        "# API",
        "",
        "Every public name, grouped by purpose. `import expectant as ex` first.",
        "",
    ]
    for purpose, files in PURPOSES.items():
        out += [f"## {purpose}", ""]
        for file in files:
            title, *sections = re.split(r"^#+ (?=\S)", made[f"{file}.md"], flags=re.MULTILINE)[1:]
            names = [section.partition("\n")[0] for section in sections]
            links = [f"[{name}]({file}.md#{slug(name)})" for name in names]
            out += [f"**[{title.partition(chr(10))[0]}]({file}.md)**: {', '.join(links)}", ""]
    out += ["```{toctree}", ":hidden:", ""]
    out += [file for files in PURPOSES.values() for file in files]
    return "\n".join([*out, "```", ""])


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def parts_page(group: str) -> str:
    """Return the page of all components of a group."""
    out = [f"# {group.capitalize()}", "", "`expectant show NAME` prints the same.", ""]
    for entry in catalogue():
        if entry["group"] != group:
            continue
        short = f', or `"{entry["short"]}"` in an agent' if entry["short"] else ""
        out += [f"## {entry['title']}", "", f'`kind = "{entry["kind"]}"` in a config{short}.', ""]
        out += [prose(entry["text"]), ""]
        if entry["parameters"]:
            out += ["| parameter | meaning | values |", "|---|---|---|"]
            out += [_option(option) for option in entry["parameters"]]
            out.append("")
    return "\n".join(out)


def _option(option: dict[str, Any]) -> str:
    default = "required" if option["required"] else f"default {_value(option['default'])}"
    values = f"{cell(option['rule'])}; {default}"
    return f"| `{option['name']}` | {cell(option['meaning'])} | {values} |"


def _value(value: Any) -> str:
    text = repr(value)
    return code(text if len(text) < 60 else f"{text[:57]}...")


def names_page(module: Any, title: str, prefix: str) -> str:
    """Return the page of a module; components and verbs have pages of their own."""
    out = [f"# {title}", "", prose(module.__doc__ or ""), ""]
    listed = getattr(module, "__all__", None) or [key for key in vars(module) if key[0] != "_"]
    for name in listed:
        thing = getattr(module, name)
        is_ours = callable(thing) and getattr(thing, "__module__", "").startswith("expectant")
        is_component = isinstance(thing, type) and issubclass(thing, Config)
        is_verb = hasattr(thing, "implementations")
        elsewhere = is_verb or (is_component and module is expectant)
        if is_verb if module is verbs else is_ours and not (elsewhere and module in PARTLY):
            out += section(f"{prefix}.{name}", thing)
    return "\n".join(out)


def commands_page() -> str:
    """Return the page of all commands."""
    from typer.main import get_command

    from expectant.cli import app

    program: Any = get_command(app)
    out = ["# Command line", "", prose(program.help or ""), ""]
    for name, command in program.commands.items():
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        words = " ".join(p.name.upper() for p in arguments)
        out += [f"## expectant {name}", "", code(f"expectant {name} {words}".strip()), ""]
        out += [prose(command.help or ""), "", "| option | meaning | default |", "|---|---|---|"]
        for parameter in command.params:
            spelled = (
                ", ".join(parameter.opts) if parameter not in arguments else parameter.name.upper()
            )
            out.append(f"| `{spelled}` | {cell(parameter.help or '')} | {_default(parameter)} |")
        out.append("")
    return "\n".join(out)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    return "" if value is None or value is False or callable(value) else code(str(value))


def section(name: str, thing: Any) -> list[str]:
    """Return heading, signature and docstring of a function or class, and of its methods."""
    lines = textwrap.wrap(signature(name, thing), 96, subsequent_indent="    ")
    out = [f"## {name}", "", "```python", *lines, "```", ""]
    text = (inspect.getdoc(thing) or "").partition(PARAMETERS_HEADING)[0]
    out += [prose(text), ""]
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return out
    for key, method in methods(thing):
        out += [f"`{signature(f'.{key}', method)}`", f": {first_paragraph(method)}", ""]
    return out


def methods(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class defines itself."""
    for key, method in vars(thing).items() if isinstance(thing, type) else ():
        if key[0] != "_" and (callable(method) or isinstance(method, property | classmethod)):
            yield key, method


def signature(name: str, thing: Any) -> str:
    """Return the signature without types."""
    if isinstance(thing, property):
        return name
    thing = getattr(thing, "__func__", thing)
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return f"{name}(…)"
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
    text = f"{name}{found.replace(parameters=plain, return_annotation=found.empty)}"
    return re.sub(r"=<[^<>]*>", "=…", text)  # a default that has no literal


def first_paragraph(thing: Any) -> str:
    return " ".join(prose((inspect.getdoc(thing) or "").split("\n\n")[0]).split()) or "…"


def cell(text: str) -> str:
    return prose(text).replace("\n", " ").replace("|", "\\|")


def code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|").replace("\n", " ")


def prose(text: str) -> str:
    """Convert a docstring to Markdown: literals, examples, terms with an indented text."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", inspect.cleandoc(text))
    text = re.sub(r"``([^`]*)``", r"`\1`", text).replace("::\n", ":\n")
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if not lines:
        return ""
    if text.lstrip().startswith(">>>"):
        return "\n".join(["```pycon", *(line.strip() for line in lines), "```"])
    if all(line.startswith("    ") for line in lines if line):
        return "\n".join(["```text", *(line[4:] for line in lines), "```"])
    return "\n\n".join(_terms(lines))


def _terms(lines: Iterable[str]) -> Iterator[str]:
    """Yield paragraphs; a line above an indented text becomes bold."""
    found: list[str] = []
    inside = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not inside and found:
            *before, head = found
            if before:
                yield _escape(" ".join(before))
            found = [f"**{head.strip()}**:"]
        elif not indented and inside:
            yield _escape(" ".join(found))
            found = []
        inside = indented
        found.append(line.strip())
    if found:
        yield _escape(" ".join(found))


def _escape(text: str) -> str:
    """Escape tags and links outside literals."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [part.replace("<", "\\<").replace("[", "\\[") for part in parts[::2]]
    return "".join(parts)
