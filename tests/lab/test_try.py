"""Trying agents on an environment: features, the promised time, the shape of what is printed."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from outside_worlds import CELLS, Hall, HallEnv
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.engine.memory.refusal import TooLargeError
from expectant.lab.specs.spec import read_spec
from expectant.lab.trying import promise, rounds, watched
from expectant.lab.trying import try_on as trying
from expectant.lab.trying.promise import Deadline, OutOfTime, Promise, PutOff
from expectant.lab.trying.proposal import LOOKED, RandomPlay, play_at_random, propose
from expectant.lab.trying.rounds import (
    Standing,
    Trial,
    best_of_both,
    halve,
    step_variants,
    worth_searching,
)
from expectant.lab.trying.tried import Confirmed, Tried
from expectant.lab.trying.try_on import PAGE_SECONDS, PAGE_WORK
from expectant.lab.trying.try_page import write_folder
from expectant.lab.trying.words import bounds_in_brief, features_in_brief

BOX, MANY = gymnasium.spaces.Box, gymnasium.spaces.MultiDiscrete


def world(space):
    return ex.Gym(lambda: HallEnv(space))


def seen_in(components, whole=False):
    low = np.full(components, -1.0)
    return RandomPlay([0.0], [5], low, -low, whole)


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
    assert propose(world(space), seen_in(components)) == expected


def test_four_components_are_tiled_in_pairs_and_coarsely_together():
    domain = world(BOX(-1.0, 1.0, (4,)))
    found = propose(domain, seen_in(4))
    assert found.shape(domain).active == 8 + 4 + 4
    assert found.shape(domain).size == 8 * 4**4 + 2 * 4 * 7**2


def test_whole_numbers_are_categories_only_if_all_that_was_seen_were():
    domain = world(BOX(0.0, 255.0, (3,)))
    assert propose(domain, seen_in(3, whole=True)) == ex.Categorical()
    assert isinstance(propose(domain, seen_in(3)), ex.Tiles)


@pytest.mark.parametrize("domain", [Hall(), ex.Gym(HallEnv)], ids=["compiled", "outside"])
def test_random_play_adds_up_what_it_earns(domain):
    """Every step costs a tenth and the end pays 1, so that returns follow from lengths."""
    seen = play_at_random(domain, Deadline(time.monotonic() + 100.0), 0)
    assert len(seen.returns) == len(seen.lengths) == 100
    assert seen.returns == pytest.approx([1.0 - 0.1 * length for length in seen.lengths])
    assert min(seen.lengths) >= 1 and np.mean(seen.lengths) > 5  # the last cell is a step away
    assert seen.low == 0.0 and seen.whole
    assert seen.high == CELLS - (1 if domain.outside else 2)  # where an episode ends is not acted


def test_a_deadline_breaks_runs_off():
    trial = Trial(ex.Gym(HallEnv), ex.OneHot(), False, 1, 0, episodes=10**6)
    start = time.monotonic()
    with pytest.raises(OutOfTime):
        trial.run(ex.QLearning(), 1, Deadline(start + 0.3))
    assert time.monotonic() - start < 20.0


def test_halving_takes_what_earned_most(monkeypatch):
    """Of made-up results, and all settings of a round have the same runs."""
    agent, asked = ex.QLearning(), []

    class Scripted(Trial):
        def run(self, agent, runs, deadline, *, first=0, episodes=0):
            asked.append((agent.action_step, first, runs))
            means = np.full(runs, -abs(agent.action_step - 0.09))
            return type("Ran", (), {"means": means})()

    standing = Standing(agent, agent)
    trial = Scripted(ex.Corridor(), ex.OneHot(), False, 1, 0)
    halve(trial, {"q_learning": standing}, Promise(1000.0), 0.9)
    steps = sorted({step for step, _, _ in asked})
    assert vars(standing.best)["action_step"] == min(steps, key=lambda step: abs(step - 0.09))
    assert {(first, runs) for _, first, runs in asked} == {(0, 1), (1, 2)}
    assert len(step_variants(agent)) + 1 == len([step for step, first, _ in asked if first == 0])


def test_a_search_without_time_leaves_the_defaults():
    agent = ex.QLearning()
    standing = Standing(agent, agent)
    trial = Trial(ex.Corridor(), ex.OneHot(), False, 1, 0)
    halve(trial, {"q_learning": standing}, Promise(1e-9), 0.9)
    assert standing.best is agent


def standings(**scores):
    """Agents by what they have earned at their defaults."""
    return {key: Standing(ex.QLearning(), ex.QLearning(), s, s) for key, s in scores.items()}


def test_the_best_planner_and_the_best_of_the_others_are_always_searched():
    planners_lead = standings(lookahead=5.0, cached_values=4.0, cached_policy=3.0, sarsa=1.0,
                              q_learning=2.0)  # fmt: skip
    assert worth_searching(planners_lead, 3) == ["lookahead", "q_learning", "cached_values"]
    others_lead = standings(q_learning=5.0, sarsa=6.0, lookahead=-np.inf, cached_policy=0.5)
    assert worth_searching(others_lead, 3) == ["cached_policy", "sarsa", "q_learning"]
    assert worth_searching(standings(sarsa=1.0, lookahead=-np.inf), 3) == ["sarsa"]


def paced(domain, seconds, start, seen, threads=2):
    """How many episodes runs have, and on how many threads, where a step takes 10 ms."""
    trial = Trial(domain, ex.OneHot(), False, threads, 0)
    trying._pace(trial, seen, 0.01, seconds, start)
    return trial.episodes, trial.threads


@pytest.mark.parametrize(("paid", "episodes"), [(-0.5, 60), (0.0, 60), (0.5, 7)])
def test_episodes_may_become_longer_where_living_pays(paid, episodes):
    """24 / 2 seconds on two cores for four runs of 10 steps of 10 ms, or of 80 of them."""
    seen = RandomPlay([paid, paid], [8, 12])
    assert paced(ex.Corridor(), 24.0, 3.0, seen) == (episodes, 2)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (3.0, (2 * 21 * 5 // 4, 2)),  # (24 − 3) seconds twice instead of 24 once
        (11.0, (2 * 13 * 5 // 4, 2)),
        (12.0, (24 * 5 // 4, 1)),  # as much alone
        (100.0, (24 * 5 // 4, 1)),  # all would be over before there is a process
    ],
)
def test_runs_have_processes_where_more_can_be_done_with_them(start, expected):
    """An episode of 10 steps takes 0.1 s; half the time is kept in hand, and runs are four."""
    seen = RandomPlay([-1.0], [10])
    assert paced(world(None), 24.0, start, seen) == expected
    assert paced(ex.Corridor(), 24.0, start, seen) == (2 * 24 * 5 // 4, 2)


def test_where_no_run_ends_in_time_shorter_ones_are_tried_without_processes(capsys, monkeypatch):
    asked = []

    class Scripted(Trial):
        def run(self, agent, runs, deadline, *, first=0, episodes=0):
            asked.append((agent.kind, self.episodes, self.threads))
            if self.episodes > enough:
                raise OutOfTime
            return SimpleNamespace(means=np.ones(runs))

    agents = {"sarsa": ex.Sarsa(), "lookahead": ex.Lookahead()}
    monkeypatch.setattr(trying, "MOST_EPISODES", 100)
    for enough, rounds_made in ((100, 1), (30, 2), (1, 2)):
        trial = Scripted(ex.Corridor(), ex.OneHot(), False, 2, 0, episodes=100)
        found = trying._at_defaults(trial, agents, Promise(1000.0), print)
        attempts = [(100, 2), (25, 1)][:rounds_made]
        assert asked == [(kind, *each) for each in attempts for kind in agents]
        assert found["sarsa"].default_score == (-np.inf if enough == 1 else 1.0)
        told = capsys.readouterr().out.splitlines()
        assert told[0] == "sarsa, lookahead: 4 runs of 100 episodes each"
        assert told[1:] == ["no run has ended in time: 25 episodes each"] * (rounds_made - 1)
        asked.clear()


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.001, [100, 400, 1600, 2000]),  # an episode: until runs are long enough
        (0.01, [100, 400]),  # 1 and 4 seconds for each of the two, and not 16 in what is left
        (0.1, [100]),
    ],
)
def test_runs_become_longer_where_all_end_soon(seconds, expected, monkeypatch, capsys):
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(promise, "time", clock)
    asked = []

    class Scripted(Trial):
        def run(self, agent, runs, deadline, *, first=0, episodes=0):
            asked.append(self.episodes)
            clock.now += seconds * self.episodes
            return SimpleNamespace(means=np.full(runs, float(self.episodes)))

    trial = Scripted(ex.Corridor(), ex.OneHot(), False, 1, 0, episodes=100)
    agents = {"sarsa": ex.Sarsa(), "lookahead": ex.Lookahead()}
    found = trying._at_defaults(trial, agents, Promise(100.0), print)
    assert asked == [each for each in expected for _ in agents]
    assert trial.episodes == found["sarsa"].default_score == expected[-1]
    told = capsys.readouterr().out.splitlines()[1:]
    assert told == [f"there is time for more: {each:,} episodes each" for each in expected[1:]]


def test_longer_runs_that_do_not_end_are_as_if_they_had_not_been():
    class Scripted(Trial):
        def run(self, agent, runs, deadline, *, first=0, episodes=0):
            if (self.episodes > 100 and agent.kind == "lookahead") or agent.kind == "q_learning":
                raise OutOfTime
            return SimpleNamespace(means=np.full(runs, float(self.episodes)))

    trial = Scripted(ex.Corridor(), ex.OneHot(), False, 1, 0, episodes=100)
    agents = {"sarsa": ex.Sarsa(), "lookahead": ex.Lookahead(), "q_learning": ex.QLearning()}
    found = trying._at_defaults(trial, agents, Promise(1000.0), print)
    scores = [each.default_score for each in found.values()]
    assert trial.episodes == 100 and scores == [100.0, 100.0, -np.inf]


def test_whom_to_compare_is_decided_by_runs_before_the_fresh_ones():
    found = standings(lookahead=5.0, cached_values=4.0, sarsa=1.0, q_learning=2.0)
    found["cached_values"].earlier = 5.5  # after the search
    assert best_of_both(found) == ("cached_values", "q_learning")
    assert best_of_both(standings(sarsa=1.0)) == (None, "sarsa")
    lucky = made([1.0, 2.0], [3.0, 5.0])
    agents = {**lucky.agents, "sarsa": Confirmed(ex.Sarsa(), True, np.full((2, 1), 9.0), 1, 1.0)}
    findings = " ".join(dataclasses.replace(lucky, agents=agents).findings())
    assert "Sarsa(λ) learns" in findings and "Algorithm 1 against Q-learning" in findings


def test_variants_differ_from_the_agent_and_from_each_other():
    for agent in (ex.QLearning(1.0), ex.QLearning(0.3), ex.CachedValues(1.0, 1.0, model_step=0.5)):
        found = step_variants(agent)
        assert agent not in found and len(found) == len(set(found)) > 0
    assert {vars(each)["action_step"] for each in step_variants(ex.QLearning(1.0))} <= {
        0.03,
        0.1,
        0.3,
    }


def test_stages_come_one_after_another_and_leave_time_for_the_page():
    ends = LOOKED, trying.PROBED, trying.DEFAULTS, trying.SEARCHED, trying.CONFIRMED
    assert list(ends) == sorted(set(ends)) and ends[0] > 0.0 and ends[-1] < 1.0


def test_steps_that_adapt_are_varied_where_they_begin():
    agent = ex.Lookahead(0.3, ex.Autostep(0.3, 0.1))
    settings: list[Any] = [each.to_dict() for each in step_variants(agent)]
    found = {(each["value_step"], each["model_step"]["initial_step"]) for each in settings}
    assert (0.3, 0.09) in found and (0.03, 0.3) in found and (0.9, 0.09) in found
    assert {each["model_step"]["meta_step"] for each in settings} == {0.1}


@pytest.mark.parametrize("cost", [0.001, 0.05, 2.0])
def test_the_promised_time_is_kept_however_long_an_episode_takes(cost, monkeypatch):
    """By a clock that only episodes move: there are results if two of them fit, and never late."""
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)

    def slow(domain, features, agent, *, episodes, runs, progress, **rest):
        start = clock.now
        for _ in range(episodes * runs):
            clock.now += cost
            progress.check()
        returns = np.full((runs, episodes), 0.1 * agent.epsilon)
        took = {"lengths": np.full((runs, episodes), 5), "seconds": clock.now - start}
        evicted = np.zeros(runs, np.int64)
        return SimpleNamespace(returns=returns, means=returns.mean(axis=1), evicted=evicted, **took)

    monkeypatch.setattr(promise, "time", clock)
    monkeypatch.setattr(trying, "slowness", lambda: 1.0)
    monkeypatch.setattr(rounds, "run", slow)
    found = ex.try_on(ex.Corridor(), 2.0, threads=1, compiled=False, quiet=True)
    assert 60.0 < clock.now < 120.0 - PAGE_SECONDS + cost
    assert bool(found.agents) == (cost < 2.0)
    assert "give more minutes" in found.findings()[0] or cost < 2.0


def test_the_page_has_more_time_on_a_busy_machine():
    assert trying._reserve(300.0, 1.0) == 0.0
    assert trying._reserve(300.0, 5.0) == pytest.approx(5.0 * PAGE_WORK - PAGE_SECONDS)
    assert trying._reserve(300.0, 1000.0) == pytest.approx(60.0 - PAGE_SECONDS)
    assert trying._reserve(15.0, 1000.0) == 0.0


def test_searching_leaves_as_much_time_for_confirming():
    assert trying._searched(0.25) == pytest.approx(0.6)  # 0.35 of it, and as much until 0.95
    assert trying._searched(0.9) == 0.82  # late: none at all
    assert promise.slowness() >= 1.0
    promised = Promise(294.0)
    promised.shorten(54.0)
    assert promised.seconds == 240.0
    promised.shorten(240.5)
    assert promised.seconds == 0.0


def test_all_agents_have_some_fresh_runs_before_any_has_more(monkeypatch):
    """Those that are compared first; one that is out of time has no more."""
    asked = []

    class Scripted(Trial):
        def run(self, agent, runs, deadline, *, first=0, episodes=0):
            asked.append((agent.action_step, first))
            if agent.action_step == 0.2 and first == 2:
                raise OutOfTime
            return SimpleNamespace(
                returns=np.full((runs, 1), agent.action_step), lengths=np.ones((runs, 1), int),
                seconds=1.0, evicted=np.full(runs, 3),
            )  # fmt: skip

    found = standings(sarsa=1.0, lookahead=5.0, q_learning=2.0)
    for step, each in zip((0.1, 0.2, 0.3), found.values(), strict=True):
        each.best = ex.QLearning(step)
    monkeypatch.setattr(trying, "FRESH_RUNS", 6)
    trial = Scripted(ex.Corridor(), ex.OneHot(), False, 2, 0)
    confirmed = trying._confirmed(trial, found, Promise(1000.0))
    assert asked == [(0.2, 0), (0.3, 0), (0.1, 0), (0.2, 2), (0.3, 2), (0.1, 2), (0.3, 4), (0.1, 4)]
    assert [each.returns.shape[0] for each in confirmed.values()] == [6, 2, 6]
    assert [each.steps for each in confirmed.values()] == [6, 2, 6]
    assert confirmed["lookahead"].evicted == 6 and confirmed["lookahead"].seconds == 2.0


def test_features_are_told_in_brief():
    bounds = [(-4.800000190734863, 4.8), (-1.0, 1.0)]
    tiles = ex.Tiles(8, 3, bounds)
    assert features_in_brief(tiles) == "Tiles(tilings=8, tiles=3)"
    assert bounds_in_brief(tiles) == "−4.8 to 4.8, −1 to 1"
    joined = ex.Joined(tiles, ex.Tiles(4, 6, bounds, dimensions=(0, 1)))
    assert features_in_brief(joined) == (
        "Tiles(tilings=8, tiles=3) + Tiles(tilings=4, tiles=6, dimensions=(0, 1))"
    )
    assert bounds_in_brief(joined) == bounds_in_brief(tiles)
    assert features_in_brief(ex.OneHot()) == "OneHot()" and bounds_in_brief(ex.OneHot()) == ""


def test_without_fresh_runs_there_is_a_hint():
    nothing = Tried(
        ex.Gym(HallEnv), ex.OneHot(), np.full(3, -2.5), {}, ("sarsa", "lookahead"), 5, 0, 1.0,
        (None, None), earlier={"sarsa": -1.0, "lookahead": 2.0},
    )  # fmt: skip
    assert nothing.findings() == [
        "No agent could be run often enough in this time (Sarsa(λ), Algorithm 1): give more "
        "minutes. A hint from the runs before, which decide nothing: Algorithm 1 2, Sarsa(λ) −1 an "
        "episode; random play earns −2.5."
    ]
    assert "steps in total" not in str(nothing)  # a table without rows


def test_settings_and_full_models_are_told():
    found = made([1.0, 2.0], [3.0, 5.0])
    assert "Its steps: action_step 0.3 (as it is made)." in found.findings()[0]
    full = dataclasses.replace(found.agents["lookahead"], evicted=7, default=False)
    agents = {**found.agents, "lookahead": full}
    told = dataclasses.replace(found, agents=agents).findings()
    assert "The models of Algorithm 1 had too little room" in told[-1]
    assert "too little room" not in " ".join(found.findings())


def test_nothing_confirmed_is_said_and_leaves_no_spec(tmp_path):
    nothing = Tried(
        ex.Gym(HallEnv), ex.OneHot(), np.zeros(3), {}, (), 5, 0, 1.0, (None, None), tmp_path
    )
    write_folder(nothing, tmp_path)
    assert "give more minutes" in (tmp_path / "report.html").read_text()
    assert nothing.as_data()["best"] is None
    assert not (tmp_path / "spec.toml").exists()


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tried")
    start = time.monotonic()
    found = ex.try_on(
        "outside_worlds:HallEnv", 0.25, folder=folder, threads=1, compiled=False, quiet=True
    )
    assert time.monotonic() - start < 15.0 + 5.0  # a page may take a moment on a busy machine
    return found


def test_the_printed_data_have_the_documented_shape(tried):
    data = json.loads(json.dumps(tried.as_data()))
    assert list(data) == ["environment", "random", "agents", "best", "failed"]
    assert data["environment"] == "outside_worlds:HallEnv"
    assert all(list(row) == ["agent", "settings", "mean", "low", "high"] for row in data["agents"])
    assert data["best"] in {row["agent"] for row in data["agents"]}
    best = next(row for row in data["agents"] if row["agent"] == data["best"])
    assert best["low"] <= best["mean"] <= best["high"]
    assert best["mean"] > data["random"]  # six cells in a row, of which one pays


def test_the_folder_has_a_page_and_a_spec_that_can_be_read(tried):
    page = (tried.folder / "report.html").read_text()
    assert "All agents" in page and page.count('data-label="95 % interval"') == len(tried.agents)
    assert "Does planning pay here" in page or "Whether planning pays" in page
    experiment = read_spec(tried.folder / "spec.toml", trust=True)
    cells = {cell.agent_key: cell.agent for cell in experiment.cells()}
    assert cells == {key: each.agent for key, each in tried.agents.items()}
    assert experiment.seed != tried.seed


@pytest.mark.parametrize(("episodes", "bin"), [(5, 1), (39, 1), (40, 2), (60, 3), (2000, 100)])
def test_a_spec_to_go_on_from_has_twenty_bins_and_other_runs(episodes, bin, tmp_path):
    (tmp_path / "spec.toml").write_text(
        dataclasses.replace(made([1.0], [2.0]), episodes=episodes).spec() or ""
    )
    found = read_spec(tmp_path / "spec.toml", trust=True)
    assert (found.episodes, found.bin, found.runs, found.seed) == (episodes, bin, 30, 1)


def made(planning, other, random=0.0):
    """Something tried, from the mean returns of runs."""
    agents = {
        "lookahead": Confirmed(ex.Lookahead(), True, np.array(planning)[:, None], 10, 1.0),
        "q_learning": Confirmed(ex.QLearning(), True, np.array(other)[:, None], 10, 1.0),
    }
    domain = ex.Gym("outside_worlds:HallEnv")
    pair = ("lookahead", "q_learning")
    return Tried(domain, ex.OneHot(), np.array([random]), agents, ("sarsa",), 1, 0, 1.0, pair)


@pytest.mark.parametrize(
    ("planning", "other", "says"),
    [
        ([5.0, 5.1, 5.2, 5.3], [1.0, 1.2, 1.1, 1.4], "Does planning pay here: yes"),
        ([1.0, 1.2, 1.1, 1.4], [5.0, 5.1, 5.2, 5.3], "Does planning pay here: no"),
        ([1.0, 5.0, 1.0, 5.0], [5.0, 1.0, 5.1, 1.0], "Does planning pay here: unclear"),
    ],
)
def test_whether_planning_pays_is_told_by_paired_runs(planning, other, says):
    findings = " ".join(made(planning, other).findings())
    assert says in findings and "learns" in findings
    assert "Not tried for want of time or memory: Sarsa(λ)" in findings
    assert "is not shown to learn" in made(planning, other, random=9.0).findings()[0]


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


def test_numbers_of_the_table_have_the_minus_of_the_sentences():
    rows = made([-350.25, -351.5], [-1.0, -2.0]).rows()
    assert [row[1:3] for row in rows] == [["−350.9", "−351.5 to −350.2"], ["−1.5", "−2.0 to −1.0"]]


def test_the_command_prints_data_and_nothing_else(tried, monkeypatch, tmp_path):
    monkeypatch.setattr(trying, "try_on", lambda *given, **options: tried)
    done = CliRunner().invoke(
        app, ["try", "outside_worlds:HallEnv", "--json", "--out", str(tmp_path)]
    )
    assert json.loads(done.stdout) == json.loads(json.dumps(tried.as_data()))


class Timed(Trial):
    """A trial in which an episode of ten steps takes so many ``milliseconds``."""

    milliseconds = 1.0
    left = 10**9

    def run(self, agent, runs, deadline, *, first=0, episodes=0):
        self.left -= episodes * runs
        if self.left < 0:
            raise OutOfTime
        seconds = episodes * self.milliseconds / 1000
        return SimpleNamespace(seconds=seconds, lengths=np.full((runs, episodes), 10))


@pytest.mark.parametrize(
    ("milliseconds", "left", "expected", "used"),
    [
        (200.0, 10**9, 0.02, 2),  # two episodes take 0.4 seconds, which is enough
        (150.0, 10**9, 0.015, 2 + 8),  # not more than 0.3
        (10.0, 10**9, 0.001, 2 + 8 + 32),
        (0.001, 10**9, 1e-7, 2 + 8 + 32 + 128 + 512 + 2048),
        (100.0, 1, np.inf, None),
        (0.001, 20, 1e-7, None),  # what was known when time was over
    ],
)
def test_a_step_is_timed_by_more_and_more_episodes(milliseconds, left, expected, used):
    trial = Timed(ex.Corridor(), ex.OneHot(), False, 1, 0)
    trial.milliseconds, trial.left = milliseconds, left
    found = rounds.seconds_a_step(trial, ex.QLearning(), Deadline(time.monotonic() + 100.0))
    assert found == pytest.approx(expected)
    assert used is None or left - trial.left == used


@pytest.mark.parametrize(
    ("minutes", "compiled", "expected"),
    [
        (1000.0, False, ["small", "quick"]),  # all but what does not fit into memory
        (1e-9, False, ["quick"]),  # what was compiled before, where there is no time
        (1e-9, True, ["small", "quick"]),
    ],
)
def test_agents_are_run_that_were_compiled_in_time(minutes, compiled, expected, monkeypatch):
    agents = {"small": ex.QLearning(), "large": ex.Lookahead(), "quick": ex.Sarsa()}

    def compile_loop(job):
        if job.agent == agents["large"]:
            raise TooLargeError("too large")

    def is_compiled(job):
        return compiled or job.agent == agents["quick"]

    def out_of_time(orders, deadline):
        raise OutOfTime

    monkeypatch.setattr(rounds, "compile_ahead", out_of_time)
    monkeypatch.setattr(rounds, "compile_loop", compile_loop)
    monkeypatch.setattr(rounds, "loop_is_compiled", is_compiled)
    trial = Trial(ex.Corridor(), ex.OneHot(), None, 1, 0)
    assert rounds.compile_in_time(trial, agents, Promise(minutes)) == expected
    plain = dataclasses.replace(trial, compiled=False)
    assert rounds.compile_in_time(plain, agents, Promise(minutes)) == list(agents)


@pytest.mark.parametrize(
    ("ready", "stops_at"),
    [
        (["q_learning", "lookahead"], 55.0),
        (["sarsa", "lookahead"], 55.0),
        (["lookahead"], 75.0),
        (["q_learning", "sarsa"], 75.0),
        ([], 75.0),
    ],
)
def test_compiling_goes_on_where_nothing_could_be_compared(ready, stops_at, monkeypatch):
    """What is left after it is then divided as it would have been: 0.6 is a ninth of the rest."""
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)

    def compile_until_told(orders, deadline):
        while True:
            deadline.check()
            clock.now += 0.5

    monkeypatch.setattr(promise, "time", clock)
    monkeypatch.setattr(rounds, "compile_ahead", compile_until_told)
    monkeypatch.setattr(rounds, "compile_loop", lambda job: None)
    monkeypatch.setattr(rounds, "loop_is_compiled", lambda job: job.agent.kind in ready)
    promised = Promise(100.0)
    trial = Trial(ex.Corridor(), ex.OneHot(), None, 1, 0)
    agents = {"q_learning": ex.QLearning(), "sarsa": ex.Sarsa(), "lookahead": ex.Lookahead()}
    assert rounds.compile_in_time(trial, agents, promised) == ready
    assert stops_at <= clock.now <= stops_at + 0.5
    assert promised.until(1.0).left() == pytest.approx(100.0 - clock.now)
    assert promised.until(0.6).left() == pytest.approx((100.0 - clock.now) / 9)


def test_a_promise_goes_on_from_where_it_is_and_never_gets_longer(monkeypatch):
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(promise, "time", clock)
    promised = Promise(100.0)
    clock.now = 40.0
    promised.go_on_from(0.5)
    assert (promised.start, promised.seconds) == (0.0, 100.0)
    clock.now = 130.0
    promised.go_on_from(0.5)
    assert promised.until(1.0).left() == -30.0 and promised.part(1.0, 2).left() == 0.0


def test_a_deadline_is_put_off_once_and_not_if_it_is_brought_on(monkeypatch):
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(promise, "time", clock)
    deadline = PutOff(Deadline(1.0), Deadline(3.0), lambda: False)
    assert deadline.left() == 1.0
    clock.now = 1.0
    assert deadline.left() == 2.0
    clock.now = 3.5
    assert deadline.left() == -0.5
    brought_on = PutOff(Deadline(4.0), Deadline(5.0), lambda: False)
    brought_on.bring_on()
    assert brought_on.left() < 0.0


@pytest.mark.parametrize(
    ("means", "expected"), [([1.0, 3.0], 2.0), ([1.0, np.nan], -np.inf), ([np.inf], -np.inf)]
)
def test_a_diverged_run_is_the_worst_there_is(means, expected):
    result: Any = SimpleNamespace(means=np.array(means))
    assert rounds.mean_return(result) == expected


@pytest.mark.parametrize(("left", "episodes"), [(0.3, 5), (0.0, 5), (10**9, 2_000)])
def test_runs_are_neither_too_short_nor_too_long(left, episodes):
    assert paced(ex.Corridor(), left, 3.0, RandomPlay([-1.0], [10]), threads=1)[0] == episodes


def test_fresh_runs_are_shorter_where_none_has_ended_in_time():
    asked = []

    class Scripted(Trial):
        def run(self, agent, runs, deadline, *, first=0, episodes=0):
            asked.append(self.episodes)
            raise OutOfTime

    for score, episodes, expected in ((-np.inf, 100, 25), (-np.inf, 8, 5), (1.0, 100, 100)):
        trial = Scripted(ex.Corridor(), ex.OneHot(), False, 1, 0, episodes=episodes)
        assert trying._confirmed(trial, standings(sarsa=score), Promise(1000.0)) == {}
        assert asked.pop() == expected and not asked


def test_what_is_tried_is_told(monkeypatch, capsys):
    def quick(domain, features, agent, *, episodes, runs, seed, **rest):
        seeds.add(seed)
        returns = np.full((runs, episodes), 1.0)
        took = {"lengths": np.full((runs, episodes), 5), "seconds": 1.0}
        evicted = np.zeros(runs, np.int64)
        return SimpleNamespace(returns=returns, means=returns.mean(axis=1), evicted=evicted, **took)

    seeds: set[int] = set()
    monkeypatch.setattr(rounds, "run", quick)
    monkeypatch.setattr(trying, "slowness", lambda: 2.5)
    ex.try_on(ex.Corridor(), 1.0, threads=1, compiled=False, seed=5)
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("trying 2 actions of Corridor(") and told[0].endswith("random play")
    assert told[1] == "the machine is busy: work takes 2.5 times as long as alone"
    assert told[2] == "9 features, 1 at once: OneHot(); compiling"
    assert told[3].startswith("q_learning, lookahead, cached_values, sarsa, cached_policy: 4 runs")
    assert told[-2] == "searching better steps of lookahead, q_learning, cached_values"
    assert told[-1] == "confirming on fresh runs"
    assert seeds == {5, 6, 7}  # the defaults, the search and what confirms it share no run


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"minutes": 0.0}, "minutes must be a finite number above 0"),
        ({"minutes": np.inf}, "minutes must be"),
        ({"seed": -1}, "seed must be"),
        ({"threads": 0}, "threads must be"),
        ({"compiled": 1}, "compiled must be"),
        ({"quiet": 1}, "quiet must be"),
    ],
)
def test_what_cannot_be_tried_is_refused(wrong, told):
    with pytest.raises(ValueError, match=f"try_on: {told}"):
        ex.try_on(ex.Corridor(), **wrong)


def test_what_is_left_of_a_promise_is_divided_and_nothing_is_left_of_none(monkeypatch):
    clock: Any = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(promise, "time", clock)
    promised = Promise(60.0)
    clock.now += 10.0
    assert promised.part(0.5, 4).left() == pytest.approx(5.0)
    assert promised.part(0.5, 0).left() == pytest.approx(20.0)
    clock.now += 30.0
    assert promised.part(0.5, 2).left() == 0.0


def with_another(returns, pair=("lookahead", "q_learning")):
    """Two that were picked before, at 1 to 1.4 and 1.1 to 1.5, and another planner."""
    found = made([1.0, 1.2, 1.1, 1.4], [1.4, 1.1, 1.2, 1.5])
    planner = Confirmed(ex.CachedPolicy(), True, np.array(returns)[:, None], 10, 1.0)
    agents = {**found.agents, "cached_policy": planner}
    return dataclasses.replace(found, agents=agents, compared=pair).findings()


def test_a_pair_is_said_to_be_picked_by_earlier_runs():
    told = made([5.0, 5.1, 5.2, 5.3], [1.0, 1.2, 1.1, 1.4]).findings()[1]
    assert "Algorithm 1 against Q-learning, the best of each kind by earlier runs: +3.975" in told


def test_a_planner_that_fresh_runs_put_above_the_picked_one_is_named():
    """The differences are 4, 4.2, 4, 4.2: their mean 4.1 and, with t of 3 degrees, ± 0.184."""
    told = with_another([5.0, 5.4, 5.1, 5.6])
    assert told[1].startswith("Does planning pay here: unclear; Algorithm 1 against Q-learning")
    assert told[2].startswith(
        "In the fresh runs Algorithm 3 earned more than Algorithm 1: +4.1 an episode (3.916 to 4.284)"
    )


@pytest.mark.parametrize(("returns", "pair"), [
    ([1.0, 5.0, 1.0, 1.3], ("lookahead", "q_learning")),  # not clearly above
    ([0.0, 0.1, 0.0, 0.2], ("lookahead", "q_learning")),  # below
    ([np.nan, 5.4, 5.1, 5.6], ("lookahead", "q_learning")),
    ([5.0, 5.4, 5.1, 5.6], ("cached_policy", "q_learning")),  # picked itself
    ([5.0, 5.4, 5.1, 5.6], ("lookahead", None)),  # nothing was compared
])  # fmt: skip
def test_no_other_planner_is_named_without_reason(returns, pair):
    assert "In the fresh runs" not in " ".join(with_another(returns, pair))


def test_agents_that_all_diverged_are_not_called_short_of_time():
    """The agent that was left out is."""
    assert made([np.nan, 1.0], [2.0, np.nan]).findings() == [
        "Of every agent that was run a run diverged: Algorithm 1, Q-learning. Not tried for want of "
        "time or memory: Sarsa(λ)."
    ]


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        (("lookahead", "q_learning"), "no run ended in time to pick whom to compare"),
        (("lookahead",), "agents of one kind only were run"),
        (("q_learning",), "agents of one kind only were run"),
    ],
)
def test_why_it_cannot_be_told_whether_planning_pays(kept, why):
    found = made([1.0, 2.0], [3.0, 5.0])
    agents = {key: found.agents[key] for key in kept}
    told = dataclasses.replace(found, agents=agents, compared=(None, None)).findings()
    assert told[1] == f"Whether planning pays cannot be told: {why}."


class Failing(HallEnv):
    """Fails or hangs in a step that is counted over all episodes."""

    def __init__(self, step: int, hangs: bool = False) -> None:
        super().__init__()
        self.step_of_trouble, self.hangs, self.taken = step, hangs, 0

    def step(self, action):
        self.taken += 1
        if self.taken == self.step_of_trouble:
            if self.hangs:
                time.sleep(1000.0)
            raise RuntimeError("motor broke")
        return super().step(action)


def test_an_environment_that_fails_late_is_named_on_the_page(tmp_path):
    """It lasts for a few episodes of random play, and for no run of any agent."""
    found = ex.try_on(
        lambda: Failing(90), 0.2, folder=tmp_path, threads=1, compiled=False, quiet=True
    )
    told = " ".join(found.findings())
    assert "The environment failed in runs of " in told and "RuntimeError: motor broke" in told
    assert re.search(r"in step of run \d+, episode \d+, step \d+ of <Failing", told)
    assert "motor broke" in (tmp_path / "report.html").read_text()
    assert found.as_data()["failed"] == found.failed
    assert {"random play", "Q-learning"} <= set(found.failed)


def test_random_play_that_fails_after_enough_episodes_is_told():
    seen = play_at_random(ex.Gym(lambda: Failing(200)), Deadline(time.monotonic() + 100.0), 0)
    assert 3 <= len(seen.returns) < 100
    assert re.search(r"motor broke .*in step of run 0, episode \d+, step \d+", seen.failure)
    with pytest.raises(ex.WorldError, match=r"motor broke .*in step of run 0, episode 0, step 2"):
        play_at_random(ex.Gym(lambda: Failing(2)), Deadline(time.monotonic() + 100.0), 0)


class Blinded(HallEnv):
    """Sees what is no number in a step that is counted over all episodes."""

    def __init__(self, step: int) -> None:
        super().__init__(BOX(0.0, float(CELLS), (2,)))
        self.step_of_trouble, self.taken = step, 0

    def step(self, action):
        self.taken += 1
        return super().step(action)

    def seen(self):
        blind = self.taken == self.step_of_trouble
        return np.full(2, np.nan) if blind else super().seen()


def test_random_play_does_not_overlook_what_is_no_number():
    """Not even where bounds need no estimate; what was seen before counts."""
    seen = play_at_random(ex.Gym(lambda: Blinded(200)), Deadline(time.monotonic() + 100.0), 0)
    assert 3 <= len(seen.returns) < 100
    assert np.isfinite([seen.low, seen.high]).all()  # type: ignore[arg-type]
    assert re.match(
        r"observation: component 0 must be a finite number, got nan, in run 0, episode \d+, step \d+",
        seen.failure,
    )
    with pytest.raises(ex.WorldError, match="got nan, in run 0, episode 0, step 2 of"):
        play_at_random(ex.Gym(lambda: Blinded(2)), Deadline(time.monotonic() + 100.0), 0)
    with pytest.raises(ex.WorldError, match="got nan, in run 0, episode 0, step 0 of"):
        play_at_random(ex.Gym(lambda: Blinded(0)), Deadline(time.monotonic() + 100.0), 0)


def test_random_play_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(watched, "GRACE", 0.3)
    start = time.monotonic()
    with pytest.raises(
        TimeoutError,
        match=r"Gym\(.*: no answer for \d+ s in step of run 0, episode 0, step 2: it hangs, or",
    ):
        play_at_random(ex.Gym(lambda: Failing(2, hangs=True)), Deadline(start + 0.5), 0)
    assert time.monotonic() - start < 20.0


def test_a_run_that_hangs_ends_at_its_deadline_too(monkeypatch):
    monkeypatch.setattr(watched, "GRACE", 0.3)
    trial = Trial(ex.Gym(lambda: Failing(50, hangs=True)), ex.OneHot(), False, 1, 0, episodes=99)
    start = time.monotonic()
    with pytest.raises(OutOfTime):
        trial.run(ex.QLearning(), 1, Deadline(start + 0.5))
    assert time.monotonic() - start < 20.0
    assert re.search(r"no answer for \d+ s in step of run 0", trial.failed["q_learning"])


def test_failures_are_told_once_in_full_and_are_not_called_want_of_time():
    found = made([1.0, 2.0], [3.0, 5.0])
    said = {"Sarsa(λ)": "broke in step of run 1", "Algorithm 3": "broke in step of run 2"}
    told = dataclasses.replace(found, failed=said, left_out=("sarsa", "cached_values")).findings()
    assert told[-2:] == [
        "Not tried for want of time or memory: Algorithm 2.",
        "The environment failed in runs of Sarsa(λ), Algorithm 3; with Sarsa(λ): broke in step of "
        "run 1.",
    ]
    nothing = dataclasses.replace(found, agents={}, failed=said, left_out=("sarsa",)).findings()
    assert nothing == [
        "No agent could be run to its end. The environment failed in runs of Sarsa(λ), Algorithm "
        "3; with Sarsa(λ): broke in step of run 1."
    ]


def test_the_time_for_random_play_is_told_as_it_is():
    endless = ex.Gym(lambda: Failing(10**9, hangs=True))
    with pytest.raises(
        ValueError, match=r"they may, 8 % of the time \(\S+e-0\d s\), after 0 of them"
    ):
        play_at_random(endless, Deadline(time.monotonic() + 1e-5), 0)


def test_the_clock_starts_when_the_environment_is_imported(monkeypatch):
    """Which here takes as long as all that was promised."""
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)

    def slow_import() -> HallEnv:
        clock.now += 3.0
        return HallEnv()

    monkeypatch.setattr(promise, "time", clock)
    monkeypatch.setattr(trying, "slowness", lambda: 1.0)
    left: list[float] = []

    def play(domain, deadline, seed):
        left.append(deadline.left())
        raise InterruptedError

    monkeypatch.setattr(trying, "play_at_random", play)
    with pytest.raises(InterruptedError):
        ex.try_on(slow_import, 0.05, compiled=False, quiet=True)
    assert left == [pytest.approx(LOOKED * 0.8 * 3.0)]


def test_what_is_given_as_a_class_goes_by_its_name(tmp_path):
    found = dataclasses.replace(made([1.0, 2.0], [3.0, 5.0]), domain=ex.Gym(HallEnv))
    assert found.environment == "HallEnv" and found.command == "ex.try_on(HallEnv, 1)"
    assert repr(found) == "Tried(HallEnv: 2 agents, best Q-learning; print it for more)"
    assert made([1.0], [2.0]).command == "expectant try outside_worlds:HallEnv --minutes 1"
    write_folder(found, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "ex.try_on(HallEnv, 1)" in page and "&lt;class" not in page


def test_an_agent_that_hangs_leaves_time_to_look_at_the_others(monkeypatch):
    """All that it is given is a share of what is left until looking ends."""
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    looked = []

    def hangs(trial, agent, deadline):
        looked.append((agent.kind, round(deadline.left(), 1)))
        clock.now += deadline.left()
        return np.inf

    monkeypatch.setattr(promise, "time", clock)
    monkeypatch.setattr(trying, "slowness", lambda: 1.0)
    monkeypatch.setattr(trying, "seconds_a_step", hangs)
    ex.try_on(ex.Corridor(), 10.0, compiled=False, quiet=True)
    assert len(looked) == 5 and len({seconds for _, seconds in looked}) == 1
