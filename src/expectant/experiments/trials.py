"""A trial: one agent in one domain with one set of features, the unit that is run and stored.

A trial is stored under a name that hashes everything its numbers depend on: its settings, the
user's own code, and the code of this package and of the libraries. For a Gymnasium environment this
includes the modules of its class and wrappers, the user's modules that those import, and the
versions of their packages, but neither data files nor libraries in C.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from expectant.agents.wrappers import unwrapped_agent
from expectant.core import tree
from expectant.core.config import is_builtin, nested_classes
from expectant.core.interfaces import Agent, Domain, Features
from expectant.domains.gym import Gym
from expectant.engine.loop import respond, simulate
from expectant.engine.probe import ask
from expectant.engine.setup import Setup
from expectant.experiments.recording import Record, record_run
from expectant.experiments.toml_tables import hash_data
from expectant.jit.code_hash import hash_kernel, hash_own_code, is_installed, name_of, part_types

LENGTH, TOTAL = "length", "total reward"  # alternatives to curves of returns or rewards
BATCH = 10  # runs that are stored together
PASS_COST = 4.0  # work of a step without planning, in planning backups

PACKAGE = Path(__file__).parents[1]
PRESENTATION = ("cli", "experiments", "report", "studies")  # folders that decide no numbers, except
DECIDING = {  # these files
    "experiments/trials.py", "experiments/executors.py", "experiments/probes.py",
    "experiments/recording.py",
}  # fmt: skip
HASHED_ELSEWHERE = {"gymnasium", "expectant", "numpy"}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Components, length, number of runs, and names.

    Either ``episodes`` are counted and their returns averaged over ``bin`` of them, or, where
    ``steps`` is not 0, steps are counted and their rewards averaged in so many ``bins``. With a
    ``record`` the curve is that of a probe; with ``curve`` it is of the lengths of episodes
    ("length") or of the sum of rewards so far ("total reward").
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
    record: Record | None = None
    curve: str = ""
    panel_title: str = ""
    base_panel: str = ""
    base_agent: str = ""

    @property
    def id(self) -> str:
        """A readable name that does not depend on the order of anything in the config file."""
        return "/".join(filter(None, (self.interpretation, self.panel, self.agent_key)))

    @cached_property
    def setup(self) -> Setup:
        return Setup(
            self.domain, self.features, self.agent, episodes=self.episodes, steps=self.steps,
            bins=self.bins, step_limit=self.step_limit, seed=self.seed,
        )  # fmt: skip

    @cached_property
    def composition(self) -> object:
        """The types of all parts of a run, which decide the code that is compiled for it."""
        return tree.structure(self.setup.build(0)[0]), self.setup.is_builtin

    @property
    def firsts(self) -> np.ndarray:
        """The first episode or step of every point; of a record, the number done before it."""
        if self.record is not None:
            return self.record.schedule(self.setup)[0]
        count = -(-(self.steps or self.episodes) // self.width)
        return np.arange(count, dtype=np.int64) * self.width

    @property
    def width(self) -> int:
        """The number of episodes, or steps, in a point of a curve."""
        return self.setup.bin if self.steps else self.bin

    def identity(self) -> dict[str, object]:
        """Return the settings that decide the numbers of a run, not the number of runs or names."""
        optional = {
            "steps": self.steps,
            "episodes": self.episodes,
            "record": None if self.record is None else self.record.to_dict(),
            "curve": self.curve,
        }
        return {
            "domain": self.domain.to_dict(),
            "features": self.features.to_dict(),
            "agent": self.agent.to_dict(),
            "bin": self.width,
            "seed": self.seed,
            "step_limit": self.setup.budget().step_limit,
            **{name: value for name, value in optional.items() if value},
        }


def cost(trial: Trial) -> float:
    """A rough measure of a run's work, for the progress bar."""
    planning_steps = getattr(unwrapped_agent(trial.agent), "planning_steps", 0)
    return (trial.episodes or trial.steps) * (PASS_COST + planning_steps)


class Shard(NamedTuple):
    """The ``number``-th of ``of`` equal parts of a sweep, from 1."""

    number: int
    of: int

    def has(self, position: int) -> bool:
        return position % self.of == self.number - 1

    @property
    def suffix(self) -> str:
        return "" if self == WHOLE else f"-{self.number}-of-{self.of}"


WHOLE = Shard(1, 1)


# ----------------------------------------------------------------------------------- storage names


def trial_hash(trial: Trial) -> str:
    """Return the name under which a trial is stored."""
    return Hashes().name(trial)


class Hashes:
    """The names under which trials are stored, with the code of each composition hashed once."""

    def __init__(self) -> None:
        self._code: dict[Any, tuple[str, str]] = {}

    def name(self, trial: Trial) -> str:
        """Hash everything that decides the numbers of a trial's runs.

        The first part of the name is of the settings and the user's own code, the second one of
        this package and the libraries.
        """
        own, installed = self._hash_code(trial)
        environment, own_environment = environment_code(trial.domain)
        settings = hash_data([trial.identity(), own, own_environment])
        return f"{settings[:16]}-{hash_data([package_code(), installed, environment])[:8]}"

    def _hash_code(self, trial: Trial) -> tuple[str, str]:
        """Hash the user's own code and all code that a trial's runs reach."""
        run, _ = trial.setup.build(0)
        classes = nested_classes((trial.domain, trial.features, trial.agent))
        code: tuple[Any, ...] = (*part_types(run), *(c for c in classes if not is_builtin(c)))
        entries: list[Any] = [respond if trial.domain.external else simulate]
        if trial.record is not None:
            entries += [ask, record_run, trial.record.definition.of]
        key = (*code, *entries)
        if key not in self._code:
            installed = [hash_kernel(entry, code).name for entry in entries]
            self._code[key] = hash_own_code(key), "-".join(installed)
        return self._code[key]


@cache
def package_code(package: Path = PACKAGE) -> str:
    """Hash the files of the package that decide numbers, wherever they are installed.

    In a checkout the version does not identify them.
    """
    total = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package).as_posix()
        if name.partition("/")[0] not in PRESENTATION or name in DECIDING:
            total.update(f"\n{name}\n".encode())
            total.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return total.hexdigest()


def environment_code(domain: Domain) -> tuple[dict[str, str], dict[str, str]]:
    """Return the installed and the user's own code of a Gymnasium environment.

    Both are versions of packages and hashes of modules, by name.
    """
    installed, own = dict[str, str](), dict[str, str]()
    if not isinstance(domain, Gym):
        return installed, own
    installed["gymnasium"] = metadata.version("gymnasium")
    if isinstance(domain.environment, FunctionType):
        own[name_of(domain.environment)] = hash_own_code([domain.environment])
    environment = domain.make()
    environment.close()
    layer: Any = environment
    classes: list[type] = []
    while layer is not None:
        classes += type(layer).__mro__
        layer = getattr(layer, "env", None)
    entry = getattr(getattr(environment, "spec", None), "entry_point", None)
    entry_module = entry if isinstance(entry, str) else getattr(entry, "__module__", "")
    queue = [entry_module.partition(":")[0], *(cls.__module__ for cls in classes)]
    while queue:
        name = queue.pop()
        root, module = name.partition(".")[0], sys.modules.get(name)
        is_library = root in HASHED_ELSEWHERE or root in sys.stdlib_module_names
        if name in installed or name in own or module is None or is_library:
            continue
        file = Path(getattr(module, "__file__", None) or "")
        if name == "__main__" or not file.is_file():  # a script or notebook: only its classes count
            own[name] = hash_own_code(cls for cls in classes if cls.__module__ == name)
            continue
        installed |= {package: metadata.version(package) for package in _packages().get(root, ())}
        content = file.read_bytes()
        if is_installed(name):
            installed[name] = hashlib.sha256(content).hexdigest()[:16]
        else:
            own[name] = hashlib.sha256(content).hexdigest()[:16]
            queue.extend(_imported_modules(module, content))
    return installed, own


@cache
def _packages() -> Any:
    return metadata.packages_distributions()


def _imported_modules(module: ModuleType, content: bytes) -> Iterator[str]:
    """Yield the modules that the source of a module imports anywhere."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError):  # compiled code
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            if node.level:
                base = importlib.util.resolve_name(base, module.__package__ or "")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
