"""A cell: one agent in one domain with one set of features, the unit that is run and stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from expectant.descriptions import Description
from expectant.domains.gym import World
from expectant.engine.asking import ask
from expectant.engine.code_hash import fingerprint, part_types
from expectant.engine.crossing import play, respond
from expectant.engine.job import Job
from expectant.engine.loop import simulate
from expectant.lab.package_code import package_code
from expectant.lab.records import Record, looking_bytes, recorded
from expectant.parts import Agent, Domain, Features

LENGTH, TOTAL = "length", "total reward"  # what can be the curve instead of returns or rewards
BLOCK = 10  # runs that are stored together
PASS_COST = 4.0  # a step without planning costs about as much as four backups' worth of work


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is run, for how long and how often, and what it is called.

    Either ``episodes`` are counted and their returns averaged over ``bin`` of them, or, where
    ``steps`` is not 0, steps are counted and their rewards averaged in so many ``bins``. With a
    ``record`` the curve is that of looks at the agent; with ``curve`` it is of the lengths of
    episodes ("length") or of the sum of rewards so far ("total reward").
    """

    experiment: str
    panel: str
    reading: str
    agent_key: str
    label: str
    domain: Domain
    features: Features
    agent: Agent
    episodes: int
    runs: int
    bin: int
    seed: int
    step_limit: int | None = None
    steps: int = 0
    bins: int = 1
    lengths: bool = False
    record: Record | None = None
    curve: str = ""
    panel_title: str = ""
    base_panel: str = ""
    base_agent: str = ""

    @property
    def id(self) -> str:
        """A readable name that does not depend on the order of anything in the spec."""
        return "/".join(filter(None, (self.reading, self.panel, self.agent_key)))

    @cached_property
    def job(self) -> Job:
        return Job(
            self.domain,
            self.features,
            self.agent,
            episodes=self.episodes,
            steps=self.steps,
            bins=self.bins,
            step_limit=self.step_limit,
            seed=self.seed,
        )

    @cached_property
    def beside(self) -> int:
        """The memory that is held beside every run: what looks at it have found."""
        return 0 if self.record is None else looking_bytes(self.job, self.record)

    @property
    def points(self) -> int:
        """How many points a curve has."""
        return self.firsts.size

    @property
    def firsts(self) -> np.ndarray:
        """The first episode, or step, of every point; or after how many of them it was taken."""
        if self.record is not None:
            return self.record.schedule(self.job).at
        count = -(-(self.steps or self.episodes) // self.width)
        return np.arange(count, dtype=np.int64) * self.width

    @property
    def width(self) -> int:
        """How many episodes, or steps, make a point of a curve."""
        return self.job.bin if self.steps else self.bin

    def identity(self) -> dict[str, object]:
        """What decides the numbers of a run (not how many runs, nor what they are called)."""
        length = {"steps": self.steps} if self.steps else {"episodes": self.episodes}
        lengths: dict[str, Any] = {"lengths": True} if self.lengths else {}
        if self.record is not None:
            lengths["record"] = self.record.to_dict()
        if self.curve:
            lengths["curve"] = self.curve
        outside = {"code": self.domain.provenance} if self.domain.provenance else {}
        return {
            "domain": self.domain.to_dict(),
            "features": self.features.to_dict(),
            "agent": self.agent.to_dict(),
            **length,
            "bin": self.width,
            "seed": self.seed,
            "step_limit": self.job.budget().step_limit,
            **lengths,
            **outside,
        }


def blocks(runs: int) -> Iterator[tuple[int, int]]:
    """(first run, number of runs) of every block."""
    for first in range(0, runs, BLOCK):
        yield first, min(BLOCK, runs - first)


def cost(cell: Cell) -> float:
    """A rough measure of a run's work, for the progress bar."""
    return (cell.episodes or cell.steps) * (PASS_COST + getattr(cell.agent, "planning_steps", 0))


def own_descriptions(described: Any) -> Iterator[type]:
    """The user's own classes in a description and in those it holds, which build the parts."""
    if isinstance(described, Description) and is_dataclass(described):
        if not type(described).__module__.startswith("expectant."):
            yield type(described)
        described = [getattr(described, field.name) for field in fields(described)]
    if isinstance(described, tuple | list):
        yield from chain.from_iterable(map(own_descriptions, described))


class Hashes:
    """The names under which cells are stored, with the code of each composition hashed once."""

    def __init__(self) -> None:
        self._code: dict[Any, str] = {}

    def name(self, cell: Cell) -> str:
        """A hash of everything that decides the numbers of a cell's runs, the code included."""
        code = [package_code(), self._code_of(cell)]
        text = json.dumps([cell.identity(), code], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def _code_of(self, cell: Cell) -> str:
        prepared, _ = cell.job.prepare(0)
        described = own_descriptions((cell.domain, cell.features, cell.agent))
        script = getattr(cell.domain, "script_classes", ())
        code = (*part_types(prepared), *described, *script)
        if code not in self._code:
            outside = cell.domain.outside
            entry, more = (respond, (play, World)) if outside else (simulate, ())
            self._code[code] = fingerprint(entry, (*code, *more)).name
        if cell.record is None:
            return self._code[code]
        looked = (*code, cell.record.look)
        if looked not in self._code:
            of = cell.record.found.of
            named = [fingerprint(each, code).name for each in (ask, recorded, of)]
            self._code[looked] = "-".join([self._code[code], *named])
        return self._code[looked]


def cell_hash(cell: Cell) -> str:
    """The name under which a cell is stored."""
    return Hashes().name(cell)
