"""What a new user meets: hints, meanings, names, results that are not lost, and what prints."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import expectant as ex
from expectant.analysis.panel import Panel
from expectant.catalogue import catalogue
from expectant.cli import app
from expectant.descriptions import KINDS, OPTIONS
from expectant.lab.choosing.best_command import best
from expectant.lab.choosing.stages import Choice
from expectant.lab.reproduce import place_for
from expectant.lab.request import QUICK_RUNS, Request
from expectant.lab.store.cell_tables import CELLS
from expectant.lab.store.results import CURVES
from expectant.lab.study import the_paper, word_for
from expectant.meanings import MEANINGS
from expectant.rules import whole
from expectant.show.page_tables import curve_table

PAPER = the_paper()


# ------------------------------------------------------------------------- options and meanings


def test_every_option_of_every_part_has_a_meaning():
    """Put a new one into expectant/meanings.py, or give ``option(..., meaning=…)``."""
    silent = [
        f"{entry['name']}.{option['name']}"
        for entry in catalogue()
        for option in entry["options"]
        if KINDS[entry["kind"]].__module__.startswith("expectant.") and not option["meaning"]
    ]
    assert silent == []


def test_no_meaning_is_left_over_by_a_class():
    named = {entry["name"] for entry in catalogue()}
    assert {key.split(".")[0] for key in MEANINGS if "." in key} <= named


def test_show_and_help_tell_what_options_mean():
    shown = CliRunner().invoke(app, ["show", "lookahead"]).output
    for told in (shown, ex.Lookahead.__doc__ or ""):
        assert "backups after every real step" in told and "whole number, 0 or more" in told
    text = next(entry for entry in catalogue() if entry["name"] == "Lookahead")["text"]
    assert OPTIONS.strip() not in text.splitlines()


def test_an_option_of_ones_own_says_what_it_means():
    @ex.description
    class OwnDecay(ex.Features):
        """Features that fade."""

        amount: int = ex.option(whole(1), default=3, meaning="how much fades")

    try:
        assert "amount: how much fades; a whole number, 1 or more (default 3)" in (
            OwnDecay.__doc__ or ""
        )
    finally:
        KINDS.pop("own_decay")


@pytest.mark.parametrize(
    ("agent", "given", "meant"),
    [
        (ex.QLearning, {"alpha": 0.1}, "'action_step'?"),
        (ex.Lookahead, {"lr": 0.1}, "'value_step' or 'model_step'?"),
        (ex.Lookahead, {"value_step": 0.1, "gamma": 0.9}, "'discount'?"),
        (ex.Lookahead, {"value_step": 0.1, "n_planning_steps": 5}, "'planning_steps'?"),
        (ex.Lookahead, {"value_step": 0.1, "planing_steps": 5}, "'planning_steps'?"),
        (ex.Autostep, {"alpha": 0.1}, "'initial_step'?"),
        (ex.IDBD, {"alpha": 0.1}, "'initial_step'?"),
    ],
)
def test_names_from_elsewhere_get_a_hint(agent, given, meant):
    with pytest.raises(ValueError, match=r"unknown option \w+=[\d.]+, did you mean ") as error:
        agent(**given)
    assert str(error.value).endswith(f"did you mean {meant}")


@pytest.mark.parametrize(
    ("call", "given", "meant"),
    [
        (ex.run, {"n_episodes": 5}, "run: unknown argument n_episodes=5, did you mean 'episodes'?"),
        (ex.run, {"max_episode_steps": 5}, "'step_limit'?"),
        (ex.compare, {"n_runs": 5}, "'runs'?"),
        (ex.try_on, {"minute": 5}, "'minutes'?"),
        (ex.evaluate, {"episode": 5}, "'episodes'?"),
    ],
)
def test_arguments_that_a_function_does_not_have_get_a_hint(call, given, meant):
    with pytest.raises(TypeError) as error:
        call(**given)
    assert str(error.value).endswith(meant)


def test_the_version_is_told():
    assert CliRunner().invoke(app, ["--version"]).output == f"expectant {ex.__version__}\n"


# --------------------------------------------------------------------- results are not replaced


def facts_of(request):
    return {**request.facts(), "study": word_for(PAPER.folder)}


@pytest.mark.parametrize(
    ("before", "now", "place"),
    [
        ({}, {}, ""),
        ({}, {"quick": True}, "quick"),
        ({}, {"runs": 7}, "runs-7"),
        ({}, {"figures": ("5a",)}, "figure-5a"),
        ({}, {"figures": ("1", "5a"), "quick": True}, "figure-1-figure-5a-quick"),
        ({"runs": QUICK_RUNS + 1}, {"quick": True}, "quick"),
        ({"quick": True}, {}, ""),
        ({"quick": True}, {"runs": QUICK_RUNS}, ""),
        ({"figures": ("5a",)}, {}, ""),
        ({"figures": ("5a",)}, {"figures": ("5b",)}, "figure-5b"),
        ({"figures": ("5a",)}, {"figures": ("5a", "5b")}, ""),
        ({}, {"agents": ("seen",)}, "seen"),
        ({"agents": ("seen",)}, {"agents": ("seen", "all")}, ""),
    ],
)
def test_less_never_replaces_more(before, now, place, tmp_path, monkeypatch):
    earlier = Request(PAPER, **{"figures": PAPER.figures, **before})
    (tmp_path / CURVES).touch()
    monkeypatch.setattr("expectant.lab.reproduce.read_facts", lambda path: facts_of(earlier))
    request = Request(PAPER, **{"figures": PAPER.figures, **now})
    assert place_for(request, tmp_path) == tmp_path / place


def test_an_empty_folder_takes_anything(tmp_path):
    assert place_for(Request(PAPER, ("1",), quick=True), tmp_path) == tmp_path


# --------------------------------------------------------------------------------- choosing


def choice_of(settings, best):
    group = SimpleNamespace(rows=np.arange(len(next(iter(settings.values())))), settings=settings)
    return Choice(group, "halves", best, best, None, None, (), 3, 0)  # type: ignore[arg-type]


def test_a_winner_at_the_edge_of_its_grid_is_marked():
    grid = {"agent.value_step": [0.01, 0.1, 1.0], "agent.maintained": [True, False, True]}
    assert choice_of(grid, 0).at_edge == ("agent.value_step",)
    assert choice_of(grid, 1).at_edge == ()
    assert choice_of(grid, 2).at_edge == ("agent.value_step",)
    assert choice_of({"agent.value_step": [0.1, 0.2]}, 0).at_edge == ()
    assert choice_of({"agent.model": ["a", "b", "c"]}, 0).at_edge == ()


SWEEP: dict[str, Any] = {
    "domain": ex.Corridor(cells=3),
    "features": ex.OneHot(),
    "agents": {"plain": ex.QLearning(0.1)},
    "grid": {"agents.plain.action_step": [0.01, 0.1, 0.5]},
    "episodes": 6,
    "bin": 2,
    "runs": 4,
}


def test_best_works_on_a_sweep_that_has_not_come_to_its_end(tmp_path, capsys):
    whole_one, cut = tmp_path / "whole", tmp_path / "cut"
    ex.Sweep(**SWEEP).run(whole_one, compiled=False)
    shutil.copytree(whole_one, cut)
    (cut / CELLS).unlink()  # which is written last
    expected, found = best(whole_one), best(cut)
    assert found.choices[0].best == expected.choices[0].best
    assert "not finished" in capsys.readouterr().err
    next((cut / "blocks").iterdir()).unlink()
    found = best(cut)
    assert (found.choices[0].tried, len(found.choices[0].group.unfinished)) == (2, 1)


# ------------------------------------------------------------------------ steps, environments


def test_a_budget_of_steps_is_told_as_rewards_of_steps():
    panel = Panel("a", "", "", 5, None, np.nan, {"q": np.ones((2, 4))}, {"q": "Q"},
                  unit="step", quantity="reward per step")  # fmt: skip
    table = curve_table([panel], {})
    heads = [column.header for column in table.columns]
    assert "all steps" in heads and "reward per step" in str(table.title)
    assert list(table.columns[heads.index("ε-greedy on q*")].cells) == [""]


ENVIRONMENT = """
import gymnasium

class Own(gymnasium.Env):
    def __init__(self, length=3):
        self.observation_space = gymnasium.spaces.Discrete(length)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.at = 0
    def reset(self, seed=None, options=None):
        self.at = 0
        return 0, {}
    def step(self, action):
        self.at += 1
        return min(self.at, self.observation_space.n - 1), 1.0, self.at >= 2, False, {}
"""


def test_a_class_of_ones_own_is_named_by_its_place(tmp_path, monkeypatch):
    (tmp_path / "own_worlds.py").write_text(ENVIRONMENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    domain = ex.Gym("own_worlds:Own", length=5)
    assert (domain.states, domain.actions) == (5, 2)
    assert domain.from_dict(domain.to_dict(), trust=True) == domain
    assert "own_worlds" in domain.provenance
    result = ex.run(domain, ex.OneHot(), ex.QLearning(0.1), episodes=2, runs=1, compiled=False)
    assert result.returns.tolist() == [[2.0, 2.0]]
    with pytest.raises(ValueError, match="cannot import 'no_such_worlds'"):
        _ = ex.Gym("no_such_worlds:Own").actions


def test_what_users_get_says_what_it_is():
    learner = ex.Learner(ex.QLearning(0.1), ex.OneHot(), 2, states=4, compiled=False)
    assert repr(learner).startswith("Learner(QLearning(") and "nothing learned" in repr(learner)
    learner.start(0)
    assert "in an episode" in repr(learner)
    panel = Panel("5a", "", "text", 5, None, 1.0, {"q": np.ones((2, 4))}, {"q": "Q"})
    assert repr(panel) == "Panel(text/5a: return per episode of q (2, 4))"
    assert repr(whole(1)) == "Rule('a whole number, 1 or more')"
    sweep = ex.Sweep(
        domain=ex.Corridor(), features=ex.OneHot(), agents={"q": ex.QLearning(0.1)}, episodes=10,
        runs=3, grid={"agents.q.action_step": [0.1, 0.2]},
    )  # fmt: skip
    assert repr(sweep) == "Sweep(sweep: 2 cells of q, 3 runs of 10 episodes each)"


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (
            ex.exact.FixedPoint(np.array([1.0, 2.0]), np.ones((9, 2)), np.zeros((9, 2)), 13.916666),
            "FixedPoint(weights [1, 2], action_values (9, 2) from 1 to 1, policy (9, 2) from 0 to 0,"
            " start_return 13.92)",
        ),
        (
            ex.exact.LinearModel(np.full((2, 2), np.nan), np.arange(5.0)),
            "LinearModel(matrix (2, 2), rewards (5,) from 0 to 4)",
        ),
        (
            ex.analysis.Interval(np.array(0.5), np.array(0.25), np.array(1.0)),
            "Interval(mean 0.5, low 0.25, high 1)",
        ),
        (
            ex.exact.SubtaskSolution(np.zeros(3), np.ones((3, 2)), np.array([True, False, True])),
            "SubtaskSolution(values [0, 0, 0], policy (3, 2) from 1 to 1, stop [1, 0, 1])",
        ),
        (
            ex.diagnostics.Errors(np.array([2, 4]), np.ones((2, 2)), np.ones((2, 2))),
            "Errors(episodes [2, 4], model (2, 2) from 1 to 1, value (2, 2) from 1 to 1)",
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_arrays_are_told_in_brief(found, shown):
    assert repr(found) == shown


def test_a_study_says_its_name_and_what_is_in_it():
    found = the_paper()
    assert repr(found).startswith(f"Study({found.name}: ") and len(repr(found)) < 200
