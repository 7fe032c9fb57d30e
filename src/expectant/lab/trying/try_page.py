"""The page of what was tried, and the spec beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from expectant.analysis.curves import learning_curve
from expectant.analysis.panel import Level, Panel
from expectant.files import write_text
from expectant.lab.store.facts import versions
from expectant.lab.store.folder_layout import TRY, mark
from expectant.lab.trying.rounds import NAMES
from expectant.lab.trying.tried import Tried
from expectant.lab.trying.words import bounds_in_brief, features_in_brief

POINTS = 40  # of a curve


def write_folder(tried: Tried, folder: Path) -> None:
    """The page ``report.html``, and ``spec.toml`` where there is one."""
    from expectant.show import Curves, Environment, Header, Parameters, Table, chart_of, palette_of
    from expectant.show import write_page as write

    mark(folder, TRY)
    spec = tried.spec()
    notes = tried.findings()
    if spec is not None:
        write_text(folder / "spec.toml", spec)
        notes.append(f"To go on: expectant run {folder / 'spec.toml'}")
    panel = _panel(tried)
    tables = [
        (f"{NAMES[key]} ({'as it is made' if each.default else 'steps searched'})",
         [(name, str(value)) for name, value in each.settings.items()])
        for key, each in tried.agents.items()
    ]  # fmt: skip
    facts = [
        ("features", features_in_brief(tried.features)),
        ("bounds", bounds_in_brief(tried.features)),
        ("minutes promised", f"{tried.minutes:g}"),
    ]
    sections = [
        Header(f"What can be learned in {tried.environment}", "", notes),
        *([Curves("1", "Fresh runs", chart_of([panel]))] if tried.agents else []),
        Table("All agents", tried.HEADS, tried.rows()),
        Parameters(tables, (), tried.command),
        Environment([*filter(_is_known, facts), *versions().items(), ("seed", tried.seed)]),
    ]
    write(folder / "report.html", sections, palette_of([panel]))


def _is_known(fact: tuple[str, str]) -> bool:
    return bool(fact[1])


def _panel(tried: Tried) -> Panel:
    """The learning curves, with the mean of random play as a line."""
    size = max(1, tried.episodes // POINTS)
    whole = tried.episodes // size * size
    return Panel(
        figure="1",
        panel="",
        reading="",
        bin=size,
        switch_every=None,
        optimum=float("nan"),
        curves={
            key: learning_curve(each.returns[:, :whole], size) for key, each in tried.agents.items()
        },
        labels={key: NAMES[key] for key in tried.agents},
        levels=(Level(0.0, float(whole), float(np.mean(tried.random)), "random play"),),
    )
