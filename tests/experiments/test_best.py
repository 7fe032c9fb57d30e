"""Selection with held-out runs, on sweeps with made-up curves whose best settings are known."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from experiments.sweeping import config_text as tiny_text
from experiments.synthetic import config_text, write_sweep
from scipy import stats
from typer.testing import CliRunner

import expectant as ex
from expectant.cli import app
from expectant.experiments.best import FRESH, HALVES, best, choose_in_group
from expectant.experiments.config_file import parse_config
from expectant.experiments.metrics import METRICS
from expectant.experiments.store import Store
from expectant.experiments.sweep import run_sweep
from expectant.experiments.sweep_report import report_sweep

run = CliRunner()


def test_metrics_are_means_of_some_bins(folder):
    curves = folder.curves(7)
    assert curves.shape == (8, 20)
    for name, first in (("mean", 0), ("final", 15), ("after-switch", 10)):
        found = folder.compute_metric(METRICS[name])
        np.testing.assert_allclose(found[7], curves[:, first:].mean(axis=1))
    with pytest.raises(ValueError, match="--metric shortfall: compares with acting"):
        folder.compute_metric(METRICS["shortfall"])


def test_halves_pick_and_report_with_different_runs(folder):
    """The second half cannot change the choice, only its reported value."""
    group, values = folder.groups[2], folder.values.copy()
    before = choose_in_group(group, values)
    assert before.stage == HALVES and before.best is not None
    assert folder.columns["trial"][before.best] == (
        "domain.slip=0/ahead model_step=0.1 value_step=0.1"
    )
    values[before.best, 4:] -= 100.0
    after = choose_in_group(group, values)
    assert after.best == before.best
    assert before.reported is not None and after.reported is not None
    assert after.reported["mean"] == pytest.approx(before.reported["mean"] - 100.0)


def test_diverged_settings_are_counted_and_never_best(folder):
    group, values = folder.groups[2], folder.values.copy()
    steps = group.settings["agent.value_step"]
    wild = [row for row, step in zip(group.rows, steps, strict=True) if step == 1.0]
    values[wild, 2:] = 1e6  # their other runs are splendid
    found = choose_in_group(group, values)
    assert (found.tried, found.diverged) == (25, 5)
    assert found.best not in wild
    values[group.rows, 0] = np.nan
    nothing = choose_in_group(group, values)
    assert nothing.best is None and nothing.diverged == 25


def test_the_command_prints_and_writes(place, tmp_path):
    folder = shutil.copytree(place, tmp_path / "sweep")
    found = run.invoke(app, ["best", str(folder), "--metric", "final"])
    assert found.exit_code == 0, found.output
    assert "Chosen by the first half" in found.stdout and "verdict" in found.stdout
    data = json.loads((folder / "best.json").read_text())
    assert data["metric"] == "final" and len(data["choices"]) == 4
    choice = data["choices"][2]
    assert choice["settings"] == {"agent.value_step": 0.1, "agent.model_step": 0.1}
    assert choice["reported"]["runs"] == 4 and choice["at_edge"] == []
    assert choice["diverged"] == 5
    names = {path.name for path in folder.iterdir()}
    assert {"sensitivity-1-domain-slip-0.png", "sensitivity-2-domain-slip-0-1.svg"} <= names
    assert "chosen by final: " in (folder / "report.html").read_text()
    assert run.invoke(app, ["best", str(tmp_path)]).exit_code == 2  # no folder of a sweep


def test_fresh_runs_come_after_those_of_the_sweep(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    text = tiny_text([0.001, 0.5], episodes=20).replace("runs = 22", "runs = 5")
    run_sweep(parse_config(text, "tiny.toml"), text, tmp_path, compiled=False)
    (choice,) = best(tmp_path, confirm=7).choices
    assert choice.stage == FRESH and choice.reported is not None
    assert choice.settings == {"agent.action_step": 0.5}
    direct = ex.run(
        ex.Corridor(cells=3), ex.OneHot(), ex.QLearning.paper(0.5), episodes=20, runs=12, compiled=False,
        progress=False,
    ).returns.mean(axis=1)  # fmt: skip
    assert choice.reported["mean"] == pytest.approx(direct[5:].mean())
    assert choice.reported["runs"] == 7
    spans = Store(tmp_path).batches
    assert sorted(sum(map(len, some)) for some in spans.values()) == [5, 12]
    # Asking again computes nothing, and the sweep itself stays as it was.
    assert best(tmp_path, confirm=7).choices[0].reported == choice.reported
    assert run_sweep(parse_config(text, "tiny.toml"), text, tmp_path, compiled=False).computed == 0


# ---------------------------------------------------------------------------- agents compared


def better(trial):
    """Look-ahead earns one more in the first domain, and the same in the second."""
    more = isinstance(trial.agent, ex.Lookahead) and vars(trial.domain)["slip"] == 0.0
    return 10.0 + more


@pytest.mark.parametrize(
    ("runs", "margin", "verdicts"),
    [
        (20, None, ["earns more", "equal within the margin"]),
        (20, 3.0, ["equal within the margin"] * 2),
        (20, 0.0, ["earns more", "unclear"]),
        (3, 3.0, ["unclear"] * 2),  # too few to hold any out
    ],
)
def test_agents_are_compared_at_their_best_on_held_out_runs(tmp_path, runs, margin, verdicts):
    text = config_text(runs=runs, steps=(0.1, 0.3), model_steps=(0.1,))
    write_sweep(tmp_path, text, value=better, noise=0.1)
    found = best(tmp_path, margin=margin)
    assert [row["verdict"] for row in found.differences] == verdicts
    plain, _, ahead, _ = (choice.held_out for choice in found.choices)
    first = found.differences[0]
    assert (first["agent"], first["other"], first["problem"]) == ("ahead", "Plain", "domain.slip=0")
    assert first["difference"] == pytest.approx((ahead - plain).mean())
    if runs > 3:
        low, high = stats.t.interval(0.95, 9, first["difference"], stats.sem(ahead - plain))
        assert (first["low"], first["high"]) == pytest.approx((low, high))
        assert first["runs"] == 10 and first["p"] < 1e-6
    assert json.loads((tmp_path / "best.json").read_text())["differences"] == found.differences
    assert verdicts[0] in repr(found)
    if margin is None:
        assert verdicts[0] in report_sweep(tmp_path)[-1].read_text()


def test_longer_episodes_are_worse(tmp_path):
    text = config_text(runs=20, steps=(0.1,), model_steps=(0.1,), slips=(0.0,))
    write_sweep(tmp_path, text.replace("bin =", 'record = ["length"]\nbin =', 1), better, noise=0.1)
    (row,) = best(tmp_path).differences
    assert row["verdict"] == "does worse" and row["difference"] > 0.9  # longer episodes


def test_a_sweep_from_python_is_run_and_compared(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    sweep = ex.Sweep(
        domain=ex.Corridor(cells=3), features=ex.OneHot(), episodes=60, runs=20,
        agents={"slow": ex.QLearning.paper(1e-6), "quick": ex.QLearning.paper(0.1)},
        grid={"agents.quick.action_step": [1e-5, 0.5]},
    )  # fmt: skip
    found = sweep.best(tmp_path)
    (row,) = found.differences
    assert (row["agent"], row["verdict"]) == ("quick", "earns more")
    assert found.choices[1].settings == {"agent.action_step": 0.5}
    assert "quick  slow     earns more" in repr(found)


@pytest.mark.parametrize(
    ("what", "metric", "less"),
    [
        ('["return"]', "mean", False),
        ('["length"]', "mean", True),
        ('{ probe = "value_error", every = 30 }', "last", True),
        ('{ probe = "greedy_return", every = 30 }', "last", False),
    ],
)
def test_the_best_is_the_least_where_less_is_better(tmp_path, what, metric, less):
    """The curves rise to the same level whatever they are of; steps of 0.1 rise highest."""
    text = config_text(runs=4, steps=(0.01, 0.1), model_steps=(0.01, 0.1), slips=(0.0,))
    write_sweep(tmp_path, text.replace("bin = 10", f"record = {what}\nbin = 10"), noise=0.01)
    found = best(tmp_path, metric=metric)
    for choice in found.choices:
        assert set(choice.settings.values()) == {0.01 if less else 0.1}
    assert found.as_data()["less_is_better"] == less
