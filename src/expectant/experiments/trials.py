"""A trial: one agent in one domain with one set of features, the unit that is run and stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from expectant.agents.wrappers import unwrapped_agent
from expectant.core.config import Config
from expectant.core.interfaces import Agent, Domain, Features
from expectant.engine.gym_loop import respond
from expectant.engine.loop import simulate
from expectant.engine.probe import ask
from expectant.engine.setup import Setup
from expectant.experiments.environment_code import OWN, environment_code
from expectant.experiments.recording import Record, record_run
from expectant.jit.code_hash import hash_kernel, hash_own_code, part_types

LENGTH, TOTAL = "length", "total reward"  # what can be the curve instead of returns or rewards
BATCH = 10  # runs that are stored together
PASS_COST = 4.0  # a step without planning costs about as much as four backups' worth of work

PACKAGE = Path(__file__).parents[1]
SHOWING = ("cli", "experiments", "report", "studies")  # folders that decide no numbers, but for
DECIDING = {  # these of "experiments"
    "experiments/trials.py", "experiments/tasks.py", "experiments/probes.py",
    "experiments/recording.py",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is run, for how long and how often, and what it is called.

    Either ``episodes`` are counted and their returns averaged over ``bin`` of them, or, where
    ``steps`` is not 0, steps are counted and their rewards averaged in so many ``bins``. With a
    ``record`` the curve is that of probes at the agent; with ``curve`` it is of the lengths of
    episodes ("length") or of the sum of rewards so far ("total reward").
    """

    experiment: str
    panel: str
    interpretation: str
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
        return "/".join(filter(None, (self.interpretation, self.panel, self.agent_key)))

    @cached_property
    def setup(self) -> Setup:
        return Setup(
            self.domain,
            self.features,
            self.agent,
            episodes=self.episodes,
            steps=self.steps,
            bins=self.bins,
            step_limit=self.step_limit,
            seed=self.seed,
        )

    @property
    def points(self) -> int:
        """How many points a curve has."""
        return self.firsts.size

    @property
    def firsts(self) -> np.ndarray:
        """The first episode, or step, of every point; or after how many of them it was taken."""
        if self.record is not None:
            return self.record.schedule(self.setup).at
        count = -(-(self.steps or self.episodes) // self.width)
        return np.arange(count, dtype=np.int64) * self.width

    @property
    def width(self) -> int:
        """How many episodes, or steps, make a point of a curve."""
        return self.setup.bin if self.steps else self.bin

    def identity(self) -> dict[str, object]:
        """What decides the numbers of a run (not how many runs, nor what they are called)."""
        length = {"steps": self.steps} if self.steps else {"episodes": self.episodes}
        record = None if self.record is None else self.record.to_dict()
        curve = {"lengths": self.lengths, "record": record, "curve": self.curve}
        return {
            "domain": self.domain.to_dict(),
            "features": self.features.to_dict(),
            "agent": self.agent.to_dict(),
            **length,
            "bin": self.width,
            "seed": self.seed,
            "step_limit": self.setup.budget().step_limit,
            **{name: value for name, value in curve.items() if value},
        }


def batches(runs: int) -> Iterator[tuple[int, int]]:
    """(first run, number of runs) of every batch."""
    for first in range(0, runs, BATCH):
        yield first, min(BATCH, runs - first)


def cost(trial: Trial) -> float:
    """A rough measure of a run's work, for the progress bar."""
    planning_steps = getattr(unwrapped_agent(trial.agent), "planning_steps", 0)
    return (trial.episodes or trial.steps) * (PASS_COST + planning_steps)


def own_descriptions(described: Any) -> Iterator[type]:
    """The user's own classes in a description and in those it holds, which build the parts."""
    if isinstance(described, Config) and is_dataclass(described):
        if not type(described).__module__.startswith("expectant."):
            yield type(described)
        described = [getattr(described, field.name) for field in fields(described)]
    if isinstance(described, tuple | list):
        yield from chain.from_iterable(map(own_descriptions, described))


class Shard(NamedTuple):
    """The ``number``-th of ``of`` equal parts of a sweep, from 1."""

    number: int
    of: int

    def has(self, position: int) -> bool:
        return position % self.of == self.number - 1

    @property
    def suffix(self) -> str:
        return f"-{self.number}-of-{self.of}"


@cache
def package_code(package: Path = PACKAGE) -> str:
    """Hash the files of the package that decide numbers, wherever they are installed.

    In a checkout the version does not identify them.
    """
    total = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package).as_posix()
        if name.partition("/")[0] not in SHOWING or name in DECIDING:
            total.update(f"\n{name}\n".encode())
            total.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return total.hexdigest()


class Hashes:
    """The names under which trials are stored, with the code of each composition hashed once."""

    def __init__(self) -> None:
        self._code: dict[Any, tuple[str, str]] = {}

    def name(self, trial: Trial) -> str:
        """Hash everything that decides the numbers of a trial's runs.

        The first part of the name is of the settings and the user's own code, the second one of
        this package and the libraries.
        """
        own, installed = self._code_of(trial)
        outside: tuple[dict[str, str], ...] = {}, {}  # versions of packages, the user's own files
        for name, text in environment_code(trial.domain).items():
            outside[text.startswith(OWN)][name] = text
        settings = _hash([trial.identity(), own, outside[1]])
        return f"{settings[:16]}-{_hash([package_code(), installed, outside[0]])[:8]}"

    def _code_of(self, trial: Trial) -> tuple[str, str]:
        """Hashes of the user's own code and of all code that a trial's runs reach."""
        prepared, _ = trial.setup.build(0)
        described = own_descriptions((trial.domain, trial.features, trial.agent))
        code: tuple[Any, ...] = (*part_types(prepared), *described)
        entries: list[Any] = [respond if trial.domain.external else simulate]
        if trial.record is not None:
            entries += [ask, record_run, trial.record.definition.of]
        key = (*code, *entries)
        if key not in self._code:
            installed = [hash_kernel(entry, code).name for entry in entries]
            self._code[key] = hash_own_code(key), "-".join(installed)
        return self._code[key]


def _hash(data: object) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def trial_hash(trial: Trial) -> str:
    """The name under which a trial is stored."""
    return Hashes().name(trial)
