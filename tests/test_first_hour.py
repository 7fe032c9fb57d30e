"""What a new user meets: hints, meanings, results that are not lost, and what prints."""

from __future__ import annotations

import shutil

import pytest
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.experiments.best import best
from expectant.experiments.curves import CURVES, settings_hashes
from expectant.experiments.reproduce import choose_target
from expectant.experiments.store import TRIALS
from expectant.experiments.study import QUICK_RUNS, StudyConfig, read_study

PAPER = read_study()


def test_help_lists_the_parameters():
    shown = " ".join(CliRunner().invoke(app, ["show", "lookahead"]).output.split())
    assert "backups after every real step" in shown and "whole number, 0 or more" in shown
    assert "planning_steps: backups after every real step (default 10)" in str(ex.Lookahead.__doc__)


@pytest.mark.parametrize(
    ("call", "given", "meant"),
    [
        (ex.QLearning, {"alpha": 0.1}, "'action_step'?"),
        (ex.Lookahead, {"lr": 0.1}, "'value_step' or 'model_step'?"),
        (ex.Lookahead, {"value_step": 0.1, "gamma": 0.9}, "'discount'?"),
        (ex.Lookahead, {"value_step": 0.1, "planing_steps": 5}, "'planning_steps'?"),
        (ex.step_sizes.Autostep, {"alpha": 0.1}, "'initial_step'?"),
        (ex.run, {"n_episodes": 5}, "run: unknown argument n_episodes=5, did you mean 'episodes'?"),
        (ex.run, {"max_episode_steps": 5}, "'step_limit'?"),
        (ex.run, {"total_timesteps": 5}, "'steps'?"),
        (ex.compare, {"n_jobs": 5}, "'threads'?"),
        (ex.evaluate, {"episode": 5}, "'episodes'?"),
    ],
)
def test_names_from_elsewhere_get_a_hint(call, given, meant):
    with pytest.raises((ValueError, TypeError), match="did you mean") as error:
        call(**given)
    assert str(error.value).endswith(meant)


@pytest.mark.parametrize(
    ("before", "now", "place"),
    [
        ({}, {}, ""),
        ({}, {"quick": True}, "quick"),
        ({}, {"figures": ("1", "5a"), "quick": True}, "figure-1-figure-5a-quick"),
        ({"runs": QUICK_RUNS + 1}, {"quick": True}, "quick"),
        ({"quick": True}, {}, ""),
        ({"figures": ("5a",)}, {"figures": ("5b",)}, "figure-5b"),
        ({"figures": ("5a",)}, {"figures": ("5a", "5b")}, ""),
    ],
)
def test_less_never_replaces_more(before, now, place, tmp_path, monkeypatch):
    earlier = StudyConfig(PAPER, **{"figures": PAPER.figures, **before})
    facts = {**earlier.facts(), "trials": settings_hashes(earlier.trials)}
    (tmp_path / CURVES).touch()
    monkeypatch.setattr("expectant.experiments.reproduce.read_facts", lambda path: facts)
    request = StudyConfig(PAPER, **{"figures": PAPER.figures, **now})
    assert choose_target(request, tmp_path) == tmp_path / place


def test_best_works_on_an_unfinished_sweep(tmp_path, capsys):
    whole, part = tmp_path / "whole", tmp_path / "part"
    ex.Sweep(
        domain=ex.Corridor(cells=3), features=ex.OneHot(), episodes=6, bin=2, runs=4,
        agents={"plain": ex.QLearning.paper(0.1)},
        grid={"agents.plain.action_step": [0.01, 0.1, 0.5]},
    ).run(whole, compiled=False)  # fmt: skip
    shutil.copytree(whole, part)
    (part / TRIALS).unlink()  # which is written last
    assert best(part).choices[0].best == best(whole).choices[0].best
    assert "not finished" in capsys.readouterr().err
    next((part / "runs").iterdir()).unlink()
    (choice,) = best(part).choices
    assert (choice.tried, len(choice.group.unfinished)) == (2, 1)
