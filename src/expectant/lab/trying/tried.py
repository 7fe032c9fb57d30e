"""What came out of trying agents on an environment: in words, as data, as a spec to go on from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from expectant import small_tables as tables
from expectant.analysis.curves import interval
from expectant.analysis.paired import paired_difference
from expectant.lab.specs.toml import to_toml
from expectant.lab.trying.rounds import NAMES, PLANNERS, STEPS
from expectant.lab.trying.words import briefly, features_in_brief
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

    def __repr__(self) -> str:
        runs, episodes = self.returns.shape
        mean = briefly(self.estimate[0])
        return f"Confirmed({self.agent!r}: {runs} runs of {episodes:,} episodes, mean {mean})"

    @property
    def estimate(self) -> tuple[float, float, float]:
        mean, low, high = (float(each) for each in interval(self.means))
        return mean, low, high

    @property
    def settings(self) -> dict[str, object]:
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
    written down. ``failed`` is what the environment failed with, by the name of who acted.
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
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> str:
        """The id or the place that names it, or what it is called."""
        given = getattr(self.domain, "environment", None)
        return given if isinstance(given, str) else self.domain.called

    @property
    def command(self) -> str:
        """What to type to have the same again."""
        if isinstance(getattr(self.domain, "environment", None), str):
            return f"expectant try {self.environment} --minutes {self.minutes:g}"
        return f"ex.try_on({self.environment}, {self.minutes:g})"

    @property
    def best(self) -> str | None:
        """The kind of the agent that earned most; None if none was confirmed."""
        known = {key: each.estimate[0] for key, each in self.agents.items()}
        known = {key: mean for key, mean in known.items() if math.isfinite(mean)}
        return max(known, key=lambda key: known[key]) if known else None

    def as_data(self) -> dict[str, object]:
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
            "failed": dict(self.failed),
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
            f"{NAMES[self.best]} {verdict}: {briefly(mean)} an episode ({briefly(low)} to "
            f"{briefly(high)}) over {self.episodes:,} episodes of {runs} fresh runs, "
            f"{steps:,.0f} steps and {best.seconds / runs:.1f} s each; random play earns "
            f"{briefly(random)}. Its steps: {best.steps_in_words} "
            f"({'as it is made' if best.default else 'searched'}).",
            self._planning(),
            *self._better_planner(),
        ]
        found += self._not_tried()
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
        if self.failed:
            said = " ".join(["No agent could be run to its end.", *self._not_tried()])
        if self.agents:
            said = f"Of every agent that was run a run diverged: {_names(self.agents)}."
            said = " ".join([said, *self._not_tried()])
        known = sorted(self.earlier.items(), key=lambda each: -each[1])
        if not known:
            return said
        earned = ", ".join(f"{NAMES[key]} {briefly(mean)}" for key, mean in known)
        return (
            f"{said} A hint from the runs before, which decide nothing: {earned} an episode; "
            f"random play earns {briefly(float(self.random.mean()))}."
        )

    def _planning(self) -> str:
        planner, other = (self.agents.get(key) if key else None for key in self.compared)
        if planner is None or other is None:
            why = "no run ended in time to pick whom to compare"
            if len({key in PLANNERS for key in self.agents}) == 1:
                why = "agents of one kind only were run"
            return f"Whether planning pays cannot be told: {why}."
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
            f"{briefly(found.mean, '+')} an episode ({briefly(found.low)} to {briefly(found.high)})"
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
            f"{briefly(by.mean, '+')} an episode ({briefly(by.low)} to {briefly(by.high)}). That "
            "came too late to pick it, as runs that choose do not report: more minutes, or runs of "
            "the spec, tell whether it pays."
        ]

    def _not_tried(self) -> list[str]:
        """Who was left out, and for whom the environment failed: the first time in full."""
        others = [key for key in self.left_out if NAMES[key] not in self.failed]
        said = [f"Not tried for want of time or memory: {_names(others)}."] if others else []
        if self.failed:
            first = next(iter(self.failed))
            said.append(
                f"The environment failed in runs of {', '.join(self.failed)}; with {first}: "
                f"{self.failed[first]}."
            )
        return said

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
            known = tables.number_text(mean, decimals), tables.interval_text(low, high, decimals)
            shown = [text.replace("-", "−") for text in known]
            settings = "default" if each.default else "searched"
            rows.append([NAMES[key], *shown, settings, each.steps_in_words])
        return rows

    def __repr__(self) -> str:
        said = f"best {NAMES[self.best]}" if self.best else "nothing confirmed"
        count = f"{len(self.agents)} agent{'s' * (len(self.agents) != 1)}"
        return f"Tried({self.environment}: {count}, {said}; print it for more)"

    def __str__(self) -> str:
        title = f"{self.environment}, {features_in_brief(self.features)}"
        rows = self.rows()
        table = [tables.text_table(self.HEADS, rows, left=(0, 2, 3, 4))] if rows else []
        written = [] if self.folder is None else [f"written to {self.folder}"]
        return "\n".join([title, *table, *self.findings(), *written])


def _names(keys: Iterable[str]) -> str:
    return ", ".join(NAMES[key] for key in keys)


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
