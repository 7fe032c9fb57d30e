"""What goes beyond the core: which package belongs to which extra, and what to install."""

from __future__ import annotations

from importlib.util import find_spec

# the packages of every extra by the names they are imported under
EXTRAS = {
    "cli": ("typer", "rich"),
    "lab": ("pyarrow", "filelock"),
    "show": ("matplotlib", "plotly", "jinja2"),
    "gym": ("gymnasium",),
    "optuna": ("optuna",),
    "ray": ("ray",),
}


class MissingExtra(ImportError):
    """Something needs a package that is not installed."""


def missing_packages(extra: str) -> list[str]:
    """Those packages of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def require_extra(what: str, *extras: str) -> None:
    """Refuse at once, in one sentence, what needs an extra that is not installed."""
    absent = {extra: modules for extra in extras if (modules := missing_packages(extra))}
    if absent:
        names = " and ".join(module for modules in absent.values() for module in modules)
        raise MissingExtra(f"{what} needs {names}: pip install 'expectant[{','.join(absent)}]'")
