"""Trying agents on an environment: features, the search, the budget, and what is printed."""

from __future__ import annotations

import dataclasses
import json
import time
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from outside_worlds import HallEnv, Troubled
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.features.bounds import RandomPlay
from expectant.lab.specs.spec import read_config
from expectant.lab.trying import try_on as trying
from expectant.lab.trying.tried import Confirmed, Tried
from expectant.lab.trying.try_on import Bench, Candidate, Clock, Deadline, OutOfTime, propose

BOX, MANY = gymnasium.spaces.Box, gymnasium.spaces.MultiDiscrete


def world(space):
    return ex.Gym(lambda: HallEnv(space))


def played(components, integral=False):
    low = np.full(components, -1.0)
    return RandomPlay([0.0], [5], low, -low, integral)


@pytest.mark.parametrize(
    ("space", "components", "expected"),
    [
        (gymnasium.spaces.Discrete(6), 1, ex.OneHot()),
        (MANY([3, 2]), 1, ex.OneHot()),
        (MANY([100, 100]), 1, ex.Categorical()),
        (BOX(-1.0, 1.0, (2,)), 2, ex.Tiles(8, 8, [(-1, 1)] * 2)),
        (BOX(-np.inf, np.inf, (1,)), 1, ex.Tiles(8, 10, [(-1.2, 1.2)])),  # a tenth on both sides
        (BOX(-1.0, 1.0, (20,)), 20, ex.Identity([(-1, 1)] * 20)),
    ],
)
def test_features_follow_from_observations(space, components, expected):
    assert propose(world(space), played(components)) == expected


def scripted(score):
    """A bench whose runs earn what ``score`` says of the agent; ``asked`` lists them."""
    asked: list[tuple[float, int]] = []

    class Scripted(Bench):
        def run(self, agent, deadline, first=0):
            deadline.check()
            asked.append((agent.action_step, first))
            means = np.full(self.block, score(agent))
            returns = np.tile(means[:, None], (1, self.episodes))
            lengths, evicted = np.ones_like(returns, int), np.zeros(self.block, int)
            return SimpleNamespace(means=means, returns=returns, lengths=lengths, evicted=evicted)

    return Scripted(ex.Corridor(), ex.OneHot(), False, 1, 0), asked


def test_the_search_begins_with_the_default_and_finds_better_steps(monkeypatch):
    monkeypatch.setattr(trying, "MOST_TRIALS", 15)
    bench, asked = scripted(lambda agent: -abs(np.log(agent.action_step / 0.1)))
    agent = ex.QLearning.paper(0.3)
    candidates = {"q_learning": Candidate(agent, agent)}
    trying.search_steps(bench, candidates, Clock(1000.0), print)
    assert asked[:3] == [(0.3, 0), (0.3, 2), (0.3, 4)]
    best: Any = candidates["q_learning"].best
    assert abs(np.log(best.action_step / 0.1)) < 0.3
    pruned = [step for step, first in asked if first == 0 and (step, 4) not in asked]
    assert pruned and best.action_step not in pruned
    again, repeated = scripted(lambda agent: -abs(np.log(agent.action_step / 0.1)))
    trying.search_steps(again, {"q_learning": Candidate(agent, agent)}, Clock(1000.0), print)
    assert repeated == asked  # seeded


def test_steps_are_scaled_with_values_together_and_the_model_apart():
    agent: Any = trying.scale_steps(
        ex.Lookahead.paper(0.3, ex.Autostep(0.3, 0.1, per="feature")), 0.1, 0.5
    )
    assert agent.value_step == pytest.approx(0.03)
    assert agent.model_step == ex.Autostep(0.15, 0.1, per="feature")
    capped: Any = trying.scale_steps(ex.QLearning.paper(0.5), 3.0, 1.0)
    assert capped.action_step == 1.0


def test_all_agents_have_fresh_runs_before_any_has_more():
    bench, asked = scripted(lambda agent: agent.action_step)
    keys = {"sarsa": 0.1, "lookahead": 0.2, "q_learning": 0.3}
    candidates = {
        k: Candidate(ex.QLearning.paper(s), ex.QLearning.paper(s)) for k, s in keys.items()
    }
    found = trying.confirm(bench, candidates, ("lookahead", "q_learning"), Clock(1000.0))
    assert asked[:4] == [(0.2, 0), (0.3, 0), (0.1, 0), (0.2, 2)]  # those compared first
    assert {each.returns.shape for each in found.values()} == {(12, 5)}
    assert found["lookahead"].estimate[0] == pytest.approx(0.2)


def test_a_deadline_stops_runs():
    bench = Bench(ex.Gym(HallEnv), ex.OneHot(), False, 1, 0, episodes=10**6)
    start = time.monotonic()
    with pytest.raises(OutOfTime):
        bench.run(ex.QLearning(), Deadline(0.3))
    assert time.monotonic() - start < 20.0


def test_an_environment_that_fails_ends_the_runs_of_that_agent():
    bench = Bench(ex.Gym(Troubled, trouble="fails"), ex.Tiles(2, 2), False, 1, 0)
    with pytest.raises(OutOfTime):
        bench.run(ex.QLearning(), Deadline(100.0))
    assert "broke at 2.5 A" in bench.failed["q_learning"]


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tried")
    start = time.monotonic()
    found = ex.try_on(
        "outside_worlds:HallEnv", 0.15, folder=folder, threads=1, compiled=False, quiet=True
    )
    assert time.monotonic() - start < 9.0 + 10.0  # the page takes a while on a busy machine
    return found


def test_the_printed_data_have_the_documented_shape(tried):
    data = json.loads(json.dumps(tried.as_data()))
    assert list(data) == ["environment", "random", "agents", "best"]
    assert data["environment"] == "outside_worlds:HallEnv"
    assert all(list(row) == ["agent", "settings", "mean", "low", "high"] for row in data["agents"])
    best = next(row for row in data["agents"] if row["agent"] == data["best"])
    assert best["low"] <= best["mean"] <= best["high"]
    assert best["mean"] > data["random"]  # six cells in a row, of which one pays


def test_the_folder_has_a_page_and_a_spec_that_can_be_read(tried):
    assert "Does planning pay here" in (tried.folder / "report.html").read_text()
    experiment = read_config(tried.folder / "spec.toml", trust=True)
    cells = {cell.agent_key: cell.agent for cell in experiment.cells()}
    assert cells == {key: each.agent for key, each in tried.agents.items()}
    assert experiment.seed == tried.seed + 3  # no seed that was used before


def test_the_command_prints_data_and_nothing_else(tried, monkeypatch, tmp_path):
    monkeypatch.setattr(trying, "try_on", lambda *given, **options: tried)
    done = CliRunner().invoke(app, ["try", "some", "--json", "--out", str(tmp_path)])
    assert json.loads(done.stdout) == json.loads(json.dumps(tried.as_data()))


def made(planning, other, random=0.0):
    """An outcome with the given mean returns of runs."""
    agents = {
        "lookahead": Confirmed(ex.Lookahead(), True, np.array(planning)[:, None], 10),
        "q_learning": Confirmed(ex.QLearning(), True, np.array(other)[:, None], 10),
    }
    domain, pair = ex.Gym("outside_worlds:HallEnv"), ("lookahead", "q_learning")
    return Tried(domain, ex.OneHot(), np.array([random]), agents, ("sarsa",), 1, 0, 1.0, pair)


@pytest.mark.parametrize(
    ("planning", "other", "verdict"),
    [
        ([5.0, 5.1, 5.2, 5.3], [1.0, 1.2, 1.1, 1.4], "yes"),
        ([1.0, 1.2, 1.1, 1.4], [5.0, 5.1, 5.2, 5.3], "no"),
        ([1.0, 5.0, 1.0, 5.0], [5.0, 1.0, 5.1, 1.0], "unclear"),
        ([np.nan, 5.0, 5.0, 5.0], [5.0, 1.0, 5.1, 1.0], "unclear"),
    ],
)
def test_whether_planning_pays_is_decided_by_paired_runs(planning, other, verdict):
    findings = " ".join(made(planning, other).findings())
    assert f"Does planning pay here: {verdict};" in findings and " learns: " in findings
    assert "is not shown to learn" in made(planning, other, random=9.0).findings()[0]


def test_too_little_data_are_said_to_be_too_little(tmp_path):
    found = made([1.0, 2.0], [3.0, 5.0])
    nothing = dataclasses.replace(found, agents={}, folder=tmp_path)
    assert "give more minutes" in nothing.findings()[0]
    assert nothing.as_data()["best"] is None and nothing.spec() is None
    nothing.write(tmp_path)
    assert (tmp_path / "report.html").exists() and not (tmp_path / "spec.toml").exists()
    failed = dataclasses.replace(found, failed={"Sarsa(λ)": "motor broke"}).findings()
    assert "motor broke" in failed[-1] and "lack of time" not in " ".join(failed)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Pendulum-v1"], "numbered actions (Discrete)"),
        (["NoSuchWorld-v3"], "cannot make 'NoSuchWorld-v3'"),
        (["CartPole-v1", "--minutes", "0"], "a finite number above 0"),
    ],
)
def test_what_cannot_be_tried_is_a_sentence_and_writes_nothing(
    arguments, says, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["try", *arguments])
    assert done.exit_code == 2
    assert says in " ".join(done.output.replace("│", " ").split())
    assert not list(tmp_path.iterdir())
