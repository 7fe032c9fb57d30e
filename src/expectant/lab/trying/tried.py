"""What came out of trying agents on an environment: in words, as data, as a spec to go on from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from expectant import small_tables as tables
from expectant.analysis.curves import interval
from expectant.analysis.paired import paired_difference
from expectant.features.joined import Joined
from expectant.lab.specs.toml import to_toml
from expectant.lab.trying.rounds import NAMES, PLANNERS, STEPS
from expectant.parts import Agent, Domain, Features
from expectant.step_sizes import StepSize


@dataclass(frozen=True, eq=False)
class Confirmed:
    """An agent on fresh runs: ``returns`` (runs, episodes), and what a step of it took."""

    agent: Agent
    default: bool
    returns: np.ndarray
    steps: int
    seconds: float
    evicted: int = 0

    @property
    def means(self) -> np.ndarray:
        return self.returns.mean(axis=1)

    @property
    def estimate(self) -> tuple[float, float, float]:
        mean, low, high = (float(each) for each in interval(self.means))
        return mean, low, high

    @property
    def settings(self) -> dict[str, Any]:
        """Its steps, and what else is not as everybody has it."""
        names = (*STEPS, "trace", "model", "planning_steps", "step_unit", "epsilon", "discount")
        return {name: getattr(self.agent, name) for name in names if hasattr(self.agent, name)}

    @property
    def steps_in_words(self) -> str:
        return ", ".join(f"{n} {_step(v)}" for n, v in self.settings.items() if n in STEPS)


@dataclass(frozen=True, eq=False)
class Tried:
    """What came out of ``ex.try_on``: printing it shows the table and what follows from it.

    ``agents`` are those that were confirmed, by kind. ``compared`` are the planner and the agent
    without a model that had earned most before, in other runs; ``earlier`` is what each had earned
    there. ``folder`` has the page, ``report.html``, and ``spec.toml``, where the environment can be
    written down.
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
    earlier: Mapping[str, float] = field(default_factory=dict)

    @property
    def environment(self) -> str:
        return str(getattr(self.domain, "environment", self.domain))

    @property
    def best(self) -> str | None:
        """The kind of the agent that earned most; None if none was confirmed."""
        known = {key: each.estimate[0] for key, each in self.agents.items()}
        known = {key: mean for key, mean in known.items() if math.isfinite(mean)}
        return max(known, key=lambda key: known[key]) if known else None

    def as_data(self) -> dict[str, Any]:
        """The documented shape of ``expectant try --json``."""
        rows = []
        for key, each in self.agents.items():
            numbers = zip(("mean", "low", "high"), map(_finite, each.estimate), strict=True)
            settings = {name: _plain(value) for name, value in each.settings.items()}
            rows.append({"agent": NAMES[key], "settings": settings, **dict(numbers)})
        return {
            "environment": self.environment,
            "random": float(self.random.mean()),
            "agents": rows,
            "best": None if self.best is None else NAMES[self.best],
        }

    def findings(self) -> list[str]:
        """Does anything learn, and does planning pay: a sentence each."""
        if self.best is None:
            return [self._nothing()]
        best = self.agents[self.best]
        mean, low, high = best.estimate
        random = float(self.random.mean())
        runs, steps = best.returns.shape[0], best.steps / best.returns.shape[0]
        verdict = "learns" if low > random else "is not shown to learn"
        found = [
            f"{NAMES[self.best]} {verdict}: {_short(mean)} an episode ({_short(low)} to "
            f"{_short(high)}) over {self.episodes:,} episodes of {runs} fresh runs, "
            f"{steps:,.0f} steps and {best.seconds / runs:.1f} s each; random play earns "
            f"{_short(random)}. Its steps: {best.steps_in_words} "
            f"({'as it is made' if best.default else 'searched'}).",
            self._planning(),
            *self._better_planner(),
        ]
        if self.left_out:
            found.append(self._not_tried())
        full = [NAMES[key] for key, each in self.agents.items() if each.evicted]
        if full:
            found.append(
                f"The models of {', '.join(full)} had too little room and gave entries up: "
                "a larger capacity, or a larger threshold, may do better."
            )
        return found

    def _nothing(self) -> str:
        """What is known without fresh runs."""
        said = f"No agent could be run often enough in this time ({_names(self.left_out)}): give "
        said += "more minutes."
        if self.agents:
            said = f"Of every agent that was run a run diverged: {_names(self.agents)}."
            if self.left_out:
                said += f" {self._not_tried()}"
        known = sorted(self.earlier.items(), key=lambda each: -each[1])
        if not known:
            return said
        earned = ", ".join(f"{NAMES[key]} {_short(mean)}" for key, mean in known)
        return (
            f"{said} A hint from the runs before, which decide nothing: {earned} an episode; "
            f"random play earns {_short(float(self.random.mean()))}."
        )

    def _planning(self) -> str:
        planner, other = (self.agents.get(key) if key else None for key in self.compared)
        if planner is None or other is None:
            return "Whether planning pays cannot be told: agents of one kind only were run."
        runs = min(planner.means.size, other.means.size)
        found = paired_difference(planner.means[:runs], other.means[:runs])
        names = " against ".join(NAMES[key] for key in self.compared if key)
        names += ", the best of each kind by earlier runs"
        if not math.isfinite(found.low):
            return f"Whether planning pays is unclear from {runs} paired runs ({names})."
        verdict = "unclear"
        if found.low > 0.0 or found.high < 0.0:
            verdict = "yes" if found.low > 0.0 else "no"
        numbers = (
            f"{_short(found.mean, '+')} an episode ({_short(found.low)} to {_short(found.high)})"
        )
        return f"Does planning pay here: {verdict}; {names}: {numbers}, {runs} paired runs."

    def _better_planner(self) -> list[str]:
        """A planner that fresh runs put clearly above the one that was picked before them.

        Choosing it by the very runs that report it would favour planning, so it is only told.
        """
        picked, beside = self.compared
        if picked is None or picked not in self.agents or beside not in self.agents:
            return []
        found = {}
        for key in PLANNERS:
            if key in self.agents and key != picked:
                one, other = self.agents[key].means, self.agents[picked].means
                runs = min(one.size, other.size)
                found[key] = paired_difference(one[:runs], other[:runs])
        clear = {key: each for key, each in found.items() if each.low > 0.0}
        if not clear:
            return []
        key = max(clear, key=lambda key: clear[key].mean)
        by = clear[key]
        return [
            f"In the fresh runs {NAMES[key]} earned more than {NAMES[picked]}: "
            f"{_short(by.mean, '+')} an episode ({_short(by.low)} to {_short(by.high)}). That came "
            "too late to pick it, as runs that choose do not report: more minutes, or runs of the "
            "spec, tell whether it pays."
        ]

    def _not_tried(self) -> str:
        return f"Not tried for want of time or memory: {_names(self.left_out)}."

    def spec(self) -> str | None:
        """A spec to go on from; None without agents or if the environment cannot be written."""
        if not self.agents:
            return None
        try:
            domain = self.domain.to_dict()
        except ValueError:
            return None
        agents = {
            key: {"label": NAMES[key], **each.agent.to_dict()} for key, each in self.agents.items()
        }
        data: dict[str, Any] = {
            "title": f"Going on with {self.environment}",
            "episodes": self.episodes,
            "runs": 30,
            "bin": max(1, self.episodes // 20),
            "seed": self.seed + 1,
            "domain": domain,
            "features": self.features.to_dict(),
            "agents": agents,
        }
        return to_toml(_written(data))

    HEADS: ClassVar = ("agent", "mean return", "95 % interval", "settings", "steps in total")

    def rows(self) -> list[list[str]]:
        """The table of agents that were confirmed."""
        rows = []
        decimals = tables.decimals_for(
            [end for each in self.agents.values() for end in each.estimate]
        )
        for key, each in self.agents.items():
            mean, low, high = each.estimate
            shown = tables.number(mean, decimals), tables.interval(low, high, decimals)
            settings = "default" if each.default else "searched"
            rows.append([NAMES[key], *shown, settings, each.steps_in_words])
        return rows

    def __str__(self) -> str:
        title = f"{self.environment}, {in_brief(self.features)}"
        rows = self.rows()
        table = [tables.text_table(self.HEADS, rows, left=(0, 2, 3, 4))] if rows else []
        written = [] if self.folder is None else [f"written to {self.folder}"]
        return "\n".join([title, *table, *self.findings(), *written])


def in_brief(features: Features) -> str:
    """Features without bounds and without what has its default; joined ones side by side."""
    if isinstance(features, Joined):
        return f"{in_brief(features.first)} + {in_brief(features.second)}"
    given = [
        f"{each.name}={value!r}"
        for each in fields(features)  # type: ignore[arg-type]
        if each.name != "bounds" and (value := getattr(features, each.name)) != each.default
    ]
    return f"{type(features).__name__}({', '.join(given)})"


def bounds_in_brief(features: Features) -> str:
    """Between which numbers each component of an observation is taken to lie."""
    while isinstance(features, Joined):
        features = features.first
    pairs = getattr(features, "bounds", None) or ()
    return ", ".join(f"{_short(low)} to {_short(high)}" for low, high in pairs)


def _names(keys: Iterable[str]) -> str:
    return ", ".join(NAMES[key] for key in keys)


def _short(number: float, sign: str = "") -> str:
    """A number with as many digits as people read, and a real minus."""
    return f"{number:{sign}.4g}".replace("-", "−")


def _step(step: Any) -> str:
    """A number, or a step that adapts by its name and where it begins."""
    return f"{step:g}" if isinstance(step, float) else f"{step.kind} from {step.initial_step:g}"


def _plain(value: Any) -> Any:
    """A step that adapts as a table."""
    return value.to_dict() if isinstance(value, StepSize) else value


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _written(data: Any) -> Any:
    """As specs are written: none as a word."""
    if isinstance(data, Mapping):
        return {key: _written(item) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return [_written(item) for item in data]
    return "none" if data is None else data
