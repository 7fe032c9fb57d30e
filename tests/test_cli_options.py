"""Every option of every command reaches what does the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from expectant.cli import app
from expectant.lab.study import the_paper


class Called(ValueError):
    """Raised in place of the work, which ends the command."""


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch):
    """The arguments that a command gives to the function at a path."""

    def call(path: str, command: list[str]) -> tuple[list[Any], dict[str, Any]]:
        found: list[Any] = []

        def instead(*arguments: Any, **options: Any) -> None:
            found.append((list(arguments), options))
            raise Called("as far as this")

        monkeypatch.setattr(path, instead)
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 2 and "as far as this" in done.stderr, done.output
        return found[0]

    return call


COMMON = ["--out", "there", "--seed", "7", "--threads", "3"]
PLACE = Path("there")
FIGURES = the_paper().figures


@pytest.mark.parametrize(("more", "request_"), [
    ([], (FIGURES, 7, None, False)),
    (["--figure", "5b", "--figure", "1"], (("1", "5b"), 7, None, False)),
    (["--runs", "4"], (FIGURES, 7, 4, False)),
    (["--quick"], (FIGURES, 7, None, True)),
])  # fmt: skip
def test_reproduce(called, more, request_):
    arguments, _ = called("expectant.lab.reproduce.reproduce", ["reproduce", *COMMON, *more])
    found = arguments[0]
    assert found.study.name == "kudashkina-2021"
    assert (found.figures, found.seed, found.runs, found.quick) == request_
    assert arguments[1:] == [PLACE, 3]


def test_reproduce_takes_the_seeds_that_runs_take(called):
    command = ["reproduce", "--seed", str(2**128 - 1)]
    arguments, _ = called("expectant.lab.reproduce.reproduce", command)
    assert arguments[0].seed == 2**128 - 1
    done = CliRunner().invoke(app, ["reproduce", "--seed", str(2**128)])
    assert done.exit_code == 2 and "at most" in done.stderr


def test_another_study(called):
    arguments, _ = called("expectant.lab.reproduce.reproduce", ["reproduce", "cart-pole"])
    (request, folder, threads) = arguments
    assert (request.study.name, request.figures) == ("cart-pole", ("cart-pole",))
    assert (request.seed, folder, threads) == (None, Path("results/cart-pole"), None)


def test_readings(called):
    from expectant.lab.study import the_paper

    arguments, _ = called("expectant.lab.readings.dependence", ["readings", *COMMON])
    assert arguments[0].name == the_paper().name
    assert arguments[1:] == [PLACE, 7, 3, the_paper().figures, None]
    some = ["readings", "--figure", "5b", "--figure", "3", "--runs", "9"]
    arguments, _ = called("expectant.lab.readings.dependence", some)
    assert arguments[4:] == [("3", "5b"), 9]
    done = CliRunner().invoke(app, ["readings", "--figure", "5c"])
    assert done.exit_code == 2 and "--figure: unknown '5c'" in done.stderr


def test_readings_are_written(tmp_path, monkeypatch):
    from expectant.lab.readings import Dependence, variants
    from expectant.lab.study import the_paper

    found = [Dependence(variant, []) for variant in variants(the_paper())[:2]]
    monkeypatch.setattr("expectant.lab.readings.dependence", lambda *_: found)
    done = CliRunner().invoke(app, ["readings", "--out", str(tmp_path / "new")])
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "new" / "readings.json").read_text())
    assert [row["set"] for row in rows] == ["print", "print"]
    assert rows[0]["reading"] is None and rows[1]["reading"] in done.stdout
    as_data = CliRunner().invoke(app, ["readings", "--out", str(tmp_path), "--json"])
    assert json.loads(as_data.stdout) == rows


@pytest.mark.parametrize(("more", "runs"), [([], None), (["--quick"], 3), (["--runs", "1"], 1)])
def test_loca(called, more, runs):
    command = ["loca", *COMMON, "--agent", "lookahead", "--backups", "seen", *more]
    (request, folder, threads), _ = called("expectant.lab.loca_command.adaptation_test", command)
    assert (request.panels, request.agents) == (("lookahead",), ("seen",))
    assert (request.runs, request.seed, folder, threads) == (runs, 7, PLACE, 3)


@pytest.mark.parametrize(("more", "length"), [
    ([], (1500, None)),
    (["--episodes", "12"], (12, None)),
    (["--steps", "34"], (None, 34)),
])  # fmt: skip
def test_watch(called, more, length):
    from expectant.watching.presets import scene

    command = ["watch", "--agent", "q_learning", "--out", "film.gif", "--page", "--frames", "9"]
    arguments, options = called(
        "expectant.watching.animate.watch", [*command, "--seed", "7", *more]
    )
    found = scene("corridor", "q_learning")
    assert arguments == [found.domain, found.features, found.agent, Path("film.gif")]
    assert (options.pop("episodes"), options.pop("steps")) == length
    assert options == {"frames": 9, "seed": 7, "step_limit": None, "page": True}


def test_best(called):
    command = [
        "best",
        "there",
        "--measure",
        "final",
        "--confirm",
        "5",
        "--out",
        "b",
        "--threads",
        "3",
    ]
    arguments, options = called("expectant.lab.choosing.best_command.best", command)
    assert arguments == [PLACE]
    assert options == {
        "measure": "final", "confirm": 5, "out": Path("b"), "threads": 3, "trust": False,
    }  # fmt: skip


def test_sweep(called):
    command = ["sweep", "a.toml", "--out", "there", "--threads", "3", "--engine", "ray"]
    command += ["--address", "auto", "--shard", "2/5", "--search", "optuna", "--trials", "6"]
    arguments, options = called("expectant.lab.sweep_command.sweep_file", command)
    assert arguments == [Path("a.toml"), PLACE]
    assert options == {
        "threads": 3, "engine": "ray", "address": "auto", "shard": "2/5", "search": "optuna",
        "trials": 6,
    }  # fmt: skip


@pytest.mark.parametrize(("more", "expected"), [
    (["--shard", "2/5"], ("run_sweep", {"engine": "threads", "address": None, "shard": (2, 5)})),
    (["--engine", "ray", "--address", "auto"],
     ("run_sweep", {"engine": "ray", "address": "auto", "shard": None})),
    (["--search", "optuna"], ("run_search", {"engine": "threads", "address": None})),
])  # fmt: skip
def test_a_sweep_or_a_search(called, tmp_path, more, expected):
    from lab.sweeps.sweeping import spec

    path, (name, options) = tmp_path / "a.toml", expected
    path.write_text(spec([0.1]))
    command = ["sweep", str(path), "--out", "there", "--threads", "3", "--trials", "6", *more]
    arguments, given = called(f"expectant.lab.sweep_command.{name}", command)
    assert (arguments[0].name, arguments[1], arguments[2]) == ("tiny", path.read_text(), PLACE)
    assert arguments[3:] == ([6] if name == "run_search" else [])
    assert given == {"threads": 3, **options}


def test_run_and_show(called, tmp_path):
    from lab.sweeps.sweeping import spec

    path = tmp_path / "a.toml"
    path.write_text(spec([0.1]))
    command = ["run", str(path), "--out", "there", "--threads", "3"]
    (experiment, text, folder, threads), _ = called("expectant.lab.writeup.run_experiment", command)
    assert (experiment.name, text, folder, threads) == ("tiny", path.read_text(), PLACE, 3)
    arguments, _ = called(
        "expectant.lab.sweep_command.show_file", ["show", "b.toml", "--threads", "3"]
    )
    assert arguments == [Path("b.toml"), 3, False]


def test_loca_tells_of_a_cell_that_failed_in_one_line(monkeypatch):
    from expectant.lab.engines.compute import CellError

    def failed(*_: Any, **__: Any) -> None:
        raise CellError("loca/q_learning: out of luck")

    monkeypatch.setattr("expectant.lab.loca_command.adaptation_test", failed)
    done = CliRunner().invoke(app, ["loca", "--quick"])
    assert done.exit_code == 1 and "expectant: loca/q_learning: out of luck" in done.stderr


def test_watch_names_every_domain_that_it_knows(monkeypatch):
    from expectant.watching.presets import PRESETS

    monkeypatch.setenv("COLUMNS", "400")
    helped = CliRunner().invoke(app, ["watch", "--help"]).stdout
    assert all(name in helped for name in PRESETS)
