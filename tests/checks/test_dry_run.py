"""Whatever compiles parts of one's own tries them as plain Python first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hall_env import CELLS, Hall

import expectant as ex
from expectant.core.errors import PartError
from expectant.core.verbs import act, learn, observation, preference, reset, step
from expectant.engine import probe as looking
from expectant.engine import setup as loading
from expectant.engine.progress import Silent
from expectant.engine.setup import Setup
from expectant.experiments import recording as records


class AbyssPart(NamedTuple):
    place: np.ndarray


@reset.register(AbyssPart)
def _(abyss, episode, rng):
    abyss.place[0] = 0


@step.register(AbyssPart)
def _(abyss, action, rng):
    abyss.place[5] = 1
    return 0.0, 1.0


@observation.register(AbyssPart)
def _(abyss):
    return abyss.place


class Abyss(ex.Domain):
    """A world whose steps write beyond its array."""

    actions = 2
    states = CELLS

    def build(self, rng: Any) -> AbyssPart:
        return AbyssPart(np.zeros(1, np.int64))


class HermitPart(NamedTuple):
    values: np.ndarray


@act.register(HermitPart)
def _(hermit, state, rng):
    return 1


@learn.register(HermitPart)
def _(hermit, transition, rng):
    return 0.0


@preference.register(HermitPart)
def _(hermit, state, action):
    return hermit.values[action + 1]


class Hermit(ex.Agent):
    """An agent that does not act by its preferences, which are wrong."""

    def build(self, context: Any) -> HermitPart:
        return HermitPart(np.zeros(context.actions))


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash, were it to come to compiling."""

    def crash(*_: Any) -> None:
        raise AssertionError("compiled without a trial")

    for module in (loading, looking):
        monkeypatch.setattr(module, "compile_for", crash)


def make_setup(domain: Any, agent: Any) -> Setup:
    return Setup(domain, ex.OneHot(), agent, episodes=3)


def evaluated(domain: Any, agent: Any) -> None:
    result = ex.run(
        Hall(), ex.OneHot(), agent, episodes=2, runs=1, keep_agents=True, compiled=False,
        progress=False,
    )  # fmt: skip
    ex.evaluate(result, domain, 2, compiled=True, progress=False)


def looked_at(domain: Any, agent: Any) -> None:
    subject = looking.copy_subject(make_setup(domain, agent).build(0)[0])
    looking.load_probe(subject, looking.all_states(CELLS), True, "", Silent())


def performed(domain: Any, agent: Any) -> None:
    by_episodes = records.parse_record({"probe": "episode_return"})
    records.load_kernel(make_setup(domain, agent), by_episodes, True, "", Silent())


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("way", [evaluated, performed])
def test_a_domain_is_tried_before_it_is_compiled(way):
    with pytest.raises(PartError, match="step of AbyssPart: IndexError: index 5"):
        way(Abyss(), ex.QLearning.paper(0.1))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("way", [evaluated, looked_at, performed])
def test_preferences_are_tried_before_they_are_compiled(way):
    with pytest.raises(PartError, match="preference of HermitPart: IndexError: index 2"):
        way(Hall(), Hermit())
