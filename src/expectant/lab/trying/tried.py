"""The outcome of ``ex.try_on``: sentences, JSON, a page, and a spec to go on from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from expectant import formatting as tables
from expectant.analysis.curves import interval, learning_curve
from expectant.analysis.judging import paired_difference
from expectant.analysis.panel import Level, Panel
from expectant.features.wrappers import Joined
from expectant.files import write_text
from expectant.lab.specs.toml import to_toml
from expectant.lab.store.folder import TRY, mark, versions
from expectant.parts import Agent, Domain, Features
from expectant.step_sizes import StepSize

NAMES = {
    "q_learning": "Q-learning",
    "lookahead": "Algorithm 1",
    "cached_values": "Algorithm 2",
    "sarsa": "Sarsa(λ)",
    "cached_policy": "Algorithm 3",
}
PLANNERS = ("lookahead", "cached_values", "cached_policy")
STEPS = ("value_step", "action_step", "policy_step", "model_step")
SETTINGS = (*STEPS, "trace", "model", "planning_steps", "step_unit", "epsilon", "discount")
POINTS = 40  # of a curve on the page


@dataclass(frozen=True, eq=False)
class Confirmed:
    """An agent on fresh runs: ``returns`` (runs, episodes), and the ``steps`` that they took.

    ``evicted`` is how many entries its model dropped because it was full.
    """

    agent: Agent
    default: bool
    returns: np.ndarray = field(repr=False)
    steps: int
    evicted: int = 0

    @property
    def means(self) -> np.ndarray:
        return self.returns.mean(axis=1)

    @property
    def estimate(self) -> tuple[float, float, float]:
        """Mean return and its 95 % interval."""
        mean, low, high = (float(each) for each in interval(self.means))
        return mean, low, high

    @property
    def settings(self) -> dict[str, object]:
        found = {name: getattr(self.agent, name) for name in SETTINGS if hasattr(self.agent, name)}
        return {n: v.to_dict() if isinstance(v, StepSize) else v for n, v in found.items()}

    @property
    def step_sizes(self) -> str:
        found = {name: getattr(self.agent, name, None) for name in STEPS}
        return ", ".join(f"{n} {_describe_step(v)}" for n, v in found.items() if v is not None)


@dataclass(frozen=True, eq=False)
class Tried:
    """The outcome of ``ex.try_on``: printing it shows a table and the findings.

    ``agents`` are those that were confirmed, by kind, ``left_out`` the others. ``compared`` are
    the best planner and the best model-free agent of the search. ``failed`` has the errors of the
    environment, by the name of the agent.
    """

    domain: Domain
    features: Features
    random: np.ndarray
    agents: Mapping[str, Confirmed]
    left_out: tuple[str, ...]
    episodes: int
    seed: int
    minutes: float
    compared: tuple[str | None, str | None]
    folder: Path | None = None
    failed: Mapping[str, str] = field(default_factory=dict)

    HEADS: ClassVar = ("agent", "mean return", "95 % interval", "settings", "step sizes")

    @property
    def environment(self) -> str:
        """The id or "module:Class" of the environment, or the name of its class."""
        given = getattr(self.domain, "environment", None)
        return given if isinstance(given, str) else self.domain.called

    @property
    def best(self) -> str | None:
        """The kind of the agent with the highest mean return; None if none was confirmed."""
        means = {key: each.estimate[0] for key, each in self.agents.items()}
        known = {key: mean for key, mean in means.items() if math.isfinite(mean)}
        return max(known, key=lambda key: known[key]) if known else None

    def as_data(self) -> dict[str, object]:
        """The documented shape of ``expectant try --json``."""
        rows = []
        for key, each in self.agents.items():
            mean, low, high = (x if math.isfinite(x) else None for x in each.estimate)
            numbers = {"mean": mean, "low": low, "high": high}
            rows.append({"agent": NAMES[key], "settings": each.settings, **numbers})
        return {
            "environment": self.environment,
            "random": float(self.random.mean()),
            "agents": rows,
            "best": None if self.best is None else NAMES[self.best],
        }

    def findings(self) -> list[str]:
        """Does anything learn, and does planning pay: a sentence each, and what went wrong."""
        found = [*self._learning(), *self._planning()]
        others = [key for key in self.left_out if NAMES[key] not in self.failed]
        if others:
            found.append(f"Not tried for lack of time or memory: {_list_names(others)}.")
        if self.failed:
            first, error = next(iter(self.failed.items()))
            failed = ", ".join(self.failed)
            found.append(f"The environment failed in runs of {failed}; with {first}: {error}.")
        full = [key for key, each in self.agents.items() if each.evicted]
        if full:
            found.append(
                f"{_list_names(full)}: the sparse model was full and dropped entries; raise "
                "capacity."
            )
        return found

    def _learning(self) -> list[str]:
        random = float(self.random.mean())
        if self.best is None:
            why = "every agent had a diverged run" if self.agents else "no agent finished"
            return [f"Nothing was confirmed, {why}: give more minutes."]
        best = self.agents[self.best]
        mean, low, high = best.estimate
        runs = best.returns.shape[0]
        verdict = "learns" if low > random else "is not shown to learn"
        return [
            f"{NAMES[self.best]} {verdict}: {_brief(mean)} an episode ({_brief(low)} to "
            f"{_brief(high)}) over {self.episodes:,} episodes of {runs} fresh runs, "
            f"{best.steps / runs:,.0f} steps each; random play earns {_brief(random)}. Its step "
            f"sizes: {best.step_sizes} ({'default' if best.default else 'searched'})."
        ]

    def _planning(self) -> list[str]:
        planner, other = (self.agents.get(key) if key else None for key in self.compared)
        if self.best is None:
            return []
        if planner is None or other is None:
            return ["Does planning pay here: unknown; agents of one kind only finished."]
        runs = min(planner.means.size, other.means.size)
        difference = paired_difference(planner.means[:runs], other.means[:runs])
        names = " against ".join(NAMES[key] for key in self.compared if key)
        verdict = "unclear"
        if difference.low > 0.0 or difference.high < 0.0:
            verdict = "yes" if difference.low > 0.0 else "no"
        mean, low, high = map(_brief, (difference.mean, difference.low, difference.high))
        return [
            f"Does planning pay here: {verdict}; {names}, the best of each kind in the search: "
            f"{mean} an episode ({low} to {high}), {runs} paired runs."
        ]

    def spec(self) -> str | None:
        """A spec to go on from; None without agents or if the environment cannot be written."""
        try:
            domain = self.domain.to_dict() if self.agents else None
        except ValueError:
            domain = None
        if domain is None:
            return None
        agents = {
            key: {"label": NAMES[key], **each.agent.to_dict()} for key, each in self.agents.items()
        }
        data: dict[str, Any] = {
            "title": f"Going on with {self.environment}",
            "episodes": self.episodes,
            "runs": 30,
            "bin": max(1, self.episodes // 20),
            "seed": self.seed + 3,
            "domain": domain,
            "features": self.features.to_dict(),
            "agents": agents,
        }
        return to_toml(data)

    def rows(self) -> list[list[str]]:
        """The table of the agents that were confirmed."""
        rows = []
        for key, each in self.agents.items():
            mean, low, high = map(_brief, each.estimate)
            settings = "default" if each.default else "searched"
            rows.append([NAMES[key], mean, f"{low} to {high}", settings, each.step_sizes])
        return rows

    def write(self, folder: Path) -> None:
        """Write ``report.html``, and ``spec.toml`` where the environment can be written down."""
        from expectant.show import Curves, Environment, Header, Table, chart_of, palette_of
        from expectant.show import write_page as write

        mark(folder, TRY)
        notes, spec = self.findings(), self.spec()
        if spec is not None:
            write_text(folder / "spec.toml", spec)
            notes.append(f"To go on: expectant run {folder / 'spec.toml'}")
        panel = self._panel()
        facts = {"features": repr(self.features), "minutes": self.minutes, "seed": self.seed}
        sections = [
            Header(f"What can be learned in {self.environment}", "", notes),
            *([Curves("1", "Fresh runs", chart_of([panel]))] if self.agents else []),
            Table("All agents", self.HEADS, self.rows()),
            Environment([*facts.items(), *versions().items()]),
        ]
        write(folder / "report.html", sections, palette_of([panel]))

    def _panel(self) -> Panel:
        """Learning curves, with random play as a line."""
        bin_size = max(1, self.episodes // POINTS)
        end = self.episodes // bin_size * bin_size
        return Panel(
            figure="1", panel="", reading="", bin=bin_size, switch_every=None, optimum=math.nan,
            curves={
                key: learning_curve(each.returns[:, :end], bin_size)
                for key, each in self.agents.items()
            },
            labels={key: NAMES[key] for key in self.agents},
            levels=(Level(0.0, float(end), float(np.mean(self.random)), "random play"),),
        )  # fmt: skip

    def __repr__(self) -> str:
        best = f"best {NAMES[self.best]}" if self.best else "nothing confirmed"
        count = f"{len(self.agents)} agent{'s' * (len(self.agents) != 1)}"
        return f"Tried({self.environment}: {count}, {best}; print it for more)"

    def __str__(self) -> str:
        rows = self.rows()
        table = [tables.text_table(self.HEADS, rows, left=(0, 2, 3, 4))] if rows else []
        written = [] if self.folder is None else [f"written to {self.folder}"]
        title = f"{self.environment}, {describe_features(self.features)}"
        return "\n".join([title, *table, *self.findings(), *written])


def describe_features(features: Features) -> str:
    """The kinds of features, joined ones side by side."""
    if isinstance(features, Joined):
        return f"{describe_features(features.first)} + {describe_features(features.second)}"
    return type(features).__name__


def _list_names(keys: Iterable[str]) -> str:
    return ", ".join(NAMES[key] for key in keys)


def _describe_step(step: Any) -> str:
    return f"{step:g}" if isinstance(step, float) else f"{step.kind} from {step.initial_step:g}"


def _brief(number: float) -> str:
    return f"{number:.4g}".replace("-", "−")
