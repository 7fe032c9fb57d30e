"""What belongs to the name under which results are stored, wherever it is computed."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from experiments.sweeping import TRIAL as ANY_TRIAL

import expectant as ex
from expectant.agents.q_learning import QLearningPart
from expectant.core import config, dispatch
from expectant.core.verbs import learn
from expectant.experiments.executors import Task, run_batch
from expectant.experiments.store import versions
from expectant.experiments.trials import DECIDING, PACKAGE, package_code, trial_hash

TRIAL = replace(ANY_TRIAL, domain=ex.Corridor(cells=3), episodes=4, runs=2, bin=2, step_limit=50)

WORLD = """
import gymnasium
from my_base import Base
import my_tools.wrapping

class World(Base):
    def step(self, action):
        return 0, 1.0, True, False, {}

def make(**options):
    return my_tools.wrapping.Bonus(World(**options))

gymnasium.register("MyWorld-v0", entry_point="my_world:make")
"""
BASE = """
import gymnasium
from my_numbers import START

class Base(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return START, {}
"""
WRAPPING = """
import gymnasium
from . import amounts
class Bonus(gymnasium.RewardWrapper):
    def reward(self, reward):
        return reward + amounts.BONUS
"""
FILES = {
    "my_world.py": WORLD, "my_base.py": BASE, "my_numbers.py": "START = 0\n",
    "my_tools/__init__.py": "", "my_tools/wrapping.py": WRAPPING,
    "my_tools/amounts.py": "BONUS = 1\n", "my_other.py": "UNUSED = 1\n",
}  # fmt: skip
PARTS = """
from typing import NamedTuple
import numpy as np
import expectant as ex
from expectant.core.verbs import observation, reset, step

START = 0
SIZES = [2, 3]

class Part(NamedTuple):
    now: np.ndarray

@reset.register(Part)
def _(domain, episode, rng):
    pass
@step.register(Part)
def _(domain, action, rng):
    return float(domain.now[0]), 0.0
@observation.register(Part)
def _(domain):
    return domain.now

def first():
    return START

class Own(ex.Domain):
    size: int = ex.parameter(ex.rules.whole(1), default=2)
    actions = 2
    states = property(lambda self: self.size)

    def build(self, rng):
        return Part(np.full(1, first(), np.int64))
"""


def test_plain_python_of_the_package_belongs_to_a_trial(tmp_path):
    """What builds parts and bins returns is not compiled, and decides numbers all the same."""
    copied = tmp_path / "expectant"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__", "studies"))
    before = package_code()
    assert package_code(copied) == before
    deciding = {"features/discrete.py", "core/interfaces.py", "engine/setup.py", *DECIDING}
    for file in (*deciding, "report/page.py", "experiments/claims.py"):
        text = (copied / file).read_text("utf-8")  # all of them exist
        (copied / file).write_text(text + "CHANGED = True\n", "utf-8")
        package_code.cache_clear()
        assert (package_code(copied) != before) == (file in deciding), file
        (copied / file).write_text(text, "utf-8")
    package_code.cache_clear()


def test_changed_verbs_of_ours_belong_to_a_trial():
    known: Any = learn.implementations[QLearningPart]
    before = trial_hash(TRIAL)

    @learn.register(QLearningPart)
    def _(agent, transition, rng):
        return known(agent, transition, rng) + 0.0

    try:
        changed = trial_hash(TRIAL)
    finally:
        learn.register(QLearningPart)(known)
    assert changed.split("-")[0] != before.split("-")[0]  # other versions are no excuse for it
    assert trial_hash(TRIAL) == before


NAMING = """
import sys, expectant as ex, my_parts, my_world
from expectant.experiments.trials import Trial, trial_hash

class Here(my_world.World):
    def step(self, action):
        return {1, 2, 3}.pop() - 1, 1.0, True, False, {"a", "b"}

def named(domain, agent=ex.QLearning(0.1)):
    return trial_hash(Trial(
        experiment="e", panel="", interpretation="", agent_key="q", label="", domain=domain, runs=2,
        features=ex.OneHot(), agent=agent, episodes=4, bin=2, seed=0, step_limit=50))

print(ex.__file__, sys.prefix)
print(named(ex.Corridor(cells=3), ex.Lookahead(0.1, 0.1)), named(ex.Gym("CliffWalking-v1")),
      named(my_parts.Own()), named(ex.Gym("my_world:World")), named(ex.Gym(Here)))
"""


def test_names_depend_on_neither_hash_seed_nor_place_nor_environment(tmp_path):
    """Two hash seeds, checkouts, virtual environments and working directories."""
    other = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", other], check=True)
    (context,) = other.glob("lib/python*/site-packages")
    (context / "all.pth").write_text("\n".join(place for place in sys.path if "-packages" in place))
    found = []
    for seed, python in enumerate((sys.executable, other / "bin" / "python")):
        folder = tmp_path / f"checkout-{seed}"
        ignored = shutil.ignore_patterns("__pycache__", "studies")
        shutil.copytree(PACKAGE, folder / "expectant", ignore=ignored)
        for path, text in {**FILES, "my_parts.py": PARTS, "script.py": NAMING}.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(folder)}
        done = subprocess.run(
            [python, folder / "script.py"], cwd=folder if seed else tmp_path, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        where, names = done.stdout.splitlines()
        assert where.split()[0] == str(folder / "expectant" / "__init__.py")
        found.append((where.split()[1], names))
    assert len({prefix for prefix, _ in found}) == 2
    assert len({names for _, names in found}) == 1
    assert len(set(found[0][1].split())) == 5


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Files that can be imported, edited and imported again, without leaving traces."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(config, "KINDS", dict(config.KINDS))
    implementations = [(verb, dict(verb.implementations)) for verb in dispatch.VERBS]

    def imported(name: str, files: dict[str, str]) -> Any:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
        forget()
        return importlib.import_module(name)

    def forget() -> None:
        for module in [module for module in sys.modules if module.startswith("my_")]:
            del sys.modules[module]
        importlib.invalidate_caches()

    yield imported
    forget()
    for verb, known in implementations:
        verb.implementations.clear()
        verb.implementations.update(known)


@pytest.fixture
def worlds(fresh, monkeypatch):
    import gymnasium

    monkeypatch.setattr(gymnasium.envs.registration, "registry", dict(gymnasium.registry))

    def named(changes: dict[str, tuple[str, str]]) -> str:
        gymnasium.envs.registration.registry.pop("MyWorld-v0", None)
        files = dict(FILES)
        for path, change in changes.items():
            assert change[0] in files[path]
            files[path] = files[path].replace(*change)
        fresh("my_world", files)
        return trial_hash(replace(TRIAL, domain=ex.Gym("MyWorld-v0")))

    return named


@pytest.mark.parametrize(("file", "old", "new"), [
    ("my_world.py", "0, 1.0, True", "0, 100.0, True"),
    ("my_numbers.py", "START = 0", "START = 1"),
    ("my_tools/amounts.py", "BONUS = 1", "BONUS = 2"),
])  # fmt: skip
def test_the_code_of_an_environment_belongs_to_a_trial(file, old, new, worlds):
    before = worlds({})
    assert worlds({file: (old, new)}) != before
    assert worlds({"my_other.py": ("1", "2")}) == before


@pytest.mark.parametrize(("old", "new", "same"), [
    ("START = 0", "START = 1", False),
    ("return START", "return 1 - START", False),
    ("np.full(1, first()", "np.full(1, first() + 1", False),
    ("states = property(lambda self: self.size)", "states = property(lambda self: self.size + 1)", False),
    ("SIZES = [2, 3]", "SIZES = [2, 3, 4]  # what to try in a sweep", True),
])  # fmt: skip
def test_the_code_that_builds_a_part_of_ones_own_belongs_to_a_trial(old, new, same, fresh):
    def named(text: str) -> str:
        return trial_hash(
            replace(TRIAL, domain=fresh("my_parts", {"my_parts.py": text}).Own(size=2))
        )

    assert (named(PARTS) == named(PARTS.replace(old, new))) == same


def test_a_model_of_ones_own_inside_an_agent_belongs_to_a_trial(fresh):
    def named(step: float) -> str:
        text = (
            "import expectant as ex\nclass Model(ex.Model):\n    def build(self, context):\n"
            f"        return ex.models.LinearExpectation({step}).build(context)\n"
        )
        model = fresh("my_models", {"my_models.py": text}).Model()
        return trial_hash(replace(TRIAL, agent=ex.Lookahead.paper(0.1, model=model)))

    assert named(0.1) != named(0.2)


# ---------------------------------------------------------------------------------------- workers


def test_a_worker_computes_a_batch_unless_it_has_other_code():
    done = run_batch(Task(TRIAL, trial_hash(TRIAL), range(2)), False, versions())
    assert done.error is None and [run.curve.shape for run in done.runs] == [(2,), (2,)]
    refused = run_batch(Task(TRIAL, "0" * 20, range(2)), False, {"expectant": "9.9"})
    assert not refused.runs and "9.9" in str(refused.error)
    assert "has other code for this trial" in str(refused.error)
