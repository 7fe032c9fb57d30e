"""Trying agents on an environment: features, the search, the budget, and what is printed."""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from hall_env import HallEnv, Troubled
from optuna.trial import FixedTrial
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.experiments import try_environment as module
from expectant.experiments.config_file import read_config
from expectant.experiments.try_environment import (
    Bench,
    Candidate,
    Deadline,
    OutOfTime,
    QuickCheck,
    confirm,
    default_agents,
    propose_features,
    search,
    suggest_agent,
)
from expectant.features.bounds import RandomPlay

LATER = Deadline(time.monotonic() + 10_000.0)
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
        (MANY([100, 100]), 1, ex.features.Categorical()),
        (BOX(-1.0, 1.0, (2,)), 2, ex.Tiles(8, 8, [(-1, 1)] * 2)),
        (BOX(-np.inf, np.inf, (1,)), 1, ex.Tiles(8, 10, [(-1.2, 1.2)])),  # a tenth on both sides
        (BOX(-1.0, 1.0, (20,)), 20, ex.features.Identity([(-1, 1)] * 20)),
    ],
)
def test_features_follow_from_observations(space, components, expected):
    assert propose_features(world(space), played(components)) == expected


def scripted(score, most=10_000):
    """A bench whose runs earn what ``score`` says of the agent; ``asked`` lists ``most`` of them.

    An episode of a planner takes 0.1 s, one of another agent 1 ms.
    """
    asked: list[tuple[float, int]] = []

    class Scripted(Bench):
        def run(self, agent, deadline, first=0):
            deadline.check()
            if len(asked) == most:
                raise OutOfTime
            asked.append((getattr(agent, "action_step", 0.0), first))
            means = np.full(self.batch, score(agent))
            returns = np.tile(means[:, None], (1, self.episodes))
            seconds = self.episodes * (0.1 if hasattr(agent, "model") else 0.001)
            return SimpleNamespace(means=means, returns=returns, seconds=seconds)

    return Scripted(ex.Corridor(), ex.OneHot(), False, 1, 0, 2), asked


def distance(agent: Any) -> float:
    return -abs(np.log(agent.action_step / 0.1)) - 10.0 * abs(agent.discount - 0.95)


def test_the_search_begins_with_the_default_and_finds_better_settings():
    bench, asked = scripted(distance)
    candidate = Candidate(ex.QLearning(), 0)
    for _ in range(30):
        candidate.run_trial(bench, LATER)
    assert asked[:3] == [(ex.QLearning().action_step, first) for first in (0, 2, 4)]
    best: Any = candidate.best
    assert abs(np.log(best.action_step / 0.1)) < 0.3 and best.discount == 0.95
    pruned = [step for step, first in asked if first == 0 and (step, 4) not in asked]
    assert pruned and best.action_step not in pruned


def test_discounts_and_steps_of_models_are_searched_too():
    planner: Any = default_agents(fits_least_squares=False)[1]
    factors = {"discount": 0.95, "step_factor": 1.0, "model_factor": 0.5}
    suggested: Any = suggest_agent(planner, FixedTrial(factors))
    assert (suggested.model, suggested.discount) == ("sparse", 0.95)
    assert suggested.model_step == planner.model_step.scale(0.5)
    kinds = {getattr(agent, "model", None) for agent in default_agents(fits_least_squares=True)}
    assert kinds == {None, "expectation", "distribution"}


def test_all_runs_are_as_short_as_the_first_planner_needs():
    bench, _ = scripted(lambda agent: agent.discount)
    candidates = [Candidate(agent, 0) for agent in (ex.QLearning(), ex.Lookahead())]
    moments = itertools.chain([LATER] * 20, itertools.repeat(Deadline(0.0)))
    bench = search(bench, candidates, lambda share: next(moments), lambda text: None)
    assert bench.episodes == 512  # 100 rounds of 1,024 would not fit
    plain, planner = candidates
    assert plain.episodes % 512 == planner.episodes % 512 == 0 and min(plain.trials, planner.trials)


def test_fresh_runs_are_paired_and_go_on_until_the_time_is_over():
    bench, asked = scripted(lambda agent: agent.action_step, most=6)
    pair = [Candidate(ex.QLearning(step), 0) for step in (0.2, 0.3)]
    confirm(bench, pair, LATER)
    assert asked == [(0.2, 0), (0.3, 0), (0.2, 2), (0.3, 2), (0.2, 4), (0.3, 4)]
    assert [each.returns.shape for each in pair] == [(6, 4)] * 2


def test_an_environment_that_fails_ends_the_runs_of_that_agent():
    bench = Bench(ex.Gym(Troubled, trouble="fails"), ex.Tiles(2, 2), False, 1, 0, 2)
    candidate = Candidate(ex.QLearning(), 0)
    search(bench, [candidate], lambda share: LATER, print)
    assert "broke at 2.5 A" in candidate.failed


def made(planning, other, random=0.0, episodes=30):
    """An outcome with the given mean returns of runs."""
    planner, plain = (
        Candidate(agent, 0, trials=9, returns=np.repeat(np.array(means)[:, None], episodes, axis=1))
        for agent, means in ((ex.Lookahead(), planning), (ex.QLearning(), other))
    )
    domain = ex.Gym("hall_env:HallEnv")
    return QuickCheck(domain, ex.OneHot(), np.array([random]), (planner, plain), episodes, 0, 2.0)


HIGH, LOW = [5.0, 5.1, 5.2, 5.3, 5.1], [1.0, 1.2, 1.1, 1.4, 1.1]
MIXED = [1.0, 5.0, 1.0, 5.0, 3.0]


def test_all_of_it_keeps_to_the_budget(tmp_path):
    start = time.monotonic()
    found = ex.quick_check(
        "hall_env:HallEnv", 0.1, folder=tmp_path, threads=1, compiled=False, quiet=True
    )
    assert time.monotonic() - start < 6.0 + 15.0  # the page takes a while on a busy machine
    assert found.random.mean() < 0.0 and (tmp_path / "report.html").exists()


def test_the_printed_data_have_the_documented_shape(monkeypatch):
    found = made(HIGH, LOW)
    monkeypatch.setattr(module, "quick_check", lambda *given, **options: found)
    done = CliRunner().invoke(app, ["try", "some", "--json"])
    data = json.loads(done.stdout)  # and nothing else
    assert list(data) == ["environment", "random", "agents", "best"]
    assert (data["environment"], data["best"]) == ("hall_env:HallEnv", "Lookahead (Algorithm 1)")
    assert all(list(row) == ["agent", "settings", "mean", "low", "high"] for row in data["agents"])
    first = data["agents"][0]
    assert first["low"] < first["mean"] < first["high"]
    assert {"discount", "epsilon", "model"} <= set(first["settings"])


def test_the_folder_has_a_page_and_a_spec_with_a_folder_of_its_own(tmp_path):
    found = dataclasses.replace(made(HIGH, LOW), folder=tmp_path, threads=1)
    found.write(tmp_path)
    again = "expectant try hall_env:HallEnv --minutes 2 --seed 0 --threads 1"
    assert found.command == f"{again} --out {tmp_path}"
    assert found.command in (tmp_path / "report.html").read_text() and found.command in str(found)
    experiment = read_config(tmp_path / "config.toml", trust=True)
    assert experiment.name == "hall_env-HallEnv"
    assert [trial.agent for trial in experiment.trials()] == [each.agent for each in found.agents]
    assert experiment.seed == found.seed + 3  # no seed that was used before


@pytest.mark.parametrize(
    ("planning", "other", "verdict"),
    [(HIGH, LOW, "yes"), (LOW, HIGH, "no"), (MIXED, MIXED[::-1], "unclear")],
)
def test_whether_planning_pays_is_decided_by_paired_runs(planning, other, verdict):
    learns, pays = made(planning, other).findings()
    assert f"Does planning pay here: {verdict}; Lookahead (Algorithm 1) minus QLearning" in pays
    assert " learns: " in learns
    assert "is not shown to learn" in made(planning, other, random=9.0).findings()[0]


def test_no_verdict_rests_on_few_runs_or_episodes(tmp_path):
    (few_runs,) = made(HIGH[:4], LOW[:4]).findings()
    assert few_runs.startswith("No verdict: 4 fresh runs") and "1 more minutes" in few_runs
    (short,) = made(HIGH, LOW, episodes=10).findings()
    assert short.startswith("No verdict") and "about 4 more minutes would do" in short
    nothing = dataclasses.replace(made(HIGH, LOW), agents=(), failed={"Sarsa": "motor broke"})
    assert nothing.findings()[0].startswith("No verdict") and "motor broke" in nothing.findings()[1]
    assert nothing.as_data()["best"] is None and nothing.config_text() is None
    nothing.write(tmp_path)
    assert (tmp_path / "report.html").exists() and not (tmp_path / "config.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Pendulum-v1"], "numbered actions (Discrete)"),
        (["NoSuchWorld-v3"], "cannot make 'NoSuchWorld-v3'"),
        (["CartPole-v1", "--minutes", "0"], "a finite number, 0.01 or more"),
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
